import type { Clock } from '../clock.js'
import { asShoalError } from '../errors.js'
import type { Log } from '../log.js'

export type PlantPart = 'queue' | 'store' | 'pages'

/** Says once that a part of our plant is away, and once that it is back; every visit in hand meets both. */
export class PlantWatch {
  readonly #log: Log
  readonly #clock: Clock
  readonly #awaySince = new Map<PlantPart, number>()

  constructor(log: Log, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  away(part: PlantPart, error: unknown): void {
    if (this.#awaySince.has(part)) return
    this.#awaySince.set(part, this.#clock.mono())
    const { code, message } = asShoalError(error)
    this.#log.warn('plant.waiting', { part, code, message })
  }

  /** A call of it was answered. True when it was away until now. */
  answered(part: PlantPart): boolean {
    const since = this.#awaySince.get(part)
    if (since === undefined) return false
    this.#awaySince.delete(part)
    this.#log.warn('plant.back', { part, awayMs: Math.round(this.#clock.mono() - since) })
    return true
  }
}
