import type { Backoff, RetryPolicy } from '../spider/spider.js'
import { backoffMs, NO_RETRIES } from './outcome.js'

type Routes = Iterable<{ readonly retries: RetryPolicy }>

/**
 * When a robots.txt that cannot be read is requested again: as the least patient route retries its pages. After its last retry the wait stays the same, so
 * that a link that is leased later waits no longer in total.
 */
export function robotsWaitMs(routes: Routes, failures: number): number {
  const waits = [...routes].map(({ retries: { max, backoff } }) =>
    longestMs(backoff, Math.max(1, Math.min(failures, max))),
  )
  return waits.length === 0 ? 0 : Math.min(...waits)
}

/** The waits before each retry of a link, at their longest; the most patient route counts. At most WAITS_SHOWN of them, for people. */
export function retryWaits(routes: Routes): number[] {
  const patient = [...routes].reduce<RetryPolicy>(
    (most, { retries }) => (totalMs(retries) > totalMs(most) ? retries : most),
    NO_RETRIES,
  )
  return waitsOf(patient)
}

/** More retries than anybody waits for. */
const WAITS_SHOWN = 20

function waitsOf({ max, backoff }: RetryPolicy): number[] {
  return Array.from({ length: Math.min(max, WAITS_SHOWN) }, (_, index) => longestMs(backoff, index + 1))
}

function totalMs(retries: RetryPolicy): number {
  return waitsOf(retries).reduce((all, ms) => all + ms, 0)
}

function longestMs(backoff: Backoff, retry: number): number {
  return backoffMs(backoff, retry, () => 0)
}
