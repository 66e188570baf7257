import { systemClock } from '../../src/clock.js'
import { ShoalError } from '../../src/errors.js'
import type { Fetcher, FetchLimits, FetchRequest, FetchResponse } from '../../src/fetch/fetcher.js'
import { createHttpFetcher } from '../../src/fetch/http/http-fetcher.js'

export const LIMITS: FetchLimits = {
  totalMs: 8_000,
  connectMs: 5_000,
  headersMs: 6_000,
  idleMs: 6_000,
  maxHeaderBytes: 16_384,
  maxBodyBytes: 10 << 20,
}

export const LOOPBACK = ['127.0.0.1:*', 'localhost:*']

export const never: AbortSignal = new AbortController().signal

export function newFetcher(): Fetcher {
  return createHttpFetcher({ clock: systemClock, userAgent: 'Shoal-test', http2: true })
}

export function get(
  fetcher: Fetcher,
  url: string,
  limits: Partial<FetchLimits> = {},
  more: Partial<FetchRequest> = {},
): Promise<FetchResponse> {
  return fetcher.fetch({ url, limits: { ...LIMITS, ...limits }, allowPrivate: LOOPBACK, ...more }, never)
}

/** The code a promise fails with, or 'ok'. Anything but a ShoalError is a failed test. */
export async function codeOf(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt
    return 'ok'
  } catch (error) {
    if (error instanceof ShoalError) return error.code
    throw error
  }
}
