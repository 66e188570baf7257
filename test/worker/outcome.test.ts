import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.js'
import { type ErrorCode, ShoalError } from '../../src/errors.js'
import type { FetchResponse } from '../../src/fetch/fetcher.js'
import { backoffMs, busyOutcome, failureReport, hostReport, outcomeOf, statusError } from '../../src/worker/outcome.js'

const RULES = { retries: { max: 3, backoff: { kind: 'list', ms: [1_000, 10_000, 60_000] } }, maxThrottles: 2 } as const
const half = () => 0.5

function outcome(code: ErrorCode, lease: { attempt?: number; throttles?: number } = {}, waitMs?: number) {
  return outcomeOf(new ShoalError(code, 'because'), { attempt: 1, throttles: 0, ...lease }, RULES, half, waitMs)
}

it.each([
  ['its own host, which the queue keeps closed, with no wait on top', 'site.test', 0],
  ['another host', 'other.test', 7_000],
  ['a reason that the queue does not know', null, 7_000],
])('a link goes back as it was for %s', (_what, closedHost, afterMs) => {
  expect(busyOutcome({ waitMs: 7_000, closedHost }, { host: 'site.test' })).toEqual({ kind: 'back', afterMs })
})

describe('what becomes of a visit that failed', () => {
  it('retries what may work later, max times, with the intervals of the list', () => {
    const waits = [1, 2, 3].map((attempt) => outcome('timeout', { attempt }))
    expect(waits.map((one) => one.kind === 'retry' && one.afterMs)).toEqual([1_000, 10_000, 60_000])
    expect(outcome('timeout', { attempt: 4 }).kind).toBe('dead')
  })

  it('keeps code and message of the error', () => {
    expect(outcome('server_error')).toMatchObject({ failure: { code: 'server_error', message: 'because' } })
  })

  it('gives up at once on what will not work', () => {
    for (const code of ['http_error', 'too_large', 'tls_error', 'private_address'] as const) {
      expect(outcome(code).kind).toBe('dead')
    }
  })

  it('skips what must not be fetched', () => {
    expect(outcome('robots_disallowed').kind).toBe('skipped')
  })

  it('burns no attempt when the host asks for time, until it has asked too often', () => {
    expect(outcome('throttled', { attempt: 4 })).toMatchObject({ kind: 'retry', countsAsAttempt: false, afterMs: 0 })
    expect(outcome('throttled', { throttles: 2 }).kind).toBe('dead')
  })

  it('retries a site whose robots.txt cannot be read as often as its pages, and no sooner than it is requested again', () => {
    expect(outcome('robots_unreachable', {}, 30_000)).toMatchObject({
      ...{ kind: 'retry', countsAsAttempt: true, afterMs: 30_000 },
    })
    expect(outcome('robots_unreachable', {}, 10)).toMatchObject({ afterMs: 1_000 })
    expect(outcome('robots_unreachable', { attempt: 4 }, 30_000).kind).toBe('dead')
  })

  it('burns nothing when our own backends fails', () => {
    expect(outcome('no_sockets', { attempt: 9 })).toEqual({ kind: 'back', afterMs: 1_000 })
    expect(outcome('aborted')).toEqual({ kind: 'back', afterMs: 0 })
  })

  it('ends even a defect of ours: retried, then dead', () => {
    expect(outcome('internal').kind).toBe('retry')
    expect(outcome('internal', { attempt: 4 }).kind).toBe('dead')
  })
})

describe('backoff', () => {
  it('repeats the last interval of a list that is too short', () => {
    expect(backoffMs({ kind: 'list', ms: [1, 5] }, 9, half)).toBe(5)
  })

  it('doubles up to the cap, with jitter downwards only', () => {
    const backoff = { kind: 'exponential', baseMs: 1_000, capMs: 5_000, jitter: 0.5 } as const
    expect([1, 2, 3, 4].map((retry) => backoffMs(backoff, retry, () => 0))).toEqual([1_000, 2_000, 4_000, 5_000])
    expect(backoffMs(backoff, 4, () => 0.999)).toBeGreaterThanOrEqual(2_500)
  })
})

describe('statuses', () => {
  it('sorts them', () => {
    const codes = [200, 204, 206, 304, 404, 410, 429, 500, 503].map((status) => statusError(status)?.code ?? 'page')
    expect(codes).toEqual([
      'page',
      'page',
      'page',
      'http_error',
      'http_error',
      'http_error',
      'throttled',
      'server_error',
      'throttled',
    ])
  })

  it('reports to the queue how the host did', () => {
    const response = (status: number, headers = {}): FetchResponse => ({
      url: 'http://a.test/',
      status,
      headers,
      cookies: [],
      body: new Uint8Array(),
      wireBytes: 0,
      ms: 1,
    })
    expect(hostReport(response(200), systemClock)).toEqual({ kind: 'ok' })
    expect(hostReport(response(404), systemClock)).toEqual({ kind: 'ok' })
    expect(hostReport(response(500), systemClock)).toEqual({ kind: 'failed' })
    expect(hostReport(response(429, { 'retry-after': '120' }), systemClock)).toEqual({
      kind: 'throttled',
      retryAfterMs: 120_000,
    })
    expect(hostReport(response(503), systemClock)).toEqual({ kind: 'throttled', retryAfterMs: null })
    for (const code of ['timeout', 'connect_error', 'truncated'] as const)
      expect(failureReport(new ShoalError(code, ''))).toEqual({ kind: 'failed' })
    for (const code of ['too_large', 'decode_error', 'handler_error'] as const)
      expect(failureReport(new ShoalError(code, ''))).toEqual({ kind: 'ok' })
    // Nobody was asked, or the trouble is ours.
    for (const code of ['private_address', 'dns_not_found', 'aborted', 'no_sockets', 'proxy_error'] as const)
      expect(failureReport(new ShoalError(code, ''))).toEqual({ kind: 'wait', ms: 0 })
  })
})
