import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock, systemRandom } from '../../src/clock.js'
import { openCrawl } from '../../src/coordinator/crawls.js'
import { seedCrawl } from '../../src/coordinator/seeding.js'
import { silentLog } from '../../src/log.js'
import { startWorker } from '../../src/run/workers/start-worker.js'
import { defineSpider, type SpiderPaceDefinition } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import { type Backends, openBackends } from '../../src/wire/backends.js'

interface Site {
  readonly server: Server
  readonly origin: string
  readonly host: string
  /** When each request came, robots.txt included. */
  readonly times: number[]
  robots: string
}

let one: Site
let two: Site
let backends: Backends

beforeEach(async () => {
  one = await startSite()
  two = await startSite()
  backends = await openBackends({ queue: 'memory:', store: 'memory:' })
})

afterEach(async () => {
  await backends.close()
  for (const { server } of [one, two]) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

async function startSite(): Promise<Site> {
  const times: number[] = []
  const server = createServer((request, response) => {
    times.push(performance.now())
    response.setHeader('content-type', request.url === '/robots.txt' ? 'text/plain' : 'text/html')
    if (request.url === '/robots.txt') response.end(site.robots)
    else response.end(`<h1>${request.url}</h1>`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const site: Site = { server, origin: `http://${host}`, host, times, robots: '' }
  return site
}

/** Visits some pages of both sites; with a group, all of them as links of it. */
async function crawl(pace: SpiderPaceDefinition, pages: number, group?: string) {
  const paths = Array.from({ length: pages }, (_, i) => `/${i}`)
  const spider = spiderFromDefinition(
    defineSpider({
      name: 'paced',
      start: [`${one.origin}/`, `${two.origin}/`],
      allowPrivate: ['127.0.0.1:*'],
      pace,
      records: { page: {} },
      routes: {
        start: {
          match: '/',
          handler: (page, out) => {
            for (const path of paths) out.follow(path, { ...(group === undefined ? {} : { group }) })
            out.record('page', page.url, {})
          },
        },
        page: { match: '**' },
      },
    }),
  )
  const opened = await openCrawl(backends, spider, { fresh: false, clock: systemClock, random: systemRandom })
  await seedCrawl(backends, spider, opened.crawl, { clock: systemClock, signal: new AbortController().signal })
  const worker = startWorker({
    id: 'w1',
    backends,
    spiders: [spider],
    concurrency: 8,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
  })
  const stats = () => backends.frontier.stats(opened.crawl)
  await expect.poll(async () => (await stats()).state, { timeout: 30_000 }).toBe('finished')
  await worker.stop(1_000)
  expect(await stats()).toMatchObject({ done: 2 + 2 * pages, dead: 0 })
  return opened.crawl
}

/** Held to half of the delay: server and worker share one busy process here. Without a common pace it is a few milliseconds. */
function smallestGap(...sites: readonly Site[]): number {
  const times = sites.flatMap((site) => site.times).sort((a, b) => a - b)
  return Math.min(...times.slice(1).map((time, i) => time - (times[i] ?? 0)))
}

describe('a pace', () => {
  it('of a domain holds over its hosts, robots.txt included', async () => {
    const id = await crawl({ per: 'domain', delay: '100ms' }, 2)
    expect(one.times.length + two.times.length).toBe(8)
    expect(smallestGap(one, two)).toBeGreaterThanOrEqual(50)
    expect((await backends.frontier.hosts(id, { limit: 9 })).map(({ host, done }) => [host, done])).toEqual([
      ['127.0.0.1', 6],
    ])
  })

  it('of a group holds over its URLs, named or matched, and records keep their own site', async () => {
    const groups = [{ name: 'key', delay: '100ms', concurrency: 1 }] as const
    // The delay is looked at below: that of a host which answers slowly would be longer.
    const id = await crawl({ delay: '1ms', adaptive: false, groups: [...groups] }, 3, 'key')
    const pages = [one, two].map((site) => ({ ...site, times: site.times.slice(2) }))
    expect(smallestGap(...pages)).toBeGreaterThanOrEqual(50)
    const hosts = await backends.frontier.hosts(id, { limit: 9 })
    expect(hosts.map(({ host, delayMs, concurrency, done }) => [host, delayMs, concurrency, done])).toEqual([
      ...[one.host, two.host].sort().map((host) => [host, 1, 4, 1]),
      ['@key', 100, 1, 6],
    ])
    for await (const record of backends.store.records.scan({})) expect(record.site).toBe('127.0.0.1')
  })

  it('of a group is that of the URLs that match', async () => {
    const match = [`${one.origin}/**`, `${two.origin}/**`]
    const id = await crawl({ delay: '1ms', groups: [{ name: 'both', match, delay: '50ms' }] }, 2)
    expect(smallestGap(one, two)).toBeGreaterThanOrEqual(25)
    expect((await backends.frontier.hosts(id, { limit: 9 })).map(({ host }) => host)).toEqual(['@both'])
  })

  it('of a domain leaves each host its own Crawl-delay', async () => {
    one.robots = 'User-agent: *\nCrawl-delay: 0.6\n'
    await crawl({ per: 'domain', delay: '10ms' }, 3)
    // robots.txt itself comes before anybody knows of the delay.
    expect(smallestGap({ ...one, times: one.times.slice(1) })).toBeGreaterThanOrEqual(300)
    const took = (site: Site) => (site.times.at(-1) ?? 0) - (site.times[0] ?? 0)
    expect(took(two)).toBeLessThan(took(one))
  })
})
