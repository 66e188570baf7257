import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { HostReport, Limits } from '../../src/frontier/frontier.js'
import {
  adapted,
  afterEnd,
  afterReport,
  afterStart,
  earliestStart,
  FRESH_HOST,
  type HostPace,
  laneScore,
  meanLatency,
  permitMs,
  RETRY_AFTER_CAP_MS,
  sentFor,
  startsAllowed,
  strictest,
  THROTTLE_BASE_MS,
  THROTTLE_CAP_MS,
  withSettings,
} from '../../src/frontier/pace.js'

const NOW = 1_000_000_000_000
const throttled = (retryAfterMs: number | null): HostReport => ({ kind: 'throttled', retryAfterMs })

describe('limits', () => {
  it('takes the strictest of each', () => {
    expect(
      strictest([
        { delayMs: 100, concurrency: 1 },
        { delayMs: 500, concurrency: 4 },
      ]),
    ).toEqual({ delayMs: 500, concurrency: 1 })
  })

  it('takes the slowest rate and the smallest burst', () => {
    const fast = { delayMs: 0, concurrency: 1, rate: { count: 10, perMs: 1000, burst: 2 } }
    const slow = { delayMs: 0, concurrency: 1, rate: { count: 60, perMs: 60_000, burst: 30 } }
    const none = { delayMs: 0, concurrency: 1 }
    const mixed = { count: 60, perMs: 60_000, burst: 2 }
    expect(strictest([fast, none, slow]).rate).toEqual(mixed)
    expect(strictest([slow, fast]).rate).toEqual(mixed)
    expect(strictest([none, none])).toEqual(none)
  })

  it('lets a hand win over the spiders, and robots.txt over everybody', () => {
    const limits = { delayMs: 1000, concurrency: 4, rate: { count: 1, perMs: 1000, burst: 1 } }
    expect(withSettings(limits, {})).toEqual(limits)
    expect(withSettings(limits, { delayMs: 0, concurrency: 9 })).toEqual({ ...limits, delayMs: 0, concurrency: 9 })
    expect(withSettings(limits, { delayMs: 0, floorMs: 300 }).delayMs).toBe(300)
    expect(withSettings(limits, { floorMs: 300 }).delayMs).toBe(1000)
    expect(withSettings(limits, { floorMs: 3000 }).delayMs).toBe(3000)
    expect(withSettings(limits, { delayMs: null, concurrency: null, floorMs: null })).toEqual(limits)
  })
})

