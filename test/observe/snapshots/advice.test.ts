import { describe, expect, it } from 'vitest'
import type { CrawlStats, HostInfo } from '../../../src/frontier/frontier.js'
import { type AdviceInput, adviceOf } from '../../../src/observe/snapshots/advice.js'
import type { AdvisedWorker } from '../../../src/observe/snapshots/fleet-load.js'
import { holdOf, roomOf, startsOf } from '../../../src/observe/snapshots/host-room.js'
import {
  HISTOGRAM_MS,
  type Histogram,
  SPENT,
  type Spent,
  STEPS,
  type Step,
  type Vitals,
} from '../../../src/observe/vitals/vitals.js'
import { someVitals } from '../vitals/some-vitals.js'

const NOW = 1_000_000
const LIVED_MS = 100_000

const stats = (change: Partial<CrawlStats> = {}) =>
  ({
    ...{ id: 'c', spider: 's', state: 'running', seeding: false, rate: 10 },
    ...{ queued: 5_000, delayed: 0, leased: 4, done: 100, dead: 0, skipped: 0 },
    ...change,
  }) as CrawlStats

const host = (change: Partial<HostInfo> = {}): HostInfo => ({
  ...{ host: 'shop.example', pending: 5_000, inFlight: 0, done: 9, failed: 0, dead: 0 },
  ...{ delayMs: 0, slowedFromMs: null, concurrency: 8, ratePerSecond: null, nextAt: 0, blockedUntil: null },
  ...{ throttles: 0, latencyMs: 100, set: null },
  ...change,
})

/** Shares of the slots' time; the rest is idle. */
const vitals = (
  shares: Partial<Record<Spent, number>>,
  took: Partial<Record<Step, { ms: number; calls: number }>> = {},
  change: Partial<Vitals> = {},
): Vitals => {
  const slots = change.slots ?? 4
  const part = (name: Spent) =>
    name === 'idle' ? 1 - SPENT.reduce((sum, one) => sum + (shares[one] ?? 0), 0) : (shares[name] ?? 0)
  return someVitals({
    ...{ at: NOW, startedAt: NOW - LIVED_MS, slots, busy: slots, pages: 4_000, loopBusy: 0.2 },
    ...{ rssBytes: 2e8, heapBytes: 1e8, heapLimitBytes: 2e9, memoryLimitBytes: 8e9, memoryFreeBytes: 4e9 },
    spent: Object.fromEntries(SPENT.map((name) => [name, part(name) * slots * LIVED_MS])) as Vitals['spent'],
    took: Object.fromEntries(STEPS.map((step) => [step, histogram(took[step])])) as Vitals['took'],
    ...change,
  })
}

const histogram = (took = { ms: 0, calls: 0 }): Histogram => ({
  counts: [took.calls, ...HISTOGRAM_MS.map(() => 0)],
  sumMs: took.ms * took.calls,
})

const worker = (told: Vitals | null = vitals({}), change: Partial<AdvisedWorker> = {}): AdvisedWorker => ({
  ...{ worker: told?.worker ?? 'w', inFlight: 4, done: 100, failed: 0, startedAt: 0, seenAt: NOW, progressAt: NOW },
  ...{ beatAt: NOW, lostAt: NOW + 10_000 },
  about: { machine: 'm', pid: 7, version: '1.0.0', spiders: { s: 'h' }, concurrency: 4 },
  ...{ vitals: told, state: 'working' },
  ...change,
})

const advice = (change: Partial<AdviceInput> = {}) =>
  adviceOf({ stats: stats(), hosts: [host()], workers: [worker()], estimate: null, now: NOW, ...change })

