import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ManualClock, systemClock, systemRandom } from '../../src/clock.js'
import { lastTurn } from '../../src/coordinator/schedule.js'
import { silentLog } from '../../src/log.js'
import { startScheduleDuties } from '../../src/run/duties/schedule-duties.js'
import { resolveSpider } from '../../src/spider/resolve.js'
import { type Backends, openBackends } from '../../src/wire/backends.js'
import { redisForTest } from '../support/redis-opened.js'
import { temporaryDirectory } from '../support/redis-server.js'

const START = Date.parse('2026-06-01T00:30:00Z')
const HOUR = 3_600_000

it('three processes on one Redis begin each turn once, also when one dies in the middle', async () => {
  const { url } = await redisForTest()
  const store = `sqlite:${join(temporaryDirectory('schedules'), 'shoal.db')}`
  const backends = await Promise.all([0, 1, 2].map(() => openBackends({ queue: url, store })))
  const [first] = backends as [Backends, Backends, Backends]
  // Clocks of machines differ.
  const clocks = [new ManualClock(START), new ManualClock(START - 700), new ManualClock(START + 400)]
  const started: string[] = []
  /** The process that is to die, once it is in the middle of a turn. */
  let dying = -1
  let dead = -1
  const stop = new AbortController()
  const loops = backends.map((backends, index) => {
    const spider = resolveSpider(
      {
        name: 'news',
        start: ['https://a.example/'],
        seeds: async function* () {
          yield 'https://a.example/1'
          if (dying === index) {
            dead = index
            await new Promise(() => {})
          }
          yield 'https://a.example/2'
        },
        schedule: '0 * * * *',
        routes: { page: { match: '**' } },
      },
      'h',
    )
    return startScheduleDuties(backends, [spider], {
      ...{ clock: clocks[index] ?? systemClock, random: systemRandom, log: silentLog, pools: new Map() },
      ...{ signal: stop.signal, holder: `process ${index}`, claimMs: 300 },
      onTurn: (_, taken) => {
        if (taken.kind === 'decided') started.push(`${taken.note.crawl} ${taken.note.outcome}`)
      },
    })
  })
  /** All clocks but that of the dead go on. */
  const pass = async (ms: number, until: () => Promise<boolean>) => {
    for (const [index, clock] of clocks.entries()) if (index !== dead) clock.advance(ms)
    await expect
      .poll(
        async () => {
          for (const [index, clock] of clocks.entries()) if (index !== dead) clock.advance(50)
          return until()
        },
        { timeout: 10_000, interval: 20 },
      )
      .toBe(true)
  }
  const decided = (turn: number) => async () => {
    const last = await lastTurn(first.notes, 'news')
    return last?.turn === turn && last.outcome === 'started'
  }
  const finishAll = async () => {
    for (const { id } of await first.frontier.crawls()) await first.frontier.setState(id, 'cancelled')
  }

  await pass(0, async () => (await lastTurn(first.notes, 'news'))?.outcome === 'begun')
  for (let hour = 1; hour <= 5; hour++) {
    await pass(HOUR, decided(START + HOUR * (hour - 1) + HOUR / 2))
    await finishAll()
  }
  // Whoever takes this one is to die with it: only one is there at first.
  dying = 1
  clocks[1]?.advance(HOUR)
  await expect.poll(() => dead, { timeout: 5_000 }).toBe(1)
  await pass(HOUR, decided(START + HOUR * 5 + HOUR / 2))
  expect((await lastTurn(first.notes, 'news'))?.by).not.toBe('process 1')

  const hours = [1, 2, 3, 4, 5, 6].map((hour) => `news-20260601-0${hour}0000-turn`)
  expect((await first.frontier.crawls()).map(({ id }) => id).sort()).toEqual(hours)
  expect(started.sort()).toEqual(hours.map((crawl) => `${crawl} started`))
  // The heir has added what was missing.
  expect((await first.frontier.stats('news-20260601-060000-turn')).queued).toBe(3)
  stop.abort()
  await Promise.all(loops.filter((_, index) => index !== 1))
  await Promise.all(backends.map((backends) => backends.close()))
})
