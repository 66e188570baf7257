import { afterEach, describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/clock.js'
import { fileCrawl } from '../../../src/coordinator/file-crawl.js'
import { ShoalError } from '../../../src/errors.js'
import type { Alert } from '../../../src/observe/alerts/alert.js'
import { ALERTS_KEY, WATCH_KEY } from '../../../src/observe/note-keys.js'
import { readSeries } from '../../../src/observe/series/series-notes.js'
import { HOUR_MS } from '../../../src/quality/field-row.js'
import { FieldTally } from '../../../src/quality/field-tally.js'
import { startWatchDuty } from '../../../src/run/alerts/watch-duty.js'
import { watchSnapshots } from '../../../src/run/alerts/watch-snapshots.js'
import { dead, done, retry, specOf } from '../../contract/frontier-fixtures.js'
import { until } from '../../support/redis-server.js'
import { logInto, only, pagesOf, type Watched, watched, workerOn } from './watched.js'

let world: Watched | null = null
afterEach(async () => {
  await world?.close()
  world = null
})

async function begin(...args: Parameters<typeof watched>): Promise<Watched> {
  world = await watched(...args)
  return world
}

describe('the watch', () => {
  it('of more crawls than it can watch keeps those with alarms, says so once, and leaves out what is fetched for a crawl', async () => {
    const { backends, clock } = await begin()
    for (let i = 0; i < 55; i++) {
      clock.advance(1)
      await backends.frontier.open(specOf({ id: `c${i}` }))
    }
    await backends.frontier.open(specOf({ id: 'c0.files.w1', spider: fileCrawl('c0', 'books', 'w1').spider }))
    const told: string[] = []
    const snapshots = watchSnapshots(backends, { author: 'me', fleet: false, log: logInto(told) })
    const alarm: Alert = {
      ...{ rule: 'dead_rising', severity: 'warn', episode: 'e', about: 'c0', crawl: 'c0', spider: 'books', since: 1 },
      ...{ message: '', next: '', fields: {} },
    }
    const ids = async () => (await snapshots.take([alarm], new Map())).crawls.map(({ snapshot }) => snapshot.stats.id)
    expect(await ids()).toHaveLength(50)
    const watched = await ids()
    expect(watched).toContain('c0')
    expect(watched).not.toContain('c1')
    expect(watched).not.toContain('c0.files.w1')
    expect(told).toEqual([expect.stringContaining('backend.warning 56 crawls are running and 50 of them are watched')])
  })

  it('that cannot be taken over is left to the next at once', async () => {
    const { backends, clock, first } = await begin()
    await first.stop()
    const notes = {
      ...backends.notes,
      claim: (key: string, ...rest: [string, number, number]) =>
        key === ALERTS_KEY ? Promise.reject(new Error('no')) : backends.notes.claim(key, ...rest),
    }
    const end = new AbortController()
    const parts = { alerts: only('no_progress'), clock, random: seededRandom(1), signal: end.signal }
    const told: string[] = []
    const duties = startWatchDuty({ ...backends, notes }, { ...parts, log: logInto(told) })
    await until('a try', async () => told.length > 0)
    expect(await backends.notes.claim(WATCH_KEY, 'next', 0, 1_000)).toMatchObject({ kind: 'yours' })
    end.abort()
    await duties
  })

  it('writes a sample every five seconds and every minute, and a last one at the end of the crawl', async () => {
    const { backends, pass } = await begin()
    const worker = workerOn(backends)
    await backends.frontier.add('crawl', pagesOf('a.test', 0, 600))
    await backends.frontier.seeded('crawl')
    await pass(100, () => worker.visit(25, () => done([], 1_000)))
    const fine = await readSeries(backends.notes, 'crawl', '30m')
    expect(fine.length).toBeGreaterThanOrEqual(19)
    expect(fine.at(-2)).toMatchObject({ pagesPerSecond: 5, bytesPerSecond: 5_000, workers: 1 })
    expect((await readSeries(backends.notes, 'crawl', '24h')).length).toBeGreaterThanOrEqual(2)
    await pass(40, () => worker.visit(25, () => done([])))
    const ended = await readSeries(backends.notes, 'crawl', '30m')
    expect(ended.at(-1)).toMatchObject({ queued: 0, done: 600 })
    expect(ended.length).toBeLessThanOrEqual(fine.length + 6)
  })

  it('finds nothing wrong with a crawl that is well, paused or tiny', async () => {
    const { backends, pass, told } = await begin()
    const worker = workerOn(backends)
    await backends.frontier.add('crawl', pagesOf('a.test', 0, 800))
    await pass(400, () => worker.visit(5, () => done([])))
    await backends.frontier.setState('crawl', 'paused')
    await pass(1_000)
    expect(told).toEqual([])
  })

  it('tells of errors that begin and end', async () => {
    const { backends, pass, told, active } = await begin(only('error_spike', { window: '1min' }))
    const worker = workerOn(backends)
    await backends.frontier.add('crawl', pagesOf('a.test', 0, 1_000))
    await pass(120, () => worker.visit(10, () => done([])))
    await pass(60, () => worker.visit(10, () => retry(3_600_000)))
    expect(told).toEqual(['alert.began error_spike'])
    expect(await active()).toEqual(['error_spike crawl'])
    await pass(180, () => worker.visit(10, () => done([])))
    expect(told).toEqual(['alert.began error_spike', 'alert.ended error_spike'])
    expect(await active()).toEqual([])
  })

  it('tells of links that are given up', async () => {
    const { backends, pass, told } = await begin(only('dead_rising'))
    const worker = workerOn(backends)
    await backends.frontier.add('crawl', pagesOf('a.test', 0, 1_000))
    await pass(60, (second) => worker.visit(10, () => (second % 10 === 0 ? dead() : done([]))))
    expect(told).toEqual(['alert.began dead_rising'])
  })

  it('tells of a queue that grows with every page', async () => {
    const { backends, pass, told } = await begin(only('queue_growing', { pending: 500, pages: 100, window: '2min' }))
    const worker = workerOn(backends)
    await backends.frontier.add('crawl', pagesOf('trap.test', 0, 20))
    await backends.frontier.seeded('crawl')
    let next = 20
    await pass(300, () =>
      worker.visit(10, () => {
        next += 3
        return done(pagesOf('trap.test', next, 3))
      }),
    )
    expect(told).toEqual(['alert.began queue_growing'])
  })

  it('tells of work that nobody takes, and of its end when somebody does', async () => {
    const { backends, pass, told } = await begin(only('no_progress'))
    const worker = workerOn(backends)
    await backends.frontier.add('crawl', pagesOf('a.test', 0, 1_000))
    // A worker of a queue in memory is there: it asks, and is given work that it does not finish.
    await worker.visit(1, () => done([]))
    await pass(50)
    expect(told).toEqual([])
    await pass(5)
    await workerOn(backends, 'w2').lease(0)
    await pass(40, () => workerOn(backends, 'w3').lease(0))
    expect(told).toEqual(['alert.began no_progress'])
    await pass(90, () => worker.visit(1, () => done([])))
    expect(told).toEqual(['alert.began no_progress', 'alert.ended no_progress'])
  })

  it('gives workers time that have just come to work that waited for them', async () => {
    const { backends, pass, told } = await begin(only('no_progress'))
    await backends.frontier.add('crawl', pagesOf('a.test', 0, 1_000))
    await pass(90)
    const worker = workerOn(backends)
    await pass(60, () => worker.lease(0))
    expect(told).toEqual([])
    await pass(30, () => worker.lease(0))
    expect(told).toEqual(['alert.began no_progress'])
  })

  it('tells of a host that only asks for time', async () => {
    const { backends, pass, told, active } = await begin(only('host_stalled', { after: '2min' }))
    const worker = workerOn(backends)
    await backends.frontier.add('crawl', [...pagesOf('slow.test', 0, 50), ...pagesOf('well.test', 0, 1_000)])
    await pass(300, async () => {
      for (const lease of await worker.lease(10)) {
        const { host } = lease.link
        const slow = host === 'slow.test'
        const report = slow ? ({ kind: 'throttled', retryAfterMs: 10_000 } as const) : ({ kind: 'ok' } as const)
        await backends.frontier.release([{ lease, host, elapsedMs: 1, report }])
        const outcome = slow ? retry(0, { countsAsAttempt: false }) : done([])
        await backends.frontier.settle([{ lease, outcome }])
      }
    })
    expect(told).toEqual(['alert.began host_stalled'])
    expect(await active()).toEqual(['host_stalled slow.test'])
  })

  it('tells of a host that no proxy may go to', async () => {
    const { backends, pass, told } = await begin(only('proxies_resting'))
    const worker = workerOn(backends)
    await backends.frontier.add('crawl', pagesOf('a.test', 0, 50))
    const [lease] = await worker.lease(1)
    if (lease === undefined) throw new Error('nothing was leased')
    const report = { kind: 'wait', ms: 120_000 } as const
    await backends.frontier.release([{ lease, host: 'a.test', elapsedMs: 0, report }])
    await backends.frontier.settle([{ lease, outcome: { kind: 'back', afterMs: 0 } }])
    await pass(70)
    expect(told).toEqual(['alert.began proxies_resting'])
    await pass(300, () => worker.visit(1, () => done([])))
    expect(told).toEqual(['alert.began proxies_resting', 'alert.ended proxies_resting'])
  })

  it('tells of a pool whose proxies all rest', async () => {
    const { backends, pass, told, active } = await begin(only('proxies_resting'))
    await backends.frontier.add('crawl', pagesOf('a.test', 0, 50))
    const about = { machine: 'm', pid: 1, version: '1', spiders: { books: 'h1' }, pools: ['dc'] }
    const limits = { delayMs: 0, concurrency: 1 }
    const rest = { strikes: 1, baseMs: 600_000, capMs: 600_000 }
    const ask = { ask: 'q', pool: 'dc', proxies: ['e1'], host: 'a.test', site: 'a.test', limits, holdMs: 1_000 }
    await backends.proxies.grant([ask])
    const report = { ...ask, proxy: 'e1', verdict: { kind: 'broken' }, elapsedMs: 1, bytes: 0, cost: 0, rest } as const
    await backends.proxies.report([report])
    let seq = 0
    await pass(120, () => backends.frontier.lease({ worker: 'w1', seq: ++seq, want: 0, spiders: ['books'], about }))
    expect(told).toEqual(['alert.began proxies_resting'])
    expect(await active()).toEqual(['proxies_resting dc'])
  })

  it('tells of a worker that vanishes with pages in hand, and not of one that leaves', async () => {
    const { backends, pass, told, active } = await begin(only('worker_lost'), { visibilityMs: 30_000 })
    await backends.frontier.add('crawl', pagesOf('a.test', 0, 50))
    await workerOn(backends, 'left').lease(2)
    await backends.frontier.forfeit('left')
    await workerOn(backends, 'gone').lease(2)
    await pass(75)
    expect(told).toEqual(['alert.began worker_lost'])
    expect(await active()).toEqual(['worker_lost gone'])
    await pass(1, () => backends.frontier.forfeit('gone'))
    await pass(70)
    expect(told).toEqual(['alert.began worker_lost', 'alert.ended worker_lost'])
  })

  it('tells of fields that are no longer filled', async () => {
    const { backends, pass, told } = await begin(only('field_drift'))
    await backends.frontier.add('crawl', pagesOf('a.test', 0, 50))
    for (const [hour, data] of [{ name: 'x', price: 1 }, { name: 'x' }].entries()) {
      const tally = new FieldTally()
      const record = { spider: 'books', kind: 'book', site: 'a.test', scrapedAt: hour * HOUR_MS, data }
      tally.note({ records: Array.from({ length: 100 }, () => record), rejected: [] })
      await backends.store.fields.add(tally.take())
    }
    await pass(70)
    expect(told.map((line) => line.split(' ')[0])).toEqual(['records.drift', 'alert.began'])
  })

  it('tells of an end that moves away', async () => {
    const { backends, pass, told } = await begin(only('eta_slipping', { window: '2min', left: '1min' }), {
      limits: { delayMs: 100, concurrency: 1 },
    })
    const worker = workerOn(backends)
    await backends.frontier.add('crawl', pagesOf('a.test', 0, 1_000))
    await pass(200, async (second) => {
      await worker.visit(1, () => done([]))
      if (second % 10 === 0) await backends.frontier.setHost('a.test', { delayMs: 6_000 + second * 100 })
    })
    expect(told).toEqual(['alert.began eta_slipping'])
  })

  it('tells of a queue that is nearly full', async () => {
    const { backends, pass, told } = await begin(only('queue_memory'))
    let usedBytes = 50
    backends.capacity = async () => ({ usedBytes, limitBytes: 100, what: 'memory' })
    await pass(60)
    expect(told).toEqual([])
    usedBytes = 90
    await pass(60)
    expect(told).toEqual(['alert.began queue_memory'])
    usedBytes = 70
    await pass(120)
    expect(told).toEqual(['alert.began queue_memory', 'alert.ended queue_memory'])
  })
})

describe('two watchers', () => {
  /** A queue that is nearly full as long as `full` says so. */
  const filling = (backends: Watched['backends']) => {
    const state = { full: false }
    backends.capacity = async () => ({ usedBytes: state.full ? 90 : 50, limitBytes: 100, what: 'memory' })
    return state
  }

  it('tell of a thing once, and the second takes over when the first leaves', async () => {
    const { backends, pass, told, watch, first } = await begin(only('queue_memory'))
    const state = filling(backends)
    await pass(10)
    const second: string[] = []
    watch(only('queue_memory'), second)
    state.full = true
    await pass(60)
    expect([told, second]).toEqual([['alert.began queue_memory'], []])
    await first.stop()
    await pass(20)
    state.full = false
    await pass(130)
    expect([told, second]).toEqual([['alert.began queue_memory'], ['alert.ended queue_memory']])
  })

  it('go on when the first is killed, within fifteen seconds: what was told is not told again, and the series has no hole', async () => {
    const { backends, pass, told, watch, first, active } = await begin(only('queue_memory'))
    await backends.frontier.add('crawl', pagesOf('a.test', 0, 50))
    const state = filling(backends)
    state.full = true
    const second: string[] = []
    watch(only('queue_memory'), second)
    await pass(60)
    first.kill()
    await pass(60)
    expect(await active()).toEqual(['queue_memory '])
    expect([told, second]).toEqual([['alert.began queue_memory'], []])
    const times = (await readSeries(backends.notes, 'crawl', '30m')).map(({ at }) => at)
    const gaps = times.map((at, i) => at - (times[i - 1] ?? at))
    expect(Math.max(...gaps)).toBeLessThanOrEqual(20_000)
    expect(gaps.filter((gap) => gap > 5_000)).toHaveLength(1)
    state.full = false
    await pass(130)
    expect(second).toEqual(['alert.ended queue_memory'])
  })

  it('tell again what the first had found and not told when it was killed', async () => {
    const { backends, pass, told, watch, first } = await begin(only('queue_memory'))
    const state = filling(backends)
    await pass(5)
    first.killAfter('alert.began')
    state.full = true
    const second: string[] = []
    watch(only('queue_memory'), second)
    await pass(120)
    expect([told, second]).toEqual([[], ['alert.began queue_memory']])
  })

  it('leave the watch to one that has somebody to tell', async () => {
    const { backends, pass, told, watch } = await begin(only('queue_memory'))
    const state = filling(backends)
    await pass(5)
    const second: string[] = []
    watch({ ...only('queue_memory'), commands: [['true']] }, second)
    await pass(60)
    state.full = true
    await pass(60)
    // The command is a real process and the clock is not: on a busy machine its time may be up before it has started.
    expect([told, second.filter((line) => line.startsWith('alert.began'))]).toEqual([[], ['alert.began queue_memory']])
  })
})

describe('a watcher', () => {
  it('ends what it told of a crawl when it leaves with the crawl', async () => {
    const { backends, pass, told, first, active } = await begin(only('dead_rising'))
    const worker = workerOn(backends)
    await backends.frontier.add('crawl', pagesOf('a.test', 0, 100))
    await backends.frontier.seeded('crawl')
    await pass(60, () => worker.visit(5, () => dead()))
    expect(told).toEqual(['alert.began dead_rising'])
    await worker.visit(100, () => dead())
    await first.stop()
    expect(told).toEqual(['alert.began dead_rising', 'alert.ended dead_rising'])
    expect(await active()).toEqual([])
  })

  it('waits while the queue is away', async () => {
    const { backends, pass, told } = await begin(only('queue_memory'))
    const state = { away: true }
    const crawls = backends.frontier.crawls.bind(backends.frontier)
    backends.frontier.crawls = async () => {
      if (state.away) throw new ShoalError('queue_down', 'gone')
      return crawls()
    }
    backends.capacity = async () => ({ usedBytes: 90, limitBytes: 100, what: 'memory' })
    await pass(120)
    expect(told).toEqual([])
    state.away = false
    await pass(60)
    expect(told).toEqual(['alert.began queue_memory'])
  })
})
