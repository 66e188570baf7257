import { ShoalError } from '../errors.js'
import type { RunningWorker } from './start-worker.js'

export interface WorkerFailures {
  /** Aborted by the first failure: whoever naps wakes up. */
  readonly signal: AbortSignal
  readonly alive: number
  fail(error: unknown): void
  /** Throws the first failure. */
  check(): void
}

/** Workers that end unasked, and what else may fail while they work. */
export function watchWorkers(workers: readonly RunningWorker[]): WorkerFailures {
  const failed = new AbortController()
  let first: { error: unknown } | null = null
  let alive = workers.length
  const fail = (error: unknown) => {
    first ??= { error }
    failed.abort()
  }
  for (const worker of workers) {
    worker.ended
      .finally(() => alive--)
      .then(() => {
        // Nobody is left to visit a page, and nobody comes.
        if (alive === 0) throw new ShoalError('internal', 'every worker has ended, though nobody asked them to')
      })
      .catch(fail)
  }
  return {
    signal: failed.signal,
    get alive() {
      return alive
    },
    fail,
    check() {
      if (first !== null) throw first.error
    },
  }
}
