import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { exp, ln, lognormalTable, spread } from '../../src/simulate/chance.js'
import { IndexedHeap } from '../../src/simulate/heap.js'
import { profileOf } from '../../src/simulate/profile.js'
import { simulate } from '../../src/simulate/simulate.js'

const MIXED = {
  ...{ urls: 5_000, hosts: 200, workers: 3, seed: 7 },
  failures: { serverErrors: 0.05, timeouts: 0.01, hostsDown: 0.05 },
  rateLimits: { hosts: 0.2, above: '2/s', retryAfter: '3s' },
  proxies: { count: 5, banned: 0.02, broken: 0.2 },
} as const

function fingerprint(seed: number): string {
  return createHash('sha256')
    .update(JSON.stringify(simulate(profileOf({ ...MIXED, seed }))))
    .digest('hex')
    .slice(0, 16)
}

test('the same seed gives the same bytes, another seed others', () => {
  expect(fingerprint(7)).toBe(fingerprint(7))
  expect(fingerprint(8)).not.toBe(fingerprint(7))
})

test('every link ends exactly once, whatever fails', () => {
  fc.assert(
    fc.property(
      fc.record({
        urls: fc.integer({ min: 1, max: 300 }),
        hosts: fc.integer({ min: 1, max: 20 }),
        seed: fc.integer({ min: 0, max: 1_000 }),
        errors: fc.double({ min: 0, max: 0.4, noNaN: true }),
        down: fc.double({ min: 0, max: 1, noNaN: true }),
        proxies: fc.option(fc.integer({ min: 1, max: 4 })),
        limited: fc.double({ min: 0, max: 1, noNaN: true }),
        workers: fc.integer({ min: 1, max: 4 }),
      }),
      ({ urls, hosts, seed, errors, down, proxies, limited, workers }) => {
        const result = simulate(
          profileOf({
            ...{ urls: Math.max(urls, hosts), hosts, seed, workers, seeds: 'all' },
            failures: { serverErrors: errors, hostsDown: down },
            rateLimits: { hosts: limited, above: '1/s' },
            ...(proxies !== null && { proxies: { count: proxies, banned: 0.1, broken: 0.3 } }),
          }),
        )
        expect(result.complete).toBe(true)
        // Proxies none of which works.
        if (result.endedBy === 'stalled') expect(proxies).not.toBeNull()
        else expect(result.pages.done + result.pages.dead).toBe(Math.max(urls, hosts))
      },
    ),
    { numRuns: 30 },
  )
})

test('exp and ln are those of mathematics', () => {
  for (let x = -20; x <= 20; x += 0.37) expect(exp(x) / Math.exp(x)).toBeCloseTo(1, 12)
  for (let x = 0.001; x < 1e6; x *= 1.7) expect(ln(x)).toBeCloseTo(Math.log(x), 12)
})

test('a lognormal table has its median and its tail', () => {
  const table = lognormalTable(4)
  expect(table[2_048]).toBeCloseTo(1, 2)
  expect(table[Math.floor(4_096 * 0.95)]).toBeCloseTo(4, 1)
})

test('URLs are spread over hosts without a remainder', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 500 }),
      fc.integer({ min: 0, max: 100_000 }),
      fc.double({ min: 0, max: 3, noNaN: true }),
      (hosts, more, zipf) => {
        const shares = spread(hosts + more, hosts, zipf)
        expect(shares.reduce((all, one) => all + one, 0)).toBe(hosts + more)
        expect(Math.min(...shares)).toBeGreaterThanOrEqual(1)
      },
    ),
  )
})

test('the heap answers in order, whatever was moved and removed', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: -1, max: 20 })), { maxLength: 200 }),
      (steps) => {
        const heap = new IndexedHeap(4)
        const model = new Map<number, number>()
        for (const [id, key] of steps) {
          if (key < 0) {
            heap.remove(id)
            model.delete(id)
          } else {
            heap.set(id, key)
            model.set(id, key)
          }
        }
        const wanted = [...model].sort(([a, first], [b, second]) => first - second || a - b).map(([id]) => id)
        const got: number[] = []
        while (heap.size > 0) got.push(heap.pop())
        expect(got).toEqual(wanted)
      },
    ),
  )
})
