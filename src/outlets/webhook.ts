import { createHash, createHmac } from 'node:crypto'
import type { Clock } from '../clock.js'
import { asShoalError, type ErrorCode } from '../errors.js'
import type { Fetcher, FetchResponse } from '../fetch/fetcher.js'
import { parseRetryAfter } from '../politeness/retry-after.js'
import type { StoredRecord } from '../store/record-store.js'
import { version } from '../version.js'
import type { WebhookOutlet } from './outlet.js'
import type { Sent, Sink } from './sink.js'

/** Larger batches go in parts: many servers take no more. One record may be larger, and goes alone. */
const PART_BYTES = 1024 * 1024
const CONNECT_MS = 10_000
const ANSWER_BYTES = 1024 * 1024
const ANSWER_HEADER_BYTES = 64 * 1024
/** Of the answer of a sink that refuses, as much as helps. */
const SHOWN_LENGTH = 200

/** Not the sink's fault, and not to be mended by waiting. */
const NEVER: ReadonlySet<ErrorCode> = new Set(['private_address', 'blocked_port', 'bad_url', 'bad_scheme', 'too_large'])
/** Client errors that pass: timeout, too early, too many requests. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429])

/** POST of JSON, signed with the secret if there is one (docs/outlets.md). */
export function webhookSink(
  outlet: WebhookOutlet,
  { fetcher, clock, secret }: { fetcher: Fetcher; clock: Clock; secret: string | null },
): Sink {
  const limits = {
    ...{ totalMs: outlet.timeoutMs, connectMs: CONNECT_MS, headersMs: outlet.timeoutMs, idleMs: outlet.timeoutMs },
    ...{ maxHeaderBytes: ANSWER_HEADER_BYTES, maxBodyBytes: ANSWER_BYTES },
  }

  const post = async (body: string, signal: AbortSignal): Promise<Sent> => {
    const timestamp = String(Math.floor(clock.now() / 1000))
    const headers = {
      'content-type': 'application/json',
      'user-agent': `Shoal/${version}`,
      'shoal-outlet': outlet.name,
      'shoal-timestamp': timestamp,
      // The same when the same batch is sent again.
      'idempotency-key': createHash('sha256').update(body).digest('hex').slice(0, 32),
      ...(secret !== null && { 'shoal-signature': `v1=${signatureOf(secret, timestamp, body)}` }),
    }
    const request = { url: outlet.url, method: 'POST', headers, body, limits, allowPrivate: outlet.allowPrivate }
    try {
      return readAnswer(await fetcher.fetch(request, signal), clock.now())
    } catch (thrown) {
      const { code, message } = asShoalError(thrown)
      return { kind: NEVER.has(code) ? 'refused' : 'away', message: `${code}: ${message}` }
    }
  }

  return {
    async send({ records }, signal) {
      for (const body of bodiesOf(outlet.name, records)) {
        const sent = await post(body, signal)
        if (sent.kind !== 'taken') return sent
      }
      return { kind: 'taken', trimmed: 0 }
    },
    close: async () => {},
  }
}

/** HMAC-SHA256 in hex over timestamp, dot and body. */
export function signatureOf(secret: string, timestamp: string, body: string): string {
  return createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')
}

function* bodiesOf(name: string, records: readonly StoredRecord[]): Generator<string> {
  const body = (texts: readonly string[]) => `{"outlet":${JSON.stringify(name)},"records":[${texts.join(',')}]}`
  let texts: string[] = []
  let bytes = 0
  for (const record of records) {
    const text = JSON.stringify(record)
    const length = Buffer.byteLength(text)
    if (texts.length > 0 && bytes + length > PART_BYTES) {
      yield body(texts)
      texts = []
      bytes = 0
    }
    texts.push(text)
    bytes += length
  }
  yield body(texts)
}

function readAnswer({ status, headers, body }: FetchResponse, now: number): Sent {
  if (status >= 200 && status < 300) return { kind: 'taken', trimmed: 0 }
  const message = `it answers ${status}`
  if (status >= 500 || PASSING.has(status)) {
    const retryAfterMs = parseRetryAfter(headers['retry-after'], now)
    return { kind: 'away', message, ...(retryAfterMs !== null && { retryAfterMs }) }
  }
  if (status < 400) return { kind: 'refused', message: `${message}: a redirect is not followed, write where it leads` }
  const said = new TextDecoder().decode(body.subarray(0, SHOWN_LENGTH)).replace(/\s+/g, ' ').trim()
  return { kind: 'refused', message: said === '' ? message : `${message}: ${said}` }
}
