import { asShoalError, type ErrorCode, isAway } from '../errors.js'
import type { Log } from '../log.js'
import type { ApiError } from './api-types.js'

const STATUS: Partial<Record<ErrorCode, number>> = {
  bad_request: 400,
  token_refused: 401,
  request_refused: 403,
  not_found: 404,
  request_slow: 408,
  crawl_ended: 409,
  crawl_lost: 409,
  link_busy: 409,
  too_many_requests: 429,
  internal: 500,
}

/** Workers repeat a call until the queue is back; who asks here must do so, and an order that got no answer may have arrived. */
const AWAY_HINTS = {
  look: 'Ask again in a while; the page does so by itself.',
  order: 'The order may or may not have been carried out: look how things are before you repeat it.',
} as const
const REPEATED: ReadonlySet<ErrorCode> = new Set(['db_busy', 'queue_down', 'store_down', 'pages_down'])

/** What went wrong as a status and an answer. A defect of ours is told to the log, not to the caller. */
export function failureOf(
  thrown: unknown,
  log: Log,
  asked: keyof typeof AWAY_HINTS,
): { readonly status: number; readonly answer: ApiError } {
  const { code, message, hint: known } = asShoalError(thrown)
  const hint = REPEATED.has(code) ? AWAY_HINTS[asked] : known
  if (code === 'internal') {
    log.error('api.failed', { message })
    return { status: 500, answer: { error: { code, message: 'a defect in Shoal: see its log', hint } } }
  }
  return { status: STATUS[code] ?? (isAway(thrown) ? 503 : 400), answer: { error: { code, message, hint } } }
}
