import { asShoalError } from '../errors.js'
import type { Log } from '../log.js'
import type { Spider } from '../spider/spider.js'
import type { Backends } from '../wire/backends.js'
import type { Beginner } from './begin-crawls.js'
import type { LocalWorkers } from './workers/local-workers.js'

/** Something that goes on beside the work of a command, on the same backends: the dashboard, the metrics. Answers how it is ended. */
export type Sidecar = (parts: SidecarParts) => Promise<() => Promise<void>>

export interface SidecarParts {
  /** It does not wait for a queue that is away. */
  readonly backends: Backends
  /** Those that can be started here. */
  readonly spiders: readonly Spider[]
  readonly begin: Beginner['begin']
  readonly log: Log
  /** Its workers; null: it has none. */
  readonly localWorkers: LocalWorkers | null
  /** Aborted when it is asked to end. */
  readonly drain: AbortSignal
}

/** However it ends, the workers are stopped and the backends is closed after it. */
export async function closeSidecar(end: (() => Promise<void>) | undefined, log: Log): Promise<void> {
  try {
    await end?.()
  } catch (error) {
    log.warn('backend.warning', { message: asShoalError(error).message })
  }
}