describe('the slowest stage', () => {
  it('is a host that somebody closed: what opens it is named', () => {
    const { next } = advice({ hosts: [host({ host: 'shop.example', set: { blocked: true } })] })
    expect(next).toContain('shoal hosts set shop.example --unblock')
  })

  const busy = { fetch: 0.95 }
  it.each([
    ['host_pace', 'one request every 1.0 s', { hosts: [host({ delayMs: 1_000 })] }],
    ['host_pace', '2.0/s, the rate limit', { hosts: [host({ ratePerSecond: 2 })] }],
    [
      'host_pace',
      'is rate limiting us: next request in 30 s',
      { hosts: [host({ blockedUntil: NOW + 30_000, throttles: 2 })] },
    ],
    ['host_pace', 'blocked manually', { hosts: [host({ set: { blocked: true } })] }],
    ['hosts', '4.0 s per page, 8 at once', { hosts: [host({ latencyMs: 4_000 })] }],
    [
      'hosts',
      'its delay was raised from 20 ms to 500 ms',
      { hosts: [host({ delayMs: 500, slowedFromMs: 20, latencyMs: 900 })] },
    ],
    ['hosts', 'its robots.txt cannot be reached', { hosts: [host({ blockedUntil: NOW + 30_000 })] }],
    [
      'proxies',
      'all proxies for shop.example are resting, for another 30 s',
      {
        hosts: [host({ blockedUntil: NOW + 30_000 })],
        workers: [worker(vitals({}), { about: { machine: 'm', pid: 7, version: '1', pools: ['dc'] } })],
      },
    ],
    ['proxies', 'wait for a free one 60 %', { workers: [worker(vitals({ proxy: 0.6, fetch: 0.3 }))] }],
    ['proxies', 'wait for a free one 9 %', { workers: [worker(vitals({ proxy: 0.09, fetch: 0.02 }))] }],
    [
      'store',
      'slots wait for it 70 % of the time, a batch takes 800 ms',
      { workers: [worker(vitals({ store: 0.7, fetch: 0.2 }, { store: { ms: 800, calls: 90 } }))] },
    ],
    [
      'queue',
      'slots wait for it 55 % of the time, a lease takes 300 ms',
      { workers: [worker(vitals({ queue: 0.55, fetch: 0.2 }, { lease: { ms: 300, calls: 100 } }))] },
    ],
    [
      'queue',
      'a lease takes 1.0 s, and a worker waits for one 90 %',
      { workers: [worker(vitals({ fetch: 0.1 }, { lease: { ms: 1_000, calls: 90 }, fetch: { ms: 20, calls: 99 } }))] },
    ],
    [
      'handler',
      'uses 80 % of a core, 20 ms per page',
      {
        workers: [
          worker(vitals({ fetch: 0.8, handler: 0.2 }, { handler: { ms: 20, calls: 4_000 } }, { loopBusy: 0.99 })),
        ],
      },
    ],
    [
      'handler',
      'mostly waiting',
      { workers: [worker(vitals({ fetch: 0.1, handler: 0.9 }, { handler: { ms: 90, calls: 4_000 } }))] },
    ],
    [
      'cpu',
      'busy 97 % of the time',
      { workers: [worker(vitals(busy, { handler: { ms: 5, calls: 4_000 } }, { loopBusy: 0.97 }))] },
    ],
    [
      'memory',
      'is 95 % full (limit 500 MB)',
      { workers: [worker(vitals(busy, {}, { heapBytes: 475e6, heapLimitBytes: 5e8 + 48 * 2 ** 20 }))] },
    ],
    [
      'memory',
      'uses 98 % of its 8.0 GB',
      { workers: [worker(vitals(busy, {}, { memoryFreeBytes: 16e7, rssBytes: 3e9 }))] },
    ],
    ['workers', '95 % of their 4 slots are busy', { workers: [worker(vitals(busy))] }],
    ['workers', 'no worker is running for it', { workers: [] }],
    ['none', 'the crawl is paused', { stats: stats({ state: 'paused' }) }],
    ['none', 'waiting for a retry', { stats: stats({ queued: 0, leased: 0, delayed: 3 }) }],
    ['none', 'the last 4 links are in flight', { stats: stats({ queued: 0 }) }],
    ['none', 'waiting for start URLs', { stats: stats({ queued: 0, leased: 0, seeding: true }) }],
    ['none', 'no bottleneck', { hosts: [host({ latencyMs: null })] }],
  ] as const)('is %s: %s', (stage, text, change: Partial<AdviceInput>) => {
    const { stage: found, sentence, moreWorkers } = advice(change)
    expect({ found, sentence }).toEqual({ found: stage, sentence: expect.stringContaining(text) })
    if (!['workers', 'cpu', 'handler'].includes(stage)) expect(moreWorkers).toBe(0)
  })

  it('is none of memory that others took, and of a worker that has other spiders', () => {
    expect(advice({ workers: [worker(vitals(busy, {}, { memoryFreeBytes: 16e7 }))] }).stage).toBe('workers')
    const other = worker(vitals({ store: 0.9 }), { about: { machine: 'm', pid: 7, version: '1', spiders: { t: 'h' } } })
    expect(advice({ workers: [other] }).sentence).toBe('no worker is running for it')
    expect(advice({ workers: [other, worker(vitals(busy))] }).stage).toBe('workers')
  })

  it('is judged by the last seconds, and by its whole life where a worker has just begun', () => {
    const then = vitals({ fetch: 0.95 }, {}, { at: NOW - 10_000, startedAt: NOW - 10_000 - LIVED_MS })
    const spent = { ...then.spent, store: then.spent.store + 4 * 9_000, fetch: then.spent.fetch + 4 * 1_000 }
    const now = { ...then, at: NOW, spent, earlier: null }
    expect(advice({ workers: [worker(now)] }).stage).toBe('workers')
    expect(advice({ workers: [worker({ ...now, earlier: then })] }).stage).toBe('store')
    const tooClose = { ...then, at: NOW - 10 }
    expect(advice({ workers: [worker({ ...now, earlier: tooClose })] }).stage).toBe('workers')
  })

  it('is told without vitals too: older workers say how many visits at once they make', () => {
    expect(advice({ workers: [worker(null)], stats: stats({ leased: 4 }) })).toMatchObject({ stage: 'workers' })
    expect(
      advice({ workers: [worker(null)], stats: stats({ leased: 1 }), hosts: [host({ delayMs: 500 })] }),
    ).toMatchObject({ stage: 'host_pace', host: 'shop.example' })
  })

  it('names the host where one decides, and the one that takes longest where many do', () => {
    const many = Array.from({ length: 20 }, (_, i) => host({ host: `h${i}.example`, pending: 250, delayMs: 1_000 }))
    const decidedBy = { kind: 'host', host: 'h3.example', reason: 'delay' } as const
    const found = advice({ hosts: many, estimate: { etaSeconds: 250, decidedBy, plainSeconds: 300 } })
    expect(found).toMatchObject({ stage: 'host_pace', host: null })
    expect(found.sentence).toBe(
      'the pace of hosts: 20 hosts with links allow 20/s in total, current rate 10/s; h3.example will take longest',
    )
  })
})

