import { expect, test } from 'vitest'
import { profileOf } from '../../src/simulate/profile.js'
import type { ProfileInput } from '../../src/simulate/profile-schema.js'
import { simulate } from '../../src/simulate/simulate.js'

/** Crawls whose end can be computed by hand. Nothing fails, nothing costs CPU, and the queue answers at once. */
const CALM: ProfileInput = {
  seeds: 'all',
  latency: { median: '100ms', p95: '100ms', hostsP95: 1 },
  failures: { serverErrors: 0, timeouts: 0, connections: 0, notFound: 0, hostsDown: 0 },
  robots: { enabled: false },
  page: { cpu: 0 },
  queue: { call: 0 },
}

function endOf(input: ProfileInput): number {
  return simulate(profileOf({ ...CALM, ...input })).endMs
}

/** The queue's server needs 30 µs for each link, which a closed form leaves out. */
const CLOSE_MS = 10

test('one host with a delay: (n − 1) delays and one response', () => {
  expect(endOf({ urls: 100, hosts: 1, pace: { delay: '1s' } })).toBeCloseTo(99_100, -1)
})

test('a token bucket: its burst at once, then one per interval', () => {
  const endMs = endOf({ urls: 105, hosts: 1, pace: { rate: '10/s', burst: 5, concurrency: 100 }, concurrency: 200 })
  expect(Math.abs(endMs - (100 * 100 + 100))).toBeLessThan(CLOSE_MS)
})

test('concurrency: as many at once as the host takes', () => {
  const endMs = endOf({ urls: 400, hosts: 1, pace: { delay: 0, concurrency: 4 } })
  expect(Math.abs(endMs - 100 * 100)).toBeLessThan(CLOSE_MS)
})

test('k workers with c slots each: k · c ÷ latency once they have all their slots', () => {
  const urls = 100_000
  const result = simulate(
    profileOf({
      ...CALM,
      urls,
      hosts: 1_000,
      zipf: 0,
      pace: { delay: 0, concurrency: 100 },
      workers: 4,
      concurrency: 32,
    }),
  )
  // 4 · 32 slots of 0.1 s: 1,280 pages/s. The slots double from 4 to 32 in the first second.
  expect(result.pagesPerSecond.mean).toBeGreaterThan(1_280 * 0.97)
  expect(result.pagesPerSecond.mean).toBeLessThan(1_281)
  expect(result.limits[0]?.limit).toBe('workers')
})

test('CPU: one worker handles 1 ÷ CPU pages per second, whatever its slots', () => {
  const result = simulate(
    profileOf({
      ...CALM,
      urls: 50_000,
      hosts: 500,
      zipf: 0,
      pace: { delay: 0, concurrency: 100 },
      page: { cpu: '2ms' },
    }),
  )
  expect(result.pagesPerSecond.mean).toBeGreaterThan(450)
  expect(result.pagesPerSecond.mean).toBeLessThanOrEqual(500)
  expect(result.limits[0]?.limit).toBe('cpu')
})

test('Retry-After: a host that lets through one request per second is asked again when it said', () => {
  const result = simulate(
    profileOf({
      ...{ ...CALM, urls: 20, hosts: 1, pace: { delay: '100ms', adaptive: false } },
      rateLimits: { hosts: 1, above: '1/s', retryAfter: '5s' },
    }),
  )
  expect(result.throttled).toBeGreaterThan(0)
  expect(result.pages.done).toBe(20)
  // Every page but the first is refused once, and costs the five seconds that the host asks for.
  expect(result.endMs).toBeGreaterThan(19 * 5_000)
  expect(result.endMs).toBeLessThan(20 * 5_500)
})

test('a crawl delay of robots.txt is kept, and robots.txt is read first', () => {
  const endMs = endOf({ urls: 20, hosts: 1, robots: { enabled: true, hosts: 1, delay: '3s' } })
  expect(endMs).toBeGreaterThanOrEqual(20 * 3_000)
  expect(endMs).toBeLessThan(21 * 3_000 + 500)
})

test('proxies: each keeps the pace, so ten of them are ten times as fast', () => {
  const alone = endOf({ urls: 2_000, hosts: 1, pace: { delay: '1s' } })
  const ten = endOf({ urls: 2_000, hosts: 1, pace: { delay: '1s' }, proxies: { count: 10 } })
  expect(alone / ten).toBeGreaterThan(9.5)
  expect(alone / ten).toBeLessThan(10.5)
})

test('a host that is down costs retries, not the crawl', () => {
  const result = simulate(
    profileOf({
      ...CALM,
      urls: 50,
      hosts: 1,
      failures: { hostsDown: 1 },
      robots: { enabled: true },
      pace: { delay: '1s' },
    }),
  )
  expect(result.pages).toMatchObject({ done: 0, dead: 50 })
})

test('a budget of time ends it, and links stay', () => {
  const result = simulate(profileOf({ ...CALM, urls: 1_000, hosts: 1, budget: { time: '10s' } }))
  expect(result.endedBy).toBe('budget_time')
  expect(result.endMs).toBeGreaterThanOrEqual(10_000)
  expect(result.endMs).toBeLessThan(11_100)
})

test('a budget of pages per host refuses the rest', () => {
  const result = simulate(profileOf({ ...CALM, urls: 100, hosts: 2, zipf: 0, budget: { pagesPerHost: 10 } }))
  expect(result.pages).toMatchObject({ done: 20, refused: 80 })
})

test('one start URL: everything is found, level by level', () => {
  const result = simulate(profileOf({ ...CALM, seeds: 1, urls: 1_000, hosts: 10, zipf: 0, links: { newPerPage: 10 } }))
  expect(result.pages).toMatchObject({ done: 1_000, neverFound: 0 })
})

test('rendered pages wait for a tab', () => {
  const result = simulate(
    profileOf({
      ...{ ...CALM, urls: 400, hosts: 100, zipf: 0, pace: { delay: 0 } },
      render: { share: 1, time: '1s', tabs: 4 },
    }),
  )
  expect(result.endMs).toBeGreaterThanOrEqual(100_000)
  expect(result.endMs).toBeLessThan(102_000)
})

test('a network card is shared by all pages of its worker', () => {
  const result = simulate(
    profileOf({
      ...CALM,
      urls: 1_000,
      hosts: 100,
      zipf: 0,
      pace: { delay: 0 },
      page: { cpu: 0, bytes: 100_000 },
      bandwidth: '1mb',
    }),
  )
  expect(Math.abs(result.endMs - (1_000 * 100_000) / 1_048.576)).toBeLessThan(1_500)
})
