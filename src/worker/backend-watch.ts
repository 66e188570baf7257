import type { Clock } from '../clock.js'
import { asShoalError } from '../errors.js'
import type { Log } from '../log.js'

export type BackendPart = 'queue' | 'store' | 'pages'

/** Says once that a part of our backends is away, and once that it is back; every visit in hand meets both. */
export class BackendWatch {
  readonly #log: Log
  readonly #clock: Clock
  readonly #awaySince = new Map<BackendPart, number>()

  constructor(log: Log, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  away(part: BackendPart, error: unknown): void {
    if (this.#awaySince.has(part)) return
    this.#awaySince.set(part, this.#clock.mono())
    const { code, message } = asShoalError(error)
    this.#log.warn('backend.waiting', { part, code, message })
  }

  /** A call of it was answered. True when it was away until now. */
  answered(part: BackendPart): boolean {
    const since = this.#awaySince.get(part)
    if (since === undefined) return false
    this.#awaySince.delete(part)
    this.#log.warn('backend.back', { part, awayMs: Math.round(this.#clock.mono() - since) })
    return true
  }
}
