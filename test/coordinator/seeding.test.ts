import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { specFor } from '../../src/coordinator/crawls.js'
import type { SeedSource } from '../../src/coordinator/seed-source.js'
import { seedCrawl } from '../../src/coordinator/seeding.js'
import { MemoryFrontier } from '../../src/frontier/memory/memory-frontier.js'
import { defineSpider } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import { memoryRecordStore } from '../../src/store/memory/memory-record-store.js'

async function world(starts: number, options: { maxPending?: number; budget?: { pages: number } }) {
  const clock = new ManualClock()
  const frontier = new MemoryFrontier({ clock })
  const store = memoryRecordStore()
  const start = Array.from({ length: starts }, (_, n) => `https://a.example/${n}`)
  const pace = { delay: 0, concurrency: 100 } as const
  const spider = spiderFromDefinition(
    defineSpider({ name: 's', start, pace, routes: { page: { match: '**' } }, ...options }),
  )
  await frontier.open(specFor(spider, 'c', 1))
  let seq = 0
  const visit = async (want: number) => {
    const { leases } = await frontier.lease({ worker: 'w', seq: ++seq, want, spiders: ['s'] })
    await frontier.settle(leases.map((lease) => ({ lease, outcome: { kind: 'done', links: [], bytes: 0 } })))
    return leases.length
  }
  return { clock, frontier, store, spider, visit }
}

