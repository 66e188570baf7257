import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { drainOf, estimateEnd } from '../../src/coordinator/eta.js'
import type { CrawlStats, HostInfo } from '../../src/frontier/frontier.js'

const NOW = 1_000_000

const stats = (over: Partial<CrawlStats> = {}): CrawlStats => ({
  id: 'c1',
  spider: 's',
  state: 'running',
  endedBy: null,
  spiderHash: 'h',
  spiderChanges: 0,
  createdAt: 0,
  startedAt: 0,
  finishedAt: null,
  seeding: false,
  total: 100,
  queued: 100,
  delayed: 0,
  leased: 0,
  done: 0,
  dead: 0,
  skipped: 0,
  failed: 0,
  retried: 0,
  throttled: 0,
  reclaimed: 0,
  stale: 0,
  refused: 0,
  filtered: [],
  counts: [],
  bytes: 0,
  rate: 10,
  ...over,
})

const host = (over: Partial<HostInfo> = {}): HostInfo => ({
  host: 'a.example',
  pending: 100,
  inFlight: 0,
  done: 0,
  failed: 0,
  dead: 0,
  delayMs: 0,
  concurrency: 1,
  ratePerSecond: null,
  nextAt: 0,
  slowedFromMs: null,
  blockedUntil: null,
  throttles: 0,
  set: null,
  latencyMs: null,
  ...over,
})

const estimate = (
  s: Partial<CrawlStats>,
  hosts: HostInfo[],
  slots: number | null = 16,
  lastDueAt: number | null = null,
) => estimateEnd({ stats: stats(s), hosts, slots, now: NOW, lastDueAt })

describe('the end of a crawl', () => {
  it('is decided by the host with the longest drain, not by the mean rate', () => {
    const answer = estimate({ queued: 1010, rate: 100 }, [
      host({ pending: 1000 }),
      host({ host: 'slow.example', pending: 10, delayMs: 5000 }),
    ])
    expect(answer).toMatchObject({ etaSeconds: 50, decidedBy: { kind: 'host', host: 'slow.example', reason: 'delay' } })
    expect(answer.plainSeconds).toBeCloseTo(10.1)
  })

  it('is not promised while a host with links is closed by hand', () => {
    const closed = { delayMs: null, concurrency: null, floorMs: null, blocked: true }
    const hosts = [host({ host: 'b.example', delayMs: 100 }), host({ pending: 1, set: closed })]
    expect(estimate({ queued: 101, rate: 10 }, hosts)).toEqual({
      etaSeconds: null,
      decidedBy: { kind: 'host', host: 'a.example', reason: 'closed' },
      plainSeconds: 10.1,
    })
    expect(estimate({ queued: 100 }, [host({ delayMs: 100 }), host({ pending: 0, set: closed })]).etaSeconds).toBe(10)
  })

  it('names a rate, a latency or a block where that is what holds the host', () => {
    expect(drainOf(host({ delayMs: 10, ratePerSecond: 2 }), NOW)).toMatchObject({ seconds: 50, reason: 'rate' })
    expect(drainOf(host({ latencyMs: 200, concurrency: 2 }), NOW)).toMatchObject({ seconds: 10.2, reason: 'latency' })
    expect(drainOf(host({ pending: 1, delayMs: 10, blockedUntil: NOW + 60_000 }), NOW)).toMatchObject({
      reason: 'blocked',
    })
  })

  it('goes by the measured rate where one host is the whole crawl and the machine is slower than its pace', () => {
    expect(estimate({ queued: 100, rate: 5 }, [host({ delayMs: 10 })])).toMatchObject({
      etaSeconds: 20,
      decidedBy: { kind: 'host', reason: 'delay' },
    })
    const blocked = host({ pending: 100, delayMs: 10, blockedUntil: NOW + 9_000 })
    expect(estimate({ queued: 100, rate: 0.1 }, [blocked])).toMatchObject({
      etaSeconds: 10,
      decidedBy: { reason: 'blocked' },
    })
  })

  it('adds the time to the next slot of the host', () => {
    expect(drainOf(host({ pending: 2, delayMs: 1000, nextAt: NOW + 500 }), NOW)?.seconds).toBe(2.5)
  })

  it('is decided by the workers when every slot is busy and the hosts could go faster', () => {
    expect(estimate({ queued: 984, leased: 16, rate: 10 }, [host({ latencyMs: 10, concurrency: 16 })])).toMatchObject({
      etaSeconds: 100,
      decidedBy: { kind: 'workers' },
    })
  })

  it('is not decided by the workers when the host is slower than they are', () => {
    expect(estimate({ queued: 84, leased: 16, rate: 10 }, [host({ delayMs: 1000 })]).decidedBy).toMatchObject({
      kind: 'host',
      reason: 'delay',
    })
  })

  it('is decided by the workers when there are more hosts than they can serve, seen or not', () => {
    const many = Array.from({ length: 100 }, (_, n) =>
      host({ host: `h${n}.example`, pending: 10, delayMs: 1000, latencyMs: 500 }),
    )
    // 10,000 hosts with ten links each, of which a hundred are listed: 64 slots make 128 pages a second.
    const left = { queued: 100_000, leased: 10 }
    const answer = estimate({ ...left, rate: 0 }, many, 64)
    expect(answer.decidedBy).toEqual({ kind: 'workers' })
    expect(answer.etaSeconds).toBeCloseTo(100_010 / 128)
    expect(estimate({ ...left, rate: 20 }, many, 6_400)).toMatchObject({ decidedBy: { kind: 'host', reason: 'delay' } })
    expect(estimate({ ...left, rate: 0 }, many, null)).toMatchObject({ decidedBy: { kind: 'host', reason: 'delay' } })
  })

  it('is decided by the retries when only they are left', () => {
    expect(
      estimate({ queued: 0, delayed: 3, rate: 5 }, [host({ pending: 3, delayMs: 100 })], 16, NOW + 60_000),
    ).toMatchObject({
      etaSeconds: 60,
      decidedBy: { kind: 'retries' },
    })
  })

  it('says nothing where nothing is known', () => {
    expect(estimate({ rate: 0 }, [host()])).toEqual({ etaSeconds: null, decidedBy: null, plainSeconds: null })
    expect(estimate({ state: 'paused' }, [host({ delayMs: 100 })])).toMatchObject({ etaSeconds: null, decidedBy: null })
    expect(estimate({ state: 'finished', queued: 0 }, [])).toEqual({ etaSeconds: 0, decidedBy: null, plainSeconds: 0 })
    expect(estimate({}, [host({ delayMs: 100 })], 0).etaSeconds).toBeNull()
    expect(estimate({ queued: 0, seeding: true }, []).etaSeconds).toBeNull()
  })

  it('falls back on the rate when no host was measured', () => {
    expect(estimate({ rate: 10 }, [host()])).toMatchObject({ etaSeconds: 10, decidedBy: null })
  })

  it('is never negative, never infinite, and never before the slowest host is drained', () => {
    const hosts = fc.array(
      fc
        .record({
          pending: fc.nat(10_000),
          inFlight: fc.nat(10),
          delayMs: fc.nat(60_000),
          concurrency: fc.integer({ min: 1, max: 64 }),
          ratePerSecond: fc.option(fc.double({ min: 0.01, max: 1000, noNaN: true })),
          latencyMs: fc.option(fc.nat(30_000)),
          nextAt: fc.integer({ min: 0, max: 2 * NOW }),
          blockedUntil: fc.option(fc.integer({ min: 0, max: 2 * NOW })),
        })
        .map(host),
      { maxLength: 5 },
    )
    fc.assert(
      fc.property(
        hosts,
        fc.nat(100),
        fc.nat(20),
        fc.double({ min: 0, max: 1000, noNaN: true }),
        (list, queued, leased, rate) => {
          const { etaSeconds } = estimate({ queued, leased, rate }, list)
          if (etaSeconds === null) return
          expect(Number.isFinite(etaSeconds)).toBe(true)
          expect(etaSeconds).toBeGreaterThanOrEqual(0)
          if (queued + leased > 0)
            for (const one of list) expect(etaSeconds).toBeGreaterThanOrEqual(drainOf(one, NOW)?.seconds ?? 0)
        },
      ),
    )
  })
})

