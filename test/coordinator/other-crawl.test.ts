import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock as clock, systemRandom as random } from '../../src/clock.js'
import { openCrawl } from '../../src/coordinator/crawls.js'
import { spiderFrom } from '../../src/run/spider-source.js'
import type { CrawlOptions } from '../../src/spider/crawl-definition.js'
import { type Backends, openBackends } from '../../src/wire/backends.js'

let backends: Backends
beforeEach(async () => {
  backends = await openBackends({ queue: 'memory:', store: 'memory:' })
})
afterEach(() => backends.close())

const open = async (options: CrawlOptions, fresh = false) =>
  openCrawl(backends, await spiderFrom({ kind: 'crawl', options }), { fresh, clock, random, unchangedOnly: true })

const site: CrawlOptions = { urls: ['https://shop.example/'], follow: 'a[href]' }

describe('`shoal crawl` of a host with an unfinished crawl', () => {
  it('resumes it with the same options, at another pace and with other limits too', async () => {
    const { crawl } = await open(site)
    expect(await open(site)).toMatchObject({ crawl, resumed: true })
    const slower = { ...site, delay: '3s', pages: 10, maxDepth: 2, allowPrivate: ['shop.example:8080'] }
    expect(await open(slower)).toMatchObject({ crawl, resumed: true, spiderChanged: false })
  })

  // The links of one crawl were read with the selectors of the other, and the new URL was never visited.
  it.each<[string, CrawlOptions]>([
    ['another URL', { ...site, urls: ['https://shop.example/api/items'] }],
    ['other fields', { ...site, fields: { title: 'h1' } }],
    ['a path', { ...site, each: '$.items[*]' }],
    ['another format', { ...site, format: 'markdown' }],
    ['other links', { ...site, follow: 'a.next' }],
    ['the sitemaps', { ...site, sitemap: true }],
  ])('refuses %s, and leaves it as it is', async (_, other) => {
    const { crawl } = await open(site)
    await expect(open(other)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining(crawl),
      hint: expect.stringContaining('--fresh'),
    })
    expect(await open(site)).toMatchObject({ crawl, resumed: true, spiderChanged: false })
    expect(await open(other, true)).toMatchObject({ resumed: false, setAside: { id: crawl } })
  })
})
