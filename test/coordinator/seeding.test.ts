import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { seedCrawl, specFor } from '../../src/coordinator/crawls.js'
import { MemoryFrontier } from '../../src/frontier/memory/memory-frontier.js'
import { defineSpider } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'

async function world(starts: number, options: { maxPending?: number; budget?: { pages: number } }) {
  const clock = new ManualClock()
  const frontier = new MemoryFrontier({ clock })
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
  return { clock, frontier, spider, visit }
}

/** Lets everything that waits for no clock come to its end. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('seeding', () => {
  it('adds every start URL and says that there are no more', async () => {
    const { clock, frontier, spider } = await world(2_500, {})
    const seeding = seedCrawl(frontier, spider, 'c', clock, new AbortController().signal)
    expect(await seeding.first).toEqual({ added: 2_500, known: 0 })
    expect(await seeding.all).toEqual({ added: 2_500, known: 0 })
    expect(await frontier.stats('c')).toMatchObject({ queued: 2_500, seeding: false })
    const again = seedCrawl(frontier, spider, 'c', clock, new AbortController().signal)
    expect(await again.all).toEqual({ added: 0, known: 2_500 })
  })

  it.each([1, 2, 5, 7])('waits while the queue of %i is full, and loses none', async (maxPending) => {
    const { clock, frontier, spider, visit } = await world(20, { maxPending })
    const seeding = seedCrawl(frontier, spider, 'c', clock, new AbortController().signal)
    const { added } = await seeding.first
    expect(added).toBeGreaterThan(0)
    expect(added).toBeLessThanOrEqual(maxPending)
    expect(await frontier.stats('c')).toMatchObject({ seeding: true, refused: 0 })
    for (let done = 0; done < 20; ) {
      done += await visit(100)
      clock.advance(1_000)
      await settled()
    }
    expect(await seeding.all).toEqual({ added: 20, known: 0 })
    expect(await frontier.stats('c')).toMatchObject({ state: 'finished', done: 20, refused: 0 })
  })

  it('ends where a budget ends', async () => {
    const { clock, frontier, spider } = await world(20, { budget: { pages: 3 } })
    expect(await seedCrawl(frontier, spider, 'c', clock, new AbortController().signal).all).toEqual({
      added: 3,
      known: 0,
    })
    expect(await frontier.stats('c')).toMatchObject({ queued: 3, refused: 17, seeding: false })
  })

  it('stops when asked to, and leaves the crawl open', async () => {
    const { clock, frontier, spider } = await world(20, { maxPending: 5 })
    const stop = new AbortController()
    const seeding = seedCrawl(frontier, spider, 'c', clock, stop.signal)
    await seeding.first
    stop.abort()
    await seeding.all
    expect(await frontier.stats('c')).toMatchObject({ queued: 4, seeding: true })
  })
})
