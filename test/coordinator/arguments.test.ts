import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { systemClock as clock } from '../../src/clock.js'
import { openCrawl } from '../../src/coordinator/crawls.js'
import { shareProxies } from '../../src/coordinator/proxies.js'
import { defineSpider } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import type { Spider } from '../../src/spider/spider.js'
import { type Backends, openBackends } from '../../src/wire/backends.js'

const shop = defineSpider(z.object({ category: z.string(), max: z.coerce.number().default(5) }), ({ category, max }) =>
  defineSpider({
    name: 'shop',
    start: [`https://shop.example/${category}`],
    budget: { pages: max },
    proxy: 'pool',
    routes: { page: { match: '**' } },
  }),
)
const shoes = spiderFromDefinition(shop, { category: 'shoes' })
const hats = spiderFromDefinition(shop, { category: 'hats' })
let turns = 0
const random = () => (++turns % 97) / 97

let backends: Backends
beforeEach(async () => {
  backends = await openBackends({ queue: 'memory:', store: 'memory:' })
})
afterEach(() => backends.close())

const open = (spider: Spider, fresh = false) => openCrawl(backends, spider, { fresh, clock, random })
const noteOf = async (crawl: string) => (await backends.store.crawls.notes()).find((note) => note.crawl === crawl)

describe('crawls of one spider with different arguments', () => {
  it('are open side by side, and each is resumed by its own arguments', async () => {
    const first = await open(shoes)
    const second = await open(hats)
    expect(second).toMatchObject({ resumed: false, setAside: null, others: [{ id: first.crawl }] })
    expect(second.crawl).not.toBe(first.crawl)
    expect(await open(shoes)).toMatchObject({ crawl: first.crawl, resumed: true, others: [{ id: second.crawl }] })
    // The default spelled out is the same.
    expect(await open(spiderFromDefinition(shop, { max: '5', category: 'hats' }))).toMatchObject({
      crawl: second.crawl,
      resumed: true,
    })
    expect((await backends.frontier.crawls()).map(({ args }) => args?.category)).toEqual(['shoes', 'hats'])
    expect((await noteOf(first.crawl))?.spec.args).toEqual({ category: 'shoes' })
  })

  it('start over one by one', async () => {
    const first = await open(shoes)
    const second = await open(hats)
    const again = await open(shoes, true)
    expect(again).toMatchObject({ resumed: false, setAside: { id: first.crawl }, others: [{ id: second.crawl }] })
    const states = Object.fromEntries((await backends.frontier.crawls()).map(({ id, state }) => [id, state]))
    expect(states).toEqual({ [first.crawl]: 'cancelled', [second.crawl]: 'running', [again.crawl]: 'running' })
  })

  it('start over at the same time without resuming each other', async () => {
    const before = await open(shoes)
    const [one, two] = await Promise.all([open(shoes, true), open(hats, true)])
    expect(one).toMatchObject({ resumed: false, setAside: { id: before.crawl } })
    expect(two).toMatchObject({ resumed: false, setAside: null })
    expect((await backends.frontier.crawls()).filter(({ state }) => state === 'running')).toHaveLength(2)
  })

  it('are lost one by one: one that waits to be recovered does not stop the others', async () => {
    const { crawl } = await open(shoes)
    const note = await noteOf(crawl)
    if (note === undefined) throw new Error('the store knows every crawl')
    await backends.frontier.setState(crawl, 'cancelled')
    await backends.frontier.remove(crawl)
    await backends.store.crawls.note({ ...note, state: 'lost' })
    await expect(open(shoes)).rejects.toMatchObject({ code: 'crawl_lost' })
    expect(await open(hats)).toMatchObject({ resumed: false })
  })

  it('keep their own limits and arguments when the fleet gets more proxies', async () => {
    const few = await open(spiderFromDefinition(shop, { category: 'shoes', max: '2' }))
    const many = await open(spiderFromDefinition(shop, { category: 'hats', max: '9' }))
    await shareProxies(backends, 'w1', [shoes], () => 3)
    expect((await noteOf(few.crawl))?.spec).toMatchObject({
      args: { category: 'shoes', max: '2' },
      budget: { pages: 2 },
    })
    expect((await noteOf(many.crawl))?.spec).toMatchObject({
      args: { category: 'hats', max: '9' },
      budget: { pages: 9 },
    })
  })
})
