import { expect, it } from 'vitest'
import type { RetryPolicy } from '../../src/spider/spider.js'
import { retryWaits, robotsWaitMs } from '../../src/worker/retry-waits.js'

const list = (max: number, ...ms: [number, ...number[]]): { retries: RetryPolicy } => ({
  retries: { max, backoff: { kind: 'list', ms } },
})
const exponential = {
  retries: { max: 3, backoff: { kind: 'exponential', baseMs: 1_000, capMs: 300_000, jitter: 0.5 } },
} as const

it('lists the waits of the most patient route at their longest', () => {
  expect(retryWaits([exponential])).toEqual([1_000, 2_000, 4_000])
  expect(retryWaits([list(1, 50), list(3, 10, 20)])).toEqual([50])
  expect(retryWaits([list(0, 50)])).toEqual([])
  expect(retryWaits([])).toEqual([])
  expect(retryWaits([list(1_000, 1)])).toHaveLength(20)
})

it('asks for robots.txt as the least patient route retries, and not ever more seldom', () => {
  expect([1, 2, 3, 4, 90].map((failures) => robotsWaitMs([exponential], failures))).toEqual([
    1_000, 2_000, 4_000, 4_000, 4_000,
  ])
  expect(robotsWaitMs([list(3, 5_000), list(3, 200)], 2)).toBe(200)
  expect(robotsWaitMs([list(0, 70)], 5)).toBe(70)
  expect(robotsWaitMs([], 1)).toBe(0)
})