/** Lets everything that waits for no clock come to its end. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('seeding', () => {
  it('adds every start URL and says that there are no more', async () => {
    const { clock, frontier, store, spider } = await world(2_500, {})
    const seeding = seedCrawl({ frontier, store }, spider, 'c', { clock, signal: new AbortController().signal })
    expect(await seeding.first).toEqual({ added: 2_500, known: 0, refused: 0 })
    expect(await seeding.all).toEqual({ added: 2_500, known: 0, refused: 0 })
    expect(await frontier.stats('c')).toMatchObject({ queued: 2_500, seeding: false })
    const again = seedCrawl({ frontier, store }, spider, 'c', { clock, signal: new AbortController().signal })
    expect(await again.all).toEqual({ added: 0, known: 2_500, refused: 0 })
  })

  it.each([1, 2, 5, 7])('waits while the queue of %i is full, and loses none', async (maxPending) => {
    const { clock, frontier, store, spider, visit } = await world(20, { maxPending })
    const seeding = seedCrawl({ frontier, store }, spider, 'c', { clock, signal: new AbortController().signal })
    const { added } = await seeding.first
    expect(added).toBeGreaterThan(0)
    expect(added).toBeLessThanOrEqual(maxPending)
    expect(await frontier.stats('c')).toMatchObject({ seeding: true, refused: 0 })
    for (let done = 0; done < 20; ) {
      done += await visit(100)
      clock.advance(1_000)
      await settled()
    }
    expect(await seeding.all).toEqual({ added: 20, known: 0, refused: 0 })
    expect(await frontier.stats('c')).toMatchObject({ state: 'finished', done: 20, refused: 0 })
  })

  it('ends where a budget ends', async () => {
    const { clock, frontier, store, spider } = await world(20, { budget: { pages: 3 } })
    expect(
      await seedCrawl({ frontier, store }, spider, 'c', { clock, signal: new AbortController().signal }).all,
    ).toEqual({ added: 3, known: 0, refused: 0 })
    expect(await frontier.stats('c')).toMatchObject({ queued: 3, refused: 17, seeding: false })
  })

  it('stops when asked to, and leaves the crawl open', async () => {
    const { clock, frontier, store, spider } = await world(20, { maxPending: 5 })
    const stop = new AbortController()
    const seeding = seedCrawl({ frontier, store }, spider, 'c', { clock, signal: stop.signal })
    await seeding.first
    stop.abort()
    await seeding.all
    expect(await frontier.stats('c')).toMatchObject({ queued: 4, seeding: true })
  })
})

describe('a source of seeds', () => {
  const numbers = (count: number, read: { entries: number }): SeedSource => ({
    name: 'numbers',
    *entries() {
      for (let n = 0; n < count; n++) {
        read.entries++
        yield n % 3 === 0 ? `https://a.example/n/${n}` : { url: `https://a.example/n/${n}`, priority: 5 }
      }
    },
  })

  it('goes on where it was stopped', async () => {
    const { clock, frontier, store, spider } = await world(1, { maxPending: 1_500 })
    const stop = new AbortController()
    const read = { entries: 0 }
    const first = seedCrawl({ frontier, store }, spider, 'c', {
      clock,
      signal: stop.signal,
      sources: [numbers(5_000, read)],
    })
    await first.first
    stop.abort()
    await first.all
    expect(await frontier.stats('c')).toMatchObject({ seeding: true })
    expect(await store.crawls.seedCursor('c', 'numbers@1')).toBe(1_000)

    const wide = { ...spider, maxPending: 100_000 }
    await frontier.open(specFor(wide, 'c', 1))
    const rest = seedCrawl({ frontier, store }, wide, 'c', {
      clock,
      signal: new AbortController().signal,
      sources: [numbers(5_000, read)],
    })
    const { added, known } = await rest.all
    const { total } = await frontier.stats('c')
    expect(total).toBe(5_001)
    expect(known).toBeLessThan(1_001)
    expect(added).toBeGreaterThan(3_000)
    expect(await frontier.stats('c')).toMatchObject({ seeding: false })
    expect(await store.crawls.seedCursor('c', 'numbers@1')).toBe(5_000)
  })

  it('begins anew in a queue of another generation', async () => {
    const { clock, frontier, store, spider } = await world(1, {})
    const sources = [numbers(10, { entries: 0 })]
    const signal = new AbortController().signal
    await seedCrawl({ frontier, store }, spider, 'c', { clock, signal, sources }).all
    const empty = new MemoryFrontier({ clock })
    await empty.open(specFor(spider, 'c', 2))
    expect(await seedCrawl({ frontier: empty, store }, spider, 'c', { clock, signal, sources }).all).toMatchObject({
      added: 11,
    })
  })

  it('leaves out what the spider does not want, and says why', async () => {
    const { clock, frontier, store, spider } = await world(1, {})
    const entries = [
      'https://a.example/x',
      'nonsense',
      'https://other.example/',
      '{"url": 7}',
      '',
      // From the spider's own code, where it is a mistake.
      { url: 'https://a.example/y', route: 'none' },
      { url: 'https://a.example/y', prio: 1 },
    ]
    const refused: [string, string][] = []
    const signal = new AbortController().signal
    const sources = [{ name: 'file', entries: () => entries }]
    const onRefused = (text: string, reason: string) => refused.push([text, reason])
    const seeds = await seedCrawl({ frontier, store }, spider, 'c', { clock, signal, sources, onRefused }).all
    expect(seeds).toEqual({ added: 2, known: 0, refused: 6 })
    expect(refused.map(([text]) => text)).toEqual(
      entries.slice(1).map((entry) => (typeof entry === 'string' ? entry : JSON.stringify(entry))),
    )
    expect(refused[1]?.[1]).toMatch(/Out of scope/)
    expect(refused[5]?.[1]).toMatch(/unknown key "prio"/)
  })

  it('takes the lines of a file as a feed does, and says what it does not know', async () => {
    const { clock, frontier, store, spider } = await world(1, {})
    const entries = ['{"url":"https://a.example/y","route":"none","shop":1}', '["https://a.example/z"]']
    const noted: string[] = []
    const onNotes = (notes: readonly { key: string }[]) => noted.push(...notes.map(({ key }) => key))
    const signal = new AbortController().signal
    const sources = [{ name: 'file', entries: () => entries }]
    const seeds = await seedCrawl({ frontier, store }, spider, 'c', { clock, signal, sources, onNotes }).all
    expect(seeds).toEqual({ added: 3, known: 0, refused: 0 })
    expect(noted).toEqual(['route', 'shop'])
  })

  it('may belong to the spider, and keeps a fed crawl open', async () => {
    const clock = new ManualClock()
    const frontier = new MemoryFrontier({ clock })
    const store = memoryRecordStore()
    const spider = spiderFromDefinition(
      defineSpider({
        name: 's',
        scope: { hosts: ['a.example'] },
        feed: true,
        async *seeds() {
          yield 'https://a.example/1'
          yield { url: 'https://a.example/2', data: { n: 2 } }
        },
        routes: { page: { match: '**' } },
      }),
    )
    await frontier.open(specFor(spider, 'c', 1))
    const signal = new AbortController().signal
    expect(await seedCrawl({ frontier, store }, spider, 'c', { clock, signal }).all).toMatchObject({ added: 2 })
    expect(await frontier.stats('c')).toMatchObject({ seeding: true, queued: 2 })
    expect(await frontier.links({ crawl: 'c', limit: 9 })).toMatchObject([{}, { data: { n: 2 } }])
  })

  it('judges each of the entries that a spider yields alone, whatever they are', async () => {
    const { clock, frontier, store, spider } = await world(1, {})
    const url = 'https://a.example/good'
    const thrower = () => {
      throw null
    }
    let deep: unknown = 1
    for (let level = 0; level < 6_000; level++) deep = [deep]
    const bad: unknown[] = [
      ...[null, undefined, 7, 7n, Symbol('s'), () => {}, [], new Map(), new Date(0)],
      ...[
        { url, data: deep },
        { url, data: 10n },
        { url, data: { f() {} } },
        { url, data: 'x'.repeat(300_000) },
      ],
      ...[{ url, priority: 'high' }, { url: [url] }, { url: null }, { url, again: 1 }],
      Object.defineProperty({ url }, 'data', { get: thrower, enumerable: true }),
      { url, data: { toJSON: thrower } },
      new Proxy({ url }, { ownKeys: thrower }),
    ]
    const refused: [string, string][] = []
    const sources = [{ name: 'own', entries: () => [...bad, { url }] as never }]
    const onRefused = (text: string, reason: string) => refused.push([text, reason])
    const signal = new AbortController().signal
    const seeds = await seedCrawl({ frontier, store }, spider, 'c', { clock, signal, sources, onRefused }).all
    expect(seeds).toEqual({ added: 2, known: 0, refused: bad.length })
    for (const [text, reason] of refused) {
      expect(reason).toMatch(/^(it|its|route|priority|again) /)
      expect(text.length).toBeLessThan(310_000)
    }
    expect(refused[9]?.[1]).toMatch(/'data.*' is nested deeper than 500 levels/)
  })

  it.each([
    ['null', null, 'null'],
    ['an error whose message throws', Object.defineProperty(new Error('x'), 'message', { get: () => Symbol('s') }), ''],
    ['an error', new TypeError('no'), 'TypeError: no'],
  ])('that throws %s ends the seeding with one message', async (_name, thrown, message) => {
    const { clock, frontier, store, spider } = await world(1, {})
    const seeds = function* () {
      yield 'https://a.example/good'
      throw thrown
    }
    const signal = new AbortController().signal
    const { all } = seedCrawl({ frontier, store }, { ...spider, seeds }, 'c', { clock, signal })
    await expect(all).rejects.toMatchObject({
      code: 'seeds_unreadable',
      message: expect.stringContaining(`the seeds of the spider failed: ${message}`),
    })
  })
})
