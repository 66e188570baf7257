import type { Clock } from '../clock.js'
import { asShoalError, describeError } from '../errors.js'
import type { Fetcher, ResponseHead, StopSignal } from '../fetch/fetcher.js'
import { parseRetryAfter } from '../politeness/retry-after.js'
import { version } from '../version.js'
import type { Sent } from './sink.js'
import { type SignedWebhook, webhookHeaders } from './webhook-signature.js'

const CONNECT_MS = 10_000
const ANSWER_BYTES = 1024 * 1024
const ANSWER_HEADER_BYTES = 64 * 1024
/** The status is the answer. The body is awaited for this long, so that the connection can be used again. */
const BODY_MS = 1_000
/** How much of the response of a sink that refuses is shown. More is read: a secret that is cut in two could not be recognised. */
const SHOWN_LENGTH = 200
const READ_BYTES = 4_096
/** Shorter parts of an address are words such as `hooks`. */
const SHORTEST_SECRET = 6

/** Client errors that are temporary: timeout, too early, too many requests. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429])

export interface WebhookPost extends SignedWebhook {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** 'host:port' entries that the guard lets through. */
  readonly allowPrivate: readonly string[]
}

/**
 * One signed POST of JSON to somebody else's server, through the guard against private addresses, and what its answer means. A receiver that has
 * answered 2xx has the batch, even if the rest of its response is cut, endless or cannot be decoded.
 */
export async function postWebhook(
  { url, headers, timeoutMs, allowPrivate, ...signed }: WebhookPost,
  { fetcher, clock }: { readonly fetcher: Fetcher; readonly clock: Clock },
  signal: AbortSignal,
): Promise<Sent> {
  const limits = {
    ...{ totalMs: timeoutMs, connectMs: CONNECT_MS, headersMs: timeoutMs, idleMs: timeoutMs },
    ...{ maxHeaderBytes: ANSWER_HEADER_BYTES, maxBodyBytes: ANSWER_BYTES },
  }
  const own = { 'content-type': 'application/json', 'user-agent': `Shoal/${version}`, 'accept-encoding': 'identity' }
  const all = { ...own, ...headers, ...webhookHeaders(signed, clock.now()) }
  const { body, secret } = signed
  const answer = new Answer(clock, signal)
  try {
    const { onHead, onBody } = answer
    await fetcher.fetch({ url, method: 'POST', headers: all, body, limits, allowPrivate, onHead, onBody }, answer)
  } catch (thrown) {
    if (answer.head === null || isDoubtful(thrown)) return failed(thrown)
  }
  return answer.head === null
    ? { kind: 'down', message: 'no answer' }
    : judge(answer.head, answer.text(url, secret), clock.now())
}

/** What has come of a response so far. It is also the signal of its fetch: nobody waits long for the rest of a body. */
class Answer implements StopSignal {
  head: ResponseHead | null = null
  private headAt = 0
  private readonly clock: Clock
  private readonly signal: AbortSignal
  private readonly pieces: Uint8Array[] = []
  private bytes = 0

  constructor(clock: Clock, signal: AbortSignal) {
    this.clock = clock
    this.signal = signal
  }

  get aborted(): boolean {
    return this.signal.aborted || (this.head !== null && this.clock.mono() - this.headAt >= BODY_MS)
  }

  get reason(): unknown {
    return this.signal.reason
  }

  readonly onHead = (head: ResponseHead): void => {
    this.head = head
    this.headAt = this.clock.mono()
  }

  readonly onBody = (piece: Uint8Array): void => {
    if (this.bytes >= READ_BYTES) return
    this.pieces.push(piece)
    this.bytes += piece.length
  }

  /** The beginning of the body in one line, without what must stay secret: many frameworks repeat the path of a request that they refuse. */
  text(url: string, secret: string | null): string {
    if (this.head?.headers['content-encoding'] !== undefined) return ''
    const { pathname, search, searchParams } = new URL(url)
    const hidden = [pathname + search, pathname, ...pathname.split('/'), ...searchParams.values(), secret ?? '']
    let text = new TextDecoder().decode(Buffer.concat(this.pieces).subarray(0, READ_BYTES))
    for (const one of hidden) if (one.length >= SHORTEST_SECRET) text = text.replaceAll(one, '…')
    return text
      .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
      .slice(0, SHOWN_LENGTH)
      .trim()
  }
}

/** Two responses to one request, for example: the first may be a late one to an earlier batch. */
function isDoubtful(thrown: unknown): boolean {
  return asShoalError(thrown).code === 'protocol_error'
}

function failed(thrown: unknown): Sent {
  const { code, message } = asShoalError(thrown)
  // Waiting does not change an address that the guard refuses.
  return { kind: describeError(code).failedAt === 'guard' ? 'refused' : 'down', message: `${code}: ${message}` }
}

function judge({ status, headers, isRequestWritten }: ResponseHead, said: string, now: number): Sent {
  const message = `it answers ${status}`
  if (status >= 200 && status < 300) {
    if (isRequestWritten) return { kind: 'taken', trimmed: 0 }
    return { kind: 'down', message: `${message} before it has read the request` }
  }
  if (status >= 500 || PASSING.has(status)) {
    const retryAfterMs = parseRetryAfter(headers['retry-after'], now)
    return { kind: 'down', message, ...(retryAfterMs !== null && { retryAfterMs }) }
  }
  if (status < 400) return { kind: 'refused', message: `${message}: a redirect is not followed, write where it leads` }
  return { kind: 'refused', message: said === '' ? message : `${message}: ${said}` }
}