describe('how many workers would still help', () => {
  const full = () => worker(vitals({ fetch: 1 }, {}, { pages: 4_000 }))

  it('is what hosts could keep busy beyond the slots there are', () => {
    // 8 at once are allowed, of which one worker has 4.
    expect(advice({ workers: [full()] }).moreWorkers).toBe(1)
    expect(advice({ workers: [full()], hosts: [host({ concurrency: 41, latencyMs: 100 })] }).moreWorkers).toBe(10)
    // At 20 a second and a tenth of a second each, two slots are enough.
    expect(advice({ workers: [full()], hosts: [host({ delayMs: 50 })] })).toMatchObject({
      stage: 'host_pace',
      moreWorkers: 0,
    })
  })

  it('is no more than there are links', () => {
    const few = { stats: stats({ queued: 5, leased: 4 }), hosts: [host({ pending: 5, inFlight: 4, concurrency: 100 })] }
    expect(advice({ workers: [full()], ...few }).moreWorkers).toBe(2)
  })

  it('counts hosts that nobody looked at: they have no more links than the last of those looked at', () => {
    const hosts = Array.from({ length: 100 }, (_, i) => host({ host: `h${i}`, pending: 10, concurrency: 1 }))
    expect(advice({ workers: [full()], hosts, stats: stats({ queued: 1_000 }) }).moreWorkers).toBe(24)
    expect(advice({ workers: [full()], hosts, stats: stats({ queued: 2_000 }) }).moreWorkers).toBe(49)
  })

  it('follows the rate where the processor decides', () => {
    const hot = worker(vitals({ fetch: 1 }, {}, { loopBusy: 1 }))
    // 80 a second are allowed, one worker does 10.
    expect(advice({ workers: [hot] })).toMatchObject({ stage: 'cpu', moreWorkers: 7 })
    expect(advice({ workers: [hot], stats: stats({ rate: 79 }) })).toMatchObject({ stage: 'cpu', moreWorkers: 0 })
  })
})

