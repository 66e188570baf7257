import type { Clock, Random } from '../clock.js'
import { describeError, ShoalError } from '../errors.js'
import type { FetchResponse } from '../fetch/fetcher.js'
import type { HostReport, Lease, Outcome } from '../frontier/frontier.js'
import type { Busy } from '../politeness/busy.js'
import { parseRetryAfter } from '../politeness/retry-after.js'
import type { Backoff, RetryPolicy } from '../spider/spider.js'
import type { Link } from '../url/link.js'

/** Links that go back because of our own backends wait, or they would fail in a tight loop. */
const BACKEND_WAIT_MS = 1_000

export const NO_RETRIES: RetryPolicy = { max: 0, backoff: { kind: 'fixed', ms: 0 } }

export interface OutcomeRules {
  readonly retries: RetryPolicy
  readonly maxThrottles: number
}

/** A link that no slot is free for goes back as it was. */
export function busyOutcome(
  { waitMs, closedHost }: Pick<Busy, 'waitMs' | 'closedHost'>,
  { host }: Pick<Link, 'host'>,
): Outcome {
  // The queue hands out no link of a closed host: a wait on top of that would outlast the moment it is opened by hand.
  return { kind: 'back', afterMs: closedHost === host ? 0 : waitMs }
}

/** What becomes of a link whose visit failed. `waitMs` is how long the failure itself asks to wait (robots.txt unreachable, proxies that rest). */
export function outcomeOf(
  error: ShoalError,
  lease: Pick<Lease, 'attempt' | 'throttles'>,
  rules: OutcomeRules,
  random: Random,
  waitMs = 0,
): Outcome {
  const failure = { code: error.code, message: error.message }
  switch (error.next) {
    case 'skipped':
      return { kind: 'skipped', failure }
    case 'dead':
    case 'stop':
      // `stop` is for commands. In a visit it is a defect, and a page must always end.
      return error.code === 'internal' ? retryOrDead(failure, lease, rules, random) : { kind: 'dead', failure }
    case 'backend':
      return { kind: 'back', afterMs: error.code === 'aborted' ? 0 : Math.max(waitMs, BACKEND_WAIT_MS) }
    case 'throttle':
      if (lease.throttles >= rules.maxThrottles) return { kind: 'dead', failure }
      return { kind: 'retry', afterMs: waitMs, failure, countsAsAttempt: false }
    case 'retry':
      return retryOrDead(failure, lease, rules, random, waitMs)
  }
}

function retryOrDead(
  failure: { code: ShoalError['code']; message: string },
  lease: Pick<Lease, 'attempt'>,
  { retries }: OutcomeRules,
  random: Random,
  waitMs = 0,
): Outcome {
  if (lease.attempt > retries.max) return { kind: 'dead', failure }
  const afterMs = Math.max(waitMs, backoffMs(retries.backoff, lease.attempt, random))
  return { kind: 'retry', afterMs, failure, countsAsAttempt: true }
}

/** The wait before retry number `retry` (1 is the first). A list shorter than the number of retries repeats its last interval. */
export function backoffMs(backoff: Backoff, retry: number, random: Random): number {
  switch (backoff.kind) {
    case 'fixed':
      return backoff.ms
    case 'list':
      return backoff.ms[Math.min(retry, backoff.ms.length) - 1] ?? 0
    case 'exponential': {
      const full = Math.min(backoff.capMs, backoff.baseMs * 2 ** (retry - 1))
      return Math.round(full * (1 - backoff.jitter * random()))
    }
  }
}

/** The error for a status other than 2xx; null for a page. */
export function statusError(status: number): ShoalError | null {
  if (status >= 200 && status < 300) return null
  if (status === 429 || status === 503) return new ShoalError('throttled', `the server answered ${status}`)
  if (status >= 500) return new ShoalError('server_error', `the server answered ${status}`)
  return new ShoalError('http_error', `the server answered ${status}`)
}

/** Frees the slot and says nothing about the host. */
export const NO_NEWS: HostReport = { kind: 'wait', ms: 0 }

/**
 * How the host did when the request failed. A failure on our side, or before anything was sent, says nothing about it. Nor does that of a robots.txt slow
 * the host down: it has waits of its own, and the links that wait for it send nothing.
 */
export function failureReport({ code, next }: ShoalError, isRobots = false): HostReport {
  if (isRobots) return NO_NEWS
  const { failedAt } = describeError(code)
  // The host did respond; the response is too large or malformed, or the user's own code fails on it.
  if (failedAt === 'response' || failedAt === 'handler') return { kind: 'ok' }
  const unasked = next === 'backend' || next === 'dead' || next === 'skipped'
  return unasked || failedAt === 'proxy' || failedAt === 'browser' ? NO_NEWS : { kind: 'failed' }
}

/** How the host did, reported as soon as the body is read. */
export function hostReport(response: FetchResponse, clock: Clock): HostReport {
  if (response.status === 429 || response.status === 503) {
    return { kind: 'throttled', retryAfterMs: parseRetryAfter(response.headers['retry-after'], clock.now()) }
  }
  return response.status >= 500 ? { kind: 'failed' } : { kind: 'ok' }
}
