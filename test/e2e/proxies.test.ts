import { describe, expect, it } from 'vitest'
import { runProxies } from './proxies.js'

/** The short form of `npm run proxies`. */
describe('a fleet behind proxies', () => {
  it('keeps the pace of each address; more proxies make it faster', async () => {
    const few = await runProxies({ workers: 2, proxies: 2, delayMs: 1_000, seconds: 6, redis: false })
    const many = await runProxies({ workers: 2, proxies: 6, delayMs: 1_000, seconds: 6, redis: false })
    expect(few.violations + many.violations).toBe(0)
    expect([few.addresses, many.addresses]).toEqual([2, 6])
    // Never more than the addresses allow, whatever the number of workers.
    expect(few.pagesPerMinute).toBeLessThanOrEqual(1.2 * 2 * 60)
    expect(many.pagesPerMinute).toBeGreaterThan(2 * few.pagesPerMinute)
    expect(few.failedAttempts + many.failedAttempts).toBe(0)
  }, 120_000)

  it('tries a bad proxy a few times, all workers together, and burns no attempt', async () => {
    const report = await runProxies({
      ...{ workers: 2, proxies: 8, dead: 3, banned: 2, delayMs: 1_000, seconds: 6, redis: true },
    })
    expect(report.violations).toBe(0)
    expect(Math.max(...report.badTries)).toBeLessThanOrEqual(3)
    expect(report.failedAttempts).toBe(0)
    expect(report.deadLetters).toBe(0)
    expect(report.requests.filter((ok) => ok).length).toBeGreaterThan(10)
  }, 120_000)
})
