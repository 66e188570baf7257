import type { Clock } from '../clock.js'
import { asShoalError, describeError } from '../errors.js'
import type { Fetcher, FetchResponse } from '../fetch/fetcher.js'
import { parseRetryAfter } from '../politeness/retry-after.js'
import { version } from '../version.js'
import type { Sent } from './sink.js'
import { type SignedWebhook, webhookHeaders } from './webhook-signature.js'

const CONNECT_MS = 10_000
const ANSWER_BYTES = 1024 * 1024
const ANSWER_HEADER_BYTES = 64 * 1024
/** How much of the response of a sink that refuses is shown. */
const SHOWN_LENGTH = 200

/** Client errors that are temporary: timeout, too early, too many requests. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429])

export interface WebhookPost extends SignedWebhook {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** 'host:port' entries that the guard lets through. */
  readonly allowPrivate: readonly string[]
}

/** One signed POST of JSON to somebody else's server, through the guard against private addresses, and what its answer means. */
export async function postWebhook(
  { url, headers, timeoutMs, allowPrivate, ...signed }: WebhookPost,
  { fetcher, clock }: { readonly fetcher: Fetcher; readonly clock: Clock },
  signal: AbortSignal,
): Promise<Sent> {
  const limits = {
    ...{ totalMs: timeoutMs, connectMs: CONNECT_MS, headersMs: timeoutMs, idleMs: timeoutMs },
    ...{ maxHeaderBytes: ANSWER_HEADER_BYTES, maxBodyBytes: ANSWER_BYTES },
  }
  const own = { 'content-type': 'application/json', 'user-agent': `Shoal/${version}` }
  const all = { ...own, ...headers, ...webhookHeaders(signed, clock.now()) }
  const { body } = signed
  try {
    const response = await fetcher.fetch({ url, method: 'POST', headers: all, body, limits, allowPrivate }, signal)
    return readAnswer(response, clock.now())
  } catch (thrown) {
    const { code, message } = asShoalError(thrown)
    // Waiting does not change an address that the guard refuses, nor a response that is too large.
    const final = describeError(code).failedAt === 'guard' || code === 'too_large'
    return { kind: final ? 'refused' : 'down', message: `${code}: ${message}` }
  }
}

function readAnswer({ status, headers, body }: FetchResponse, now: number): Sent {
  if (status >= 200 && status < 300) return { kind: 'taken', trimmed: 0 }
  const message = `it answers ${status}`
  if (status >= 500 || PASSING.has(status)) {
    const retryAfterMs = parseRetryAfter(headers['retry-after'], now)
    return { kind: 'down', message, ...(retryAfterMs !== null && { retryAfterMs }) }
  }
  if (status < 400) return { kind: 'refused', message: `${message}: a redirect is not followed, write where it leads` }
  const said = new TextDecoder().decode(body.subarray(0, SHOWN_LENGTH)).replace(/\s+/g, ' ').trim()
  return { kind: 'refused', message: said === '' ? message : `${message}: ${said}` }
}