describe('starts', () => {
  it('leaves the delay between them, one at a time', () => {
    const limits = { delayMs: 1000, concurrency: 4 }
    expect(startsAllowed(FRESH_HOST, limits, NOW)).toBe(1)
    const started = afterStart(FRESH_HOST, limits, NOW)
    expect(earliestStart(started, limits)).toBe(NOW + 1000)
    expect(startsAllowed(started, limits, NOW + 999)).toBe(0)
    expect(startsAllowed(started, limits, NOW + 1000)).toBe(1)
  })

  it('goes by the delay that holds when it asks, not when the last one started', () => {
    const started = afterStart(FRESH_HOST, { delayMs: 1000, concurrency: 4 }, NOW)
    expect(earliestStart(started, { delayMs: 5000, concurrency: 4 })).toBe(NOW + 5000)
    expect(earliestStart(started, { delayMs: 10, concurrency: 4 })).toBe(NOW + 10)
  })

  it('does not close a host without a delay when the clock steps back', () => {
    const limits = { delayMs: 0, concurrency: 2 }
    expect(startsAllowed(afterStart(FRESH_HOST, limits, NOW), limits, NOW - 60_000)).toBe(1)
  })

  it('fills the slots and no more', () => {
    const limits = { delayMs: 0, concurrency: 3 }
    expect(startsAllowed(FRESH_HOST, limits, NOW)).toBe(3)
    const two = afterStart(FRESH_HOST, limits, NOW, 2)
    expect(startsAllowed(two, limits, NOW)).toBe(1)
    expect(startsAllowed(afterStart(two, limits, NOW), limits, NOW)).toBe(0)
    expect(startsAllowed(afterEnd(two, NOW, 5), limits, NOW)).toBe(2)
    // Limits that became stricter than what is under way.
    expect(startsAllowed(two, { delayMs: 0, concurrency: 1 }, NOW)).toBe(0)
  })

  it('counts a start without a slot when the lease has one', () => {
    const limits = { delayMs: 1000, concurrency: 1 }
    const started = afterStart(FRESH_HOST, limits, NOW)
    const again = afterStart(started, limits, NOW + 1000, 1, false)
    expect(again).toMatchObject({ inFlight: 1, startedAt: NOW + 1000 })
  })

  it('empties the bucket and refills it drop by drop', () => {
    const limits = { delayMs: 0, concurrency: 100, rate: { count: 2, perMs: 1000, burst: 3 } }
    expect(startsAllowed(FRESH_HOST, limits, NOW)).toBe(3)
    const empty = afterStart(FRESH_HOST, limits, NOW, 3)
    expect(startsAllowed(empty, limits, NOW)).toBe(0)
    expect(earliestStart(empty, limits)).toBe(NOW + 500)
    expect(startsAllowed(empty, limits, NOW + 499)).toBe(0)
    expect(startsAllowed(empty, limits, NOW + 500)).toBe(1)
    expect(startsAllowed(empty, limits, NOW + 1000)).toBe(2)
    expect(startsAllowed(empty, limits, NOW + 1e9)).toBe(3)
  })

  it('gives the whole number of starts although intervals are fractions', () => {
    const limits = { delayMs: 0, concurrency: 100, rate: { count: 3, perMs: 1000, burst: 3 } }
    const empty = afterStart(FRESH_HOST, limits, NOW, 3)
    expect(startsAllowed(empty, limits, NOW + 1000)).toBe(3)
  })

  it('never exceeds delay, rate, burst and concurrency, however it is asked', () => {
    const limitsArb: fc.Arbitrary<Limits> = fc.record(
      {
        delayMs: fc.constantFrom(0, 0, 7, 100),
        concurrency: fc.integer({ min: 1, max: 5 }),
        rate: fc.record({
          count: fc.integer({ min: 1, max: 7 }),
          perMs: fc.constantFrom(100, 1000),
          burst: fc.integer({ min: 1, max: 4 }),
        }),
      },
      { requiredKeys: ['delayMs', 'concurrency'] },
    )
    const stepArb = fc.record({ waitMs: fc.nat(400), want: fc.integer({ min: 1, max: 5 }), ends: fc.nat(5) })
    fc.assert(
      fc.property(limitsArb, fc.array(stepArb, { maxLength: 40 }), (limits, steps) => {
        let host: HostPace = FRESH_HOST
        let now = NOW
        const starts: number[] = []
        for (const { waitMs, want, ends } of steps) {
          now += waitMs
          for (let i = 0; i < ends; i++) host = afterEnd(host, now, 0)
          const granted = Math.min(want, startsAllowed(host, limits, now))
          // Asked one by one it comes to the same.
          if (granted > 0) {
            let single = host
            for (let i = 0; i < granted; i++) {
              expect(startsAllowed(single, limits, now)).toBeGreaterThanOrEqual(1)
              single = afterStart(single, limits, now)
            }
            host = afterStart(host, limits, now, granted)
            expect(host.inFlight).toBe(single.inFlight)
            expect(host.arrivalAt).toBeCloseTo(single.arrivalAt, 3)
          }
          for (let i = 0; i < granted; i++) starts.push(now)
          expect(host.inFlight).toBeLessThanOrEqual(limits.concurrency)
        }
        for (let i = 1; i < starts.length; i++) {
          expect((starts[i] ?? 0) - (starts[i - 1] ?? 0)).toBeGreaterThanOrEqual(limits.delayMs)
        }
        const { rate } = limits
        if (rate === undefined) return
        for (const [i, from] of starts.entries()) {
          for (const [j, to] of starts.entries()) {
            if (j < i) continue
            const allowed = rate.burst + ((to - from) * rate.count) / rate.perMs
            expect(j - i + 1).toBeLessThanOrEqual(allowed + 1e-3)
          }
        }
      }),
    )
  })

  it('lets nobody wait longer than needed: at its earliest start a free host gives one', () => {
    const rate = { count: 3, perMs: 1000, burst: 2 }
    fc.assert(
      fc.property(fc.nat(3000), fc.nat(5), fc.constantFrom(undefined, rate), (delayMs, before, rate) => {
        const limits: Limits = { delayMs, concurrency: 100, ...(rate === undefined ? {} : { rate }) }
        const host = afterStart(FRESH_HOST, limits, NOW, before)
        expect(startsAllowed(host, limits, Math.ceil(earliestStart(host, limits)))).toBeGreaterThanOrEqual(1)
      }),
    )
  })
})

