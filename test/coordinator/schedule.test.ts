import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { lastTurn, type TurnParts, type TurnTaken, takeTurn } from '../../src/coordinator/schedule.js'
import { ShoalError } from '../../src/errors.js'
import { resolveSpider } from '../../src/spider/resolve.js'
import type { Spider } from '../../src/spider/spider.js'
import { type Backends, openBackends } from '../../src/wire/backends.js'

const HOUR = 3_600_000
let backends: Backends
let clock: ManualClock
let seeded: string[]

beforeEach(async () => {
  backends = await openBackends({ queue: 'memory:', store: 'memory:' })
  clock = new ManualClock(Date.parse('2026-06-01T00:30:00Z'))
  seeded = []
})
afterEach(() => backends.close())

function spider(overlap: 'skip' | 'queue' = 'skip'): Spider {
  const schedule = { cron: '0 * * * *', overlap }
  return resolveSpider(
    { name: 'news', start: ['https://a.example/'], schedule, routes: { page: { match: '**' } } },
    'h',
  )
}

const asking = (parts: Partial<TurnParts> = {}, of = spider()): Promise<TurnTaken | null> => {
  if (of.schedule === null) throw new Error('it has a schedule')
  const seed = async (_: Spider, crawl: string) => seeded.push(crawl) > 0
  return takeTurn(of, of.schedule, { backends, clock, holder: 'one', claimMs: 60_000, seed, ...parts })
}
const finish = async () => {
  for (const { id } of await backends.frontier.crawls()) await backends.frontier.setState(id, 'cancelled')
}
const crawls = async () => (await backends.frontier.crawls()).map(({ id }) => id)

describe('the turns of a schedule', () => {
  it('begin with the first one after somebody looks after it', async () => {
    expect(await asking()).toBeNull()
    expect(await asking()).toBeNull()
    expect(await lastTurn(backends.notes, 'news')).toMatchObject({ outcome: 'begun' })
    clock.advance(HOUR / 2)
    expect(await asking()).toMatchObject({ kind: 'decided', note: { outcome: 'started', by: 'one', missed: 0 } })
    expect(await crawls()).toEqual(['news-20260601-010000-turn'])
    expect(seeded).toEqual(await crawls())
    expect(await asking({ holder: 'two' })).toBeNull()
  })

  it('that nobody was there for are made up for once', async () => {
    await asking()
    clock.advance(5 * HOUR)
    expect(await asking()).toMatchObject({ note: { outcome: 'started', missed: 4 } })
    await finish()
    expect(await asking()).toBeNull()
    expect(await crawls()).toEqual(['news-20260601-050000-turn'])
  })

  it('are skipped, and said to be, while the last crawl runs', async () => {
    await asking()
    clock.advance(HOUR)
    await asking()
    clock.advance(HOUR)
    const why = 'crawl news-20260601-010000-turn is not finished'
    expect(await asking()).toMatchObject({ note: { outcome: 'skipped', why, crawl: 'news-20260601-010000-turn' } })
    await finish()
    expect(await asking()).toBeNull()
    clock.advance(HOUR)
    expect(await asking()).toMatchObject({ note: { outcome: 'started' } })
  })

  it('wait where that is wanted, at most one of them', async () => {
    const queued = spider('queue')
    await asking({}, queued)
    clock.advance(HOUR)
    await asking({}, queued)
    clock.advance(HOUR)
    expect(await asking({}, queued)).toMatchObject({ kind: 'waiting', crawl: 'news-20260601-010000-turn' })
    clock.advance(HOUR)
    expect(await asking({}, queued)).toMatchObject({ kind: 'waiting' })
    await finish()
    expect(await asking({}, queued)).toMatchObject({ note: { outcome: 'started', missed: 1 } })
    expect((await crawls()).sort()).toEqual(['news-20260601-010000-turn', 'news-20260601-030000-turn'])
  })

  it('go on with the same crawl when whoever took one died in the middle', async () => {
    await asking()
    clock.advance(HOUR)
    void asking({ holder: 'dead', clock: new ManualClock(clock.now()), claimMs: 1, seed: () => new Promise(() => {}) })
    await expect.poll(async () => (await lastTurn(backends.notes, 'news'))?.outcome).toBe('starting')
    await expect.poll(crawls).toHaveLength(1)
    // The turn after it is due already: first things first.
    clock.advance(HOUR)
    await expect.poll(async () => (await asking({ holder: 'heir' }))?.kind).toBe('decided')
    expect(await lastTurn(backends.notes, 'news')).toMatchObject({ outcome: 'started', by: 'heir' })
    expect(await crawls()).toEqual(['news-20260601-010000-turn'])
    expect(seeded).toEqual(await crawls())
  })

  it('are given back by one that stops, and by one whose backends is away', async () => {
    await asking()
    clock.advance(HOUR)
    expect(await asking({ seed: async () => false })).toBeNull()
    const away = async () => {
      throw new ShoalError('queue_down', 'away')
    }
    await expect(asking({ holder: 'two', seed: away })).rejects.toThrow('away')
    expect(await asking({ holder: 'three' })).toMatchObject({ note: { outcome: 'started' } })
    expect(await crawls()).toHaveLength(1)
  })

  it('that fail are not tried again before the next', async () => {
    await asking()
    clock.advance(HOUR)
    const broken = async () => {
      throw new Error('no such column')
    }
    expect(await asking({ seed: broken })).toMatchObject({
      note: { outcome: 'failed', why: expect.stringContaining('no such column') },
    })
    expect(await asking()).toBeNull()
    // The crawl of the failed one is not in its way.
    expect((await backends.frontier.crawls()).map(({ state }) => state)).toEqual(['cancelled'])
    clock.advance(HOUR)
    expect(await asking()).toMatchObject({ note: { outcome: 'started' } })
  })

  it('begin anew when what is on the notes is no note of theirs', async () => {
    await backends.notes.claim('schedule:news', 'other', 0, 60_000)
    await backends.notes.post('schedule:news', 'other', 'not JSON', HOUR)
    expect(await lastTurn(backends.notes, 'news')).toBeNull()
    await asking()
    expect(await lastTurn(backends.notes, 'news')).toMatchObject({ outcome: 'begun' })
  })

  it('are not taken twice when a clock goes back', async () => {
    await asking()
    clock.advance(HOUR)
    await asking()
    await finish()
    expect(await asking({ clock: new ManualClock(clock.now() - 2 * HOUR) })).toBeNull()
    expect(await asking()).toBeNull()
  })
})