describe('what a crawl waits for', () => {
  const missing = { worker: 'w3', machine: 'm2', since: NOW - 6_000, links: 8, backAt: NOW + 4_000 }

  it('is a missing worker, if it blocks most of the links: more workers cannot help', () => {
    const waits = { missing: [{ ...missing, hosts: ['shop.example'] }], unreachable: [] }
    expect(advice({ waits })).toMatchObject({
      ...{ stage: 'workers', moreWorkers: 0 },
      sentence: 'worker w3 on m2 is missing, last seen 6.0 s ago; its 8 links return to the queue in 4.0 s',
    })
    const other = [host(), host({ host: 'busy.example', pending: 50_000, delayMs: 1_000 })]
    expect(advice({ waits, hosts: other }).stage).toBe('host_pace')
  })

  it('is a missing worker, if it holds the last links', () => {
    const waits = { missing: [{ ...missing, hosts: [] }], unreachable: [] }
    const last = { hosts: [host({ pending: 0 })], stats: stats({ queued: 0, leased: 8 }) }
    expect(advice({ waits, ...last }).sentence).toContain('its 8 links return')
    expect(advice({ waits, ...last, stats: stats({ queued: 0, leased: 90 }) }).sentence).toContain('in flight')
  })

  it('is a site that cannot be reached', () => {
    const site = { host: 'shop.example', code: 'connect_error', error: 'connect ECONNREFUSED 192.0.2.7:443' } as const
    const unreachable = [{ ...site, links: 5_000, nextTryAt: NOW + 1_000, givesUpAt: NOW + 7_000 }]
    expect(advice({ waits: { missing: [], unreachable }, stats: stats({ queued: 0, delayed: 5_000 }) })).toMatchObject({
      ...{ stage: 'hosts', host: 'shop.example', moreWorkers: 0 },
      sentence:
        'shop.example cannot be reached: connect ECONNREFUSED 192.0.2.7:443; 5000 links left, next try in 1.0 s, given up in about 7.0 s',
    })
  })
})

describe('more workers for a crawl that is limited by CPU', () => {
  const hot = (cores: number) =>
    worker(vitals({ fetch: 1 }, {}, { loopBusy: 1 }), { about: { machine: 'm', pid: 7, version: '1', cores } })

  it('need a core that is free', () => {
    expect(advice({ workers: [hot(2)] }).next).toBe(
      'up to 7 more workers would help: workers use 1.0 of the 2 cores of m',
    )
    expect(advice({ workers: [hot(2), hot(2)] }).next).toMatch(/on other machines would help: workers use 2.0 of the 2/)
    expect(advice({ workers: [hot(1)] }).next).toMatch(
      /on other machines would help: workers use 1.0 of the 1 core of m/,
    )
  })

  it('are the answer too if the workers themselves found that pages wait for CPU', () => {
    const held = worker(vitals({ fetch: 1 }, {}, { loopBusy: 0.7, because: 'cpu' }))
    expect(advice({ workers: [held] }).stage).toBe('cpu')
  })

  it('are not advised while they still find out how many slots they can use', () => {
    const many = Array.from({ length: 50 }, (_, n) => host({ host: `h${n}.example`, pending: 100 }))
    const full = (because: Vitals['because']) => worker(vitals({ fetch: 0.95 }, {}, { because }))
    expect(advice({ workers: [full('most')], hosts: many }).stage).toBe('workers')
    expect(advice({ workers: [full('growing')], hosts: many }).moreWorkers).toBe(0)
  })
})

describe('the room of hosts', () => {
  it('knows what holds a host back', () => {
    expect(holdOf(host({ delayMs: 20, latencyMs: 100 }), NOW)).toBe('delay')
    expect(holdOf(host({ delayMs: 10, latencyMs: 100 }), NOW)).toBe('slow')
    expect(holdOf(host({ ratePerSecond: 10, delayMs: 20 }), NOW)).toBe('rate')
    expect(startsOf(host({ latencyMs: null }), NOW)).toBe(null)
    expect(startsOf(host({ blockedUntil: NOW + 1, throttles: 1 }), NOW)).toBe(0)
    expect(startsOf(host({ blockedUntil: NOW, throttles: 1, delayMs: 500 }), NOW)).toBe(2)
  })

  it('is empty without hosts', () => {
    expect(roomOf([], { now: NOW, visitMs: null, queued: 10 })).toMatchObject({
      usefulSlots: 0,
      host: null,
      hold: 'none',
    })
  })
})