describe('ends', () => {
  const limits = { delayMs: 1000, concurrency: 2 }
  const started = afterStart(FRESH_HOST, limits, NOW)

  it('counts the delay from the real dispatch when that was later than the permit', () => {
    expect(afterEnd(started, NOW + 700, 100)).toMatchObject({ inFlight: 0, startedAt: NOW + 600 })
    expect(afterEnd(started, NOW + 700, 700).startedAt).toBe(NOW)
  })

  it('believes no dispatch before the last start, nor after now', () => {
    expect(afterEnd(started, NOW + 700, 5000).startedAt).toBe(NOW)
    expect(afterEnd(started, NOW + 700, -5000).startedAt).toBe(NOW + 700)
  })

  it('frees the slot when nobody can say', () => {
    expect(afterEnd(started, NOW + 700, null)).toEqual({ ...started, inFlight: 0 })
    expect(afterEnd(FRESH_HOST, NOW, null).inFlight).toBe(0)
  })
})

describe('throttling', () => {
  it('backs off longer each time, up to a cap, when the host does not say for how long', () => {
    let host: HostPace = FRESH_HOST
    let now = NOW
    const blocks: number[] = []
    for (let i = 0; i < 9; i++) {
      host = afterReport(host, throttled(null), now, now + 1)
      blocks.push(host.blockedUntil - (now + 1))
      now = host.blockedUntil
    }
    expect(blocks.slice(0, 4)).toEqual([1, 2, 4, 8].map((times) => times * THROTTLE_BASE_MS))
    expect(blocks.slice(-2)).toEqual([THROTTLE_CAP_MS, THROTTLE_CAP_MS])
  })

  it('does not overflow, however long it lasts', () => {
    const worn = { ...FRESH_HOST, throttleLevel: 5000 }
    expect(afterReport(worn, throttled(null), NOW, NOW).blockedUntil).toBe(NOW + THROTTLE_CAP_MS)
  })

  it('keeps to Retry-After, up to a cap', () => {
    expect(afterReport(FRESH_HOST, throttled(120_000), NOW, NOW + 5).blockedUntil).toBe(NOW + 5 + 120_000)
    expect(afterReport(FRESH_HOST, throttled(1e15), NOW, NOW).blockedUntil).toBe(NOW + RETRY_AFTER_CAP_MS)
  })

  it('falls back to the backoff when Retry-After is zero, negative or unreadable', () => {
    for (const asked of [0, -1, Number.NaN]) {
      expect(afterReport(FRESH_HOST, throttled(asked), NOW, NOW).blockedUntil).toBe(NOW + THROTTLE_BASE_MS)
    }
  })

  it('counts throttles of requests in flight together once', () => {
    let host = afterReport(FRESH_HOST, throttled(null), NOW, NOW + 100)
    const first = host
    for (let i = 0; i < 9; i++) host = afterReport(host, throttled(null), NOW + i, NOW + 100 + i)
    expect(host).toEqual(first)
    // Granted in the very millisecond in which the block began.
    expect(afterReport(host, throttled(0), NOW + 100, NOW + 150)).toEqual(first)
    // The first one after the block is a new incident.
    const next = afterReport(host, throttled(null), first.blockedUntil, first.blockedUntil + 1)
    expect(next).toMatchObject({ throttleLevel: 2, blockedUntil: first.blockedUntil + 1 + 2 * THROTTLE_BASE_MS })
  })

  it('believes the longest Retry-After of one incident', () => {
    const host = afterReport(FRESH_HOST, throttled(1000), NOW, NOW + 100)
    const longer = afterReport(host, throttled(60_000), NOW, NOW + 150)
    expect(longer).toMatchObject({ throttleLevel: 1, blockedAt: NOW + 100, blockedUntil: NOW + 150 + 60_000 })
    expect(afterReport(longer, throttled(10), NOW, NOW + 160)).toEqual(longer)
  })

  it('forgets the level with the first success after the block, not with one from before', () => {
    const host = afterReport(FRESH_HOST, throttled(null), NOW, NOW + 100)
    expect(afterReport(host, { kind: 'ok' }, NOW, NOW + 150)).toEqual(host)
    expect(afterReport(host, { kind: 'ok' }, host.blockedUntil, host.blockedUntil + 10).throttleLevel).toBe(0)
    expect(afterReport(host, { kind: 'failed' }, host.blockedUntil, host.blockedUntil + 10)).toEqual(host)
  })

  it('keeps block and delay apart: neither shortens the other', () => {
    const limits = { delayMs: 20_000, concurrency: 4 }
    const started = afterStart(FRESH_HOST, limits, NOW)
    const blocked = afterReport(started, throttled(1000), NOW, NOW + 10)
    expect(blocked.startedAt).toBe(NOW)
    expect(earliestStart(blocked, limits)).toBe(NOW + 20_000)
    expect(earliestStart(blocked, { delayMs: 100, concurrency: 4 })).toBe(NOW + 1010)
    const ended = afterEnd(blocked, NOW + 10, 5)
    expect(ended).toMatchObject({ startedAt: NOW + 5, blockedUntil: NOW + 1010 })
    expect(startsAllowed(ended, { delayMs: 0, concurrency: 4 }, NOW + 1009)).toBe(0)
    expect(startsAllowed(ended, { delayMs: 0, concurrency: 4 }, NOW + 1010)).toBe(4)
  })
})