describe('a crawl that waits', () => {
  const blocked = (until: number | null, reason: 'missing' | 'unreachable' = 'missing') =>
    estimateEnd({
      ...{ stats: stats({ leased: 2, rate: 3 }), slots: 16, now: NOW },
      hosts: [host({ latencyMs: 200, concurrency: 2, inFlight: 2 })],
      blocks: new Map([['a.example', { reason, until }]]),
    })

  it('for the links of a missing worker ends after they have returned, whatever the rate was', () => {
    expect(blocked(NOW + 4_000)).toMatchObject({
      etaSeconds: 4 + 100 * 0.1 + 0.2,
      decidedBy: { kind: 'host', host: 'a.example', reason: 'missing' },
    })
  })

  it('for a site that cannot be reached has no end if nobody knows when it is given up', () => {
    expect(blocked(null, 'unreachable')).toMatchObject({
      etaSeconds: null,
      decidedBy: { kind: 'host', host: 'a.example', reason: 'unreachable' },
    })
  })

  it('with nothing but retries of such a site left ends when it is given up', () => {
    const { etaSeconds, decidedBy } = estimateEnd({
      ...{ stats: stats({ queued: 0, delayed: 3, rate: 0 }), slots: 16, now: NOW, lastDueAt: NOW + 1_000 },
      hosts: [host({ pending: 3, delayMs: 1_000 })],
      blocks: new Map([['a.example', { reason: 'unreachable', until: NOW + 7_000 }]]),
    })
    expect({ etaSeconds, decidedBy }).toMatchObject({ etaSeconds: 10, decidedBy: { reason: 'unreachable' } })
  })
})

it('a crawl whose pages wait for CPU ends by its rate, not by the speed of its hosts', () => {
  const hosts = [host({ latencyMs: 1, concurrency: 8 })]
  expect(estimateEnd({ stats: stats({ rate: 10 }), hosts, slots: 64, now: NOW, cpuBound: true })).toMatchObject({
    etaSeconds: 10,
    decidedBy: { kind: 'cpu' },
  })
  const slow = [host({ delayMs: 1_000 })]
  expect(estimateEnd({ stats: stats({ rate: 10 }), hosts: slow, slots: 64, now: NOW, cpuBound: true })).toMatchObject({
    decidedBy: { kind: 'host', reason: 'delay' },
  })
})
