import { asShoalError, describeError } from '../errors.js'
import type { Log } from '../log.js'
import type { ApiError } from './api-types.js'

/** Workers repeat a call until the queue is back; who asks here must do so, and an order that got no answer may have arrived. */
const AWAY_HINTS = {
  look: 'Ask again in a while; the page does so by itself.',
  order: 'The order may or may not have been carried out: look how things are before you repeat it.',
} as const

/** What went wrong as a status and an answer. A defect of ours is told to the log, not to the caller. */
export function failureOf(
  thrown: unknown,
  log: Log,
  asked: keyof typeof AWAY_HINTS,
): { readonly status: number; readonly answer: ApiError } {
  const { code, message, hint: known } = asShoalError(thrown)
  const { status, waits } = describeError(code)
  const hint = waits === 'outage' ? AWAY_HINTS[asked] : known
  if (code === 'internal') {
    log.error('api.failed', { message })
    return { status: 500, answer: { error: { code, message: 'a defect in Shoal: see its log', hint } } }
  }
  return { status: status ?? (waits === undefined ? 400 : 503), answer: { error: { code, message, hint } } }
}
