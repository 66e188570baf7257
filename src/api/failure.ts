import { asShoalError, describeError } from '../errors.js'
import type { Log } from '../log.js'
import type { ApiError } from './api-types.js'

/** Workers retry until the queue is back; API callers must retry themselves, and an order without a response may have been carried out. */
const AWAY_HINTS = {
  read: 'Try again in a moment; the dashboard does so automatically.',
  order: 'The action may or may not have been carried out: check the current state before you repeat it.',
} as const

/** The status and body for an error. The details of a bug go to the log, not to the caller. */
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
    return { status: 500, answer: { error: { code, message: 'a bug in Shoal: see its log', hint } } }
  }
  return { status: status ?? (waits === undefined ? 400 : 503), answer: { error: { code, message, hint } } }
}
