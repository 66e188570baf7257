import { describe, expect, it } from 'vitest'
import { type Ending, rateOf, resumeMark } from '../../src/frontier/rate.js'

const START = 1_700_000_000_000

/** Endings at these milliseconds after the start, by the second. */
function endingsAt(times: readonly number[]): Ending[] {
  const counts = new Map<number, number>()
  for (const ms of times) {
    const second = Math.floor((START + ms) / 1000)
    counts.set(second, (counts.get(second) ?? 0) + 1)
  }
  return [...counts].map(([second, count]) => ({ second, count }))
}

function every(ms: number, from: number, to: number): number[] {
  return Array.from({ length: Math.floor((to - from) / ms) }, (_, n) => from + (n + 1) * ms)
}

const at = (ms: number, times: readonly number[], since = 0) =>
  rateOf(endingsAt(times.filter((time) => time <= ms)), { since: START + since, now: START + ms })

describe('the rate of a crawl', () => {
  it('is unknown, and shown as 0, before the first lease', () => {
    expect(rateOf([], { since: null, now: START })).toBe(0)
  })

  it.each([100, 250, 1_000, 2_000])('is steady at one page every %d ms', (ms) => {
    const times = every(ms, 0, 120_000)
    for (let now = 12_000; now < 100_000; now += 333) {
      const rate = at(now, times)
      expect(rate, `after ${now} ms`).toBeGreaterThan((0.85 * 1000) / ms)
      expect(rate, `after ${now} ms`).toBeLessThan((1.15 * 1000) / ms)
    }
  })

  it.each([3_000, 5_000, 8_000, 15_000, 25_000])('does not flicker at one page every %d ms', (ms) => {
    const times = every(ms, 0, 400_000)
    for (let now = 60_000; now < 300_000; now += 500) {
      const rate = at(now, times)
      expect(rate, `after ${now} ms`).toBeGreaterThan((0.85 * 1000) / ms)
      expect(rate, `after ${now} ms`).toBeLessThan((1.15 * 1000) / ms)
    }
  })

  it.each([10, 100, 1_000, 2_000, 3_000])('is 0 ten seconds after the last of pages that came every %d ms', (ms) => {
    const times = every(ms, 0, 60_000)
    expect(at(61_000, times)).toBeGreaterThan(0)
    for (let now = 70_000; now < 200_000; now += 1_000) expect(at(now, times), `after ${now} ms`).toBe(0)
  })

  it.each([5_000, 10_000, 15_000])('is 0 after three of the usual intervals of %d ms', (ms) => {
    const times = every(ms, 0, 60_000)
    expect(at(60_000 + 2.5 * ms, times)).toBeGreaterThan(0)
    expect(at(61_000 + 3 * ms, times)).toBe(0)
  })

  it('is right within seconds of a new beginning, whatever was before', () => {
    const times = [...every(100, 0, 20_000), ...every(500, 320_000, 400_000)]
    for (let now = 322_000; now < 340_000; now += 500) {
      expect(at(now, times, 320_000), `after ${now} ms`).toBeGreaterThan(1.6)
      expect(at(now, times, 320_000), `after ${now} ms`).toBeLessThan(2.6)
    }
  })

  it('does not count the time that workers need to start', () => {
    const times = every(50, 4_000, 60_000)
    for (let now = 5_500; now < 20_000; now += 500) {
      expect(at(now, times), `after ${now} ms`).toBeGreaterThan(17)
      expect(at(now, times), `after ${now} ms`).toBeLessThan(23)
    }
  })

  it('counts from a resume', () => {
    const resumed = resumeMark(START + 320_000)
    const endings = [...endingsAt([...every(100, 0, 20_000), ...every(500, 320_000, 324_000)]), resumed]
    expect(rateOf(endings, { since: START, now: START + 324_000 })).toBeCloseTo(2, 0)
  })

  it('is right again within seconds after a stall', () => {
    const times = [...every(125, 0, 30_000), ...every(125, 42_000, 80_000)]
    expect(at(41_000, times)).toBe(0)
    for (let now = 44_000; now < 60_000; now += 500) {
      expect(at(now, times), `after ${now} ms`).toBeGreaterThan(6.5)
      expect(at(now, times), `after ${now} ms`).toBeLessThan(9.5)
    }
  })

  it('falls as pages take longer, without a jump to 0 and back', () => {
    const times = [...every(500, 0, 30_000), ...every(6_000, 30_000, 120_000)]
    const rates = every(1_000, 30_000, 90_000).map((now) => at(now, times))
    expect(Math.min(...rates)).toBeGreaterThan(0.1)
    expect(rates.at(-1)).toBeCloseTo(1 / 6, 1)
  })

  it('ignores endings of the future: the clocks of two shards differ', () => {
    expect(rateOf([{ second: Math.floor(START / 1000) + 5, count: 9 }], { since: START, now: START + 2_000 })).toBe(0)
  })
})