describe('permits', () => {
  it('are good for a tenth of the gap, within bounds', () => {
    expect(permitMs({ delayMs: 1000, concurrency: 1 })).toBe(100)
    expect(permitMs({ delayMs: 10, concurrency: 1 })).toBe(5)
    expect(permitMs({ delayMs: 1e9, concurrency: 1 })).toBe(2000)
    expect(permitMs({ delayMs: 0, concurrency: 1 })).toBe(2000)
  })

  it('treat a rate without burst as a gap', () => {
    expect(permitMs({ delayMs: 0, concurrency: 1, rate: { count: 1, perMs: 1000, burst: 1 } })).toBe(100)
    expect(permitMs({ delayMs: 0, concurrency: 1, rate: { count: 1, perMs: 1000, burst: 5 } })).toBe(2000)
  })
})

describe('an adaptive delay', () => {
  const limits: Limits = { delayMs: 100, concurrency: 4, adaptive: { target: 4, maxDelayMs: 1000 } }

  it('follows the mean latency between its bounds', () => {
    for (const [latency, delayMs] of [
      [0, 100],
      [400, 100],
      [401, 101],
      [2000, 500],
      [1e9, 1000],
    ] as const) {
      expect(adapted(limits, latency)).toEqual({ ...limits, delayMs })
    }
    expect(adapted(limits, null)).toBe(limits)
    expect(adapted(limits, 400)).toBe(limits)
    expect(adapted({ delayMs: 100, concurrency: 4 }, 1e9)).toEqual({ delayMs: 100, concurrency: 4 })
  })

  it('never undercuts a delay above its bound', () => {
    expect(adapted({ ...limits, delayMs: 5000 }, 1e9).delayMs).toBe(5000)
  })

  it('is never less strict than that of any crawl', () => {
    const one = fc.record({ delayMs: fc.nat(500), target: fc.integer({ min: 1, max: 9 }), maxDelayMs: fc.nat(5000) })
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 4 }), fc.nat(20_000), (some, latency) => {
        const all = some.map(({ delayMs, ...adaptive }): Limits => ({ delayMs, concurrency: 1, adaptive }))
        const slowest = Math.max(...all.map((each) => adapted(each, latency).delayMs))
        expect(adapted(strictest(all), latency).delayMs).toBeGreaterThanOrEqual(slowest)
        expect(strictest([...all, { delayMs: 0, concurrency: 1 }])).toEqual(strictest(all))
      }),
    )
  })

  it('gives way to a delay set by hand, not to robots.txt', () => {
    expect(withSettings(limits, { delayMs: 0 })).toEqual({ delayMs: 0, concurrency: 4 })
    expect(withSettings(limits, { floorMs: 200 })).toEqual({ ...limits, delayMs: 200 })
    expect(adapted(withSettings(limits, { floorMs: 200 }), 2000).delayMs).toBe(500)
  })
})

