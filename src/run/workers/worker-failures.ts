import { ShoalError } from '../../errors.js'
import type { RunningWorker } from './start-worker.js'

export interface WorkerFailures {
  /** Aborted by the first failure, and when the last worker was drained. */
  readonly signal: AbortSignal
  /** Worker processes that run. */
  readonly alive: number
  /** Every worker was drained from outside. */
  readonly drained: boolean
  fail(error: unknown): void
  /** Throws the first failure. */
  check(): void
}

/** Collects workers that end without being asked, and anything else that fails while they work. */
export function watchWorkers(workers: readonly RunningWorker[]): WorkerFailures {
  const failed = new AbortController()
  let first: { error: unknown } | null = null
  const living = new Set(workers)
  let left = 0
  const fail = (error: unknown) => {
    first ??= { error }
    failed.abort()
  }
  for (const worker of workers) {
    worker.ended
      .finally(() => living.delete(worker))
      .then(() => {
        if (worker.drained) left++
        if (left === workers.length) return failed.abort()
        // No worker is left, and none will come.
        if (living.size === 0) throw new ShoalError('internal', 'every worker has ended, though nobody asked it to')
      })
      .catch(fail)
  }
  return {
    signal: failed.signal,
    get alive() {
      return [...living].reduce((sum, { alive = 1 }) => sum + alive, 0)
    },
    get drained() {
      return workers.length > 0 && left === workers.length
    },
    fail,
    check() {
      if (first !== null) throw first.error
    },
  }
}
