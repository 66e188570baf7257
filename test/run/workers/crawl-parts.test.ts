import { afterEach, beforeEach, expect, it } from 'vitest'
import { z } from 'zod'
import { systemClock as clock, systemRandom as random } from '../../../src/clock.js'
import { openCrawl } from '../../../src/coordinator/crawls.js'
import type { CrawlArgs } from '../../../src/frontier/frontier.js'
import { createLog } from '../../../src/log.js'
import { partsOfCrawls } from '../../../src/run/workers/crawl-parts.js'
import { defineSpider } from '../../../src/spider/definition.js'
import { spiderFromDefinition } from '../../../src/spider/resolve.js'
import { type Backends, openBackends } from '../../../src/wire/backends.js'

const schema = z.object({ category: z.string().default('all') })
const shop = defineSpider(schema, ({ category }) =>
  defineSpider({
    name: 'shop',
    start: [`https://shop.example/${category}`],
    userAgent: `shop-${category}`,
    routes: { page: { match: '**' } },
  }),
)
const plain = defineSpider({ name: 'plain', start: ['https://a.example/'], routes: { page: { match: '**' } } })

let backends: Backends
let asked: number
let logged: string[]
beforeEach(async () => {
  backends = await openBackends({ queue: 'memory:', store: 'memory:' })
  asked = 0
  logged = []
})
afterEach(() => backends.close())

function partsOf(...spiders: Parameters<typeof partsOfCrawls>[0]) {
  const counting = Object.assign(Object.create(backends.frontier) as typeof backends.frontier, {
    crawls: () => {
      asked += 1
      return backends.frontier.crawls()
    },
  })
  const log = createLog('debug', clock, (line) => logged.push(line))
  const shared = { worker: 'w1', clock, random, log } as unknown as Parameters<typeof partsOfCrawls>[3]
  return partsOfCrawls(spiders, { ...backends, frontier: counting }, () => null, shared)
}

const opened = async (args: CrawlArgs) =>
  (await openCrawl(backends, spiderFromDefinition(shop, args), { fresh: false, clock, random })).crawl

it('gives each crawl the spider that was built with its arguments, and asks the queue once per crawl', async () => {
  const [all, shoes, hats] = [await opened({}), await opened({ category: 'shoes' }), await opened({ category: 'hats' })]
  const find = partsOf(spiderFromDefinition(shop))
  const agents = async () => {
    const found = await Promise.all([all, shoes, hats].map((crawl) => find(crawl)))
    return found.map((parts) => parts?.spider.userAgent)
  }
  expect(await agents()).toEqual(['shop-all', 'shop-shoes', 'shop-hats'])
  const first = asked
  expect(first).toBeLessThanOrEqual(3)
  for (let i = 0; i < 100; i++) await agents()
  expect(asked).toBe(first)
  // Without a promise, as for any other crawl.
  expect(find(shoes)).not.toBeInstanceOf(Promise)
})

it('shares sessions and robots.txt between crawls with the same arguments, and nothing else', async () => {
  const one = await opened({ category: 'shoes' })
  const two = (
    await openCrawl(backends, spiderFromDefinition(shop, { category: 'shoes' }), { fresh: true, clock, random })
  ).crawl
  const find = partsOf(spiderFromDefinition(shop))
  const [a, b] = [await find(one), await find(two)]
  expect([a?.spider === b?.spider, a?.robots === b?.robots, a?.known === b?.known]).toEqual([true, true, false])
})

it('keeps a bounded number of them', async () => {
  const crawls = await Promise.all(Array.from({ length: 30 }, (_, i) => opened({ category: `c${i}` })))
  const find = partsOf(spiderFromDefinition(shop))
  for (const crawl of crawls) await find(crawl)
  const before = asked
  // The last ones are known, the first one was dropped.
  for (const crawl of crawls.slice(-8)) await find(crawl)
  expect(asked).toBe(before)
  expect((await find(crawls[0] ?? ''))?.spider.userAgent).toBe('shop-c0')
  expect(asked).toBe(before + 1)
})

it('leaves alone a crawl whose arguments the spider no longer accepts, and says so once', async () => {
  const crawl = await opened({ category: 'shoes' })
  const edited = defineSpider(z.object({ kind: z.string().default('all') }), ({ kind }) =>
    defineSpider({ name: 'shop', start: [`https://shop.example/${kind}`], routes: { page: { match: '**' } } }),
  )
  const find = partsOf(spiderFromDefinition(edited))
  expect([await find(crawl), await find(crawl)]).toEqual([null, null])
  const lines = logged.map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(lines.filter(({ event }) => event === 'spider.args_refused')).toEqual([
    expect.objectContaining({ crawl, spider: 'shop', message: "there is no argument 'category'" }),
  ])
})

it('asks nobody for the only spider of a worker, if it takes no arguments', async () => {
  const find = partsOf(spiderFromDefinition(plain))
  expect(find('any')).toMatchObject({ spider: { name: 'plain' } })
  expect(asked).toBe(0)
})
