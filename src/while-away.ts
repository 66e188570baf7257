import type { Clock } from './clock.js'
import { asShoalError, isAway } from './errors.js'
import type { Log } from './log.js'

/** Short at first, because most outages are a restart; then long enough that a fleet does not hold down a server that is coming back. */
const FIRST_PAUSE_MS = 200
const LONGEST_PAUSE_MS = 1_000

/** How long to wait before a backend that is down is asked again. `lastMs` is the pause before this one, 0 at first. */
export function awayPause(lastMs: number): number {
  return lastMs === 0 ? FIRST_PAUSE_MS : Math.min(LONGEST_PAUSE_MS, lastMs * 1.5)
}

/** Waits before the next try, or throws to give up. */
export type Pause = (ms: number, error: unknown) => Promise<void>

/** Repeats a call while its backend is down (see `isAway`). Any other failure is thrown. */
export async function whileAway<Answer>(call: () => Promise<Answer>, pause: Pause): Promise<Answer> {
  for (let pauseMs = awayPause(0); ; pauseMs = awayPause(pauseMs)) {
    try {
      return await call()
    } catch (error) {
      if (!isAway(error)) throw error
      await pause(pauseMs, error)
    }
  }
}

/** Gives up, with the failure of the last try, once the signal is aborted. */
export function pauseUntil(signal: AbortSignal, clock: Clock): Pause {
  return async (ms, error) => {
    if (signal.aborted) throw error
    await clock.sleep(ms, signal)
  }
}

export type BackendPart = 'queue' | 'store' | 'pages'

/** Logs once that a backend is down and once that it is back, however many calls fail in between. */
export class BackendWatch {
  readonly #log: Log
  readonly #clock: Clock
  readonly #awaySince = new Map<BackendPart, number>()

  constructor(log: Log, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  down(part: BackendPart, error: unknown): void {
    if (this.#awaySince.has(part)) return
    this.#awaySince.set(part, this.#clock.mono())
    const { code, message } = asShoalError(error)
    this.#log.warn('backend.waiting', { part, code, message })
  }

  /** A call succeeded. True when the backend was down until now. */
  answered(part: BackendPart): boolean {
    const since = this.#awaySince.get(part)
    if (since === undefined) return false
    this.#awaySince.delete(part)
    this.#log.warn('backend.back', { part, awayMs: Math.round(this.#clock.mono() - since) })
    return true
  }

  /** `whileAway` with the outage in the log. */
  async wait<Answer>(part: BackendPart, call: () => Promise<Answer>, pause: Pause): Promise<Answer> {
    const answer = await whileAway(call, (ms, error) => {
      this.down(part, error)
      return pause(ms, error)
    })
    this.answered(part)
    return answer
  }
}

/** For jobs that run again anyway: their next run is the retry, so an outage is not worth a line. */
export function warnUnlessAway(log: Log, error: unknown): void {
  if (!isAway(error)) log.warn('backend.waiting', { message: asShoalError(error).message })
}
