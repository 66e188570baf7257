import type { Clock } from './clock.js'
import { asShoalError } from './errors.js'
import type { Log } from './log.js'

/** Closes one thing that was opened. */
export type Close = () => unknown

/** What a command or a program has opened, closed in reverse order. A failure to close one thing never skips the rest. */
export class Closers {
  #steps: (readonly Close[])[] = []

  /** To be closed before everything added so far. Several are closed at the same time; one that was added before moves here. */
  add(...closers: readonly Close[]): void {
    const others = this.#steps.map((step) => step.filter((close) => !closers.includes(close)))
    this.#steps = [...others, closers]
  }

  /** Answers with the failures. A second call closes what was added since the first. */
  async close(): Promise<unknown[]> {
    const failures: unknown[] = []
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      const ends = await Promise.allSettled(step.map(async (close) => close()))
      failures.push(...ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : [])))
    }
    return failures
  }
}

/**
 * Closes what the work has opened, however the work ends. A failure to close is thrown only when nothing failed before it: otherwise it would hide
 * the error that the user has to see, so it is reported.
 */
export async function withClosers<Result>(
  report: (failure: unknown) => void,
  work: (closers: Closers) => Promise<Result>,
): Promise<Result> {
  const closers = new Closers()
  const [worked] = await Promise.allSettled([work(closers)])
  const failures = await closers.close()
  if (worked.status === 'rejected') failures.unshift(worked.reason)
  for (const failure of failures.slice(1)) report(failure)
  if (worked.status === 'rejected' || failures.length > 0) throw failures[0]
  return worked.value
}

/** What fails to close after another failure, as a line of the log. */
export function warnOf(log: Pick<Log, 'warn'>): (failure: unknown) => void {
  return (failure) => log.warn('backend.warning', { message: asShoalError(failure).message })
}

/** Time to finish, shared by everything that closes: it runs from `start`, and before that there is none. */
export function gracePeriod(
  clock: Clock,
  graceMs: number,
): { readonly start: () => void; readonly leftMs: () => number } {
  let endsAt = Number.NEGATIVE_INFINITY
  return {
    start() {
      endsAt = clock.mono() + graceMs
    },
    leftMs: () => Math.max(0, endsAt - clock.mono()),
  }
}