describe('lanes and latency', () => {
  it('make a point of priority worth agingMs of waiting', () => {
    expect(laneScore(NOW, 0, 1000)).toBe(laneScore(NOW + 1000, 1, 1000))
    expect(laneScore(NOW, 1, 1000)).toBeLessThan(laneScore(NOW, 0, 1000))
    expect(laneScore(NOW, 0, 1000)).toBeLessThan(laneScore(NOW + 1, 0, 1000))
  })

  it('close a host to which no way leads, and nothing else', () => {
    const host = afterReport(FRESH_HOST, throttled(1000), NOW, NOW + 100)
    expect(afterReport(host, { kind: 'wait', ms: 5000 }, NOW, NOW + 200)).toEqual({ ...host, blockedUntil: NOW + 5200 })
    for (const ms of [0, -5, 10]) expect(afterReport(host, { kind: 'wait', ms }, NOW, NOW + 200)).toEqual(host)
    expect(afterReport(FRESH_HOST, { kind: 'wait', ms: 1e15 }, NOW, NOW).blockedUntil).toBe(NOW + RETRY_AFTER_CAP_MS)
    expect(meanLatency(70, { kind: 'wait', ms: 5 }, 9000)).toBe(70)
    expect(sentFor({ kind: 'wait', ms: 5 }, 9000)).toBeNull()
  })

  it('mean the recent durations', () => {
    expect(meanLatency(null, { kind: 'ok' }, 100)).toBe(100)
    expect(meanLatency(100, { kind: 'ok' }, 200)).toBe(120)
    expect(meanLatency(100, { kind: 'throttled', retryAfterMs: null }, -5)).toBe(80)
  })

  it('take a failure for a second, for twice the mean or for what it took, whichever is most', () => {
    const failed: HostReport = { kind: 'failed' }
    expect(meanLatency(null, failed, 5)).toBe(1000)
    expect(meanLatency(100, failed, 5)).toBe(280)
    expect(meanLatency(1000, failed, 5)).toBe(1200)
    expect(meanLatency(1000, failed, 6000)).toBe(2000)
    let mean: number | null = 100
    for (let i = 0; i < 10_000; i++) mean = meanLatency(mean, failed, 5)
    expect(mean).toBeCloseTo(60_000)
  })
})
