import { asShoalError } from '../errors.js'
import type { Log } from '../log.js'
import type { Spider } from '../spider/spider.js'
import type { Plant } from '../wire/backends.js'
import type { Beginner } from './begin-crawls.js'
import type { Crew } from './workers/local-workers.js'

/** Something that goes on beside the work of a command, on the same plant: the dashboard, the metrics. Answers how it is ended. */
export type Beside = (parts: BesideParts) => Promise<() => Promise<void>>

export interface BesideParts {
  /** It does not wait for a queue that is away. */
  readonly plant: Plant
  /** Those that can be started here. */
  readonly spiders: readonly Spider[]
  readonly begin: Beginner['begin']
  readonly log: Log
  /** Its workers; null: it has none. */
  readonly crew: Crew | null
  /** Aborted when it is asked to end. */
  readonly drain: AbortSignal
}

/** However it ends, the workers are stopped and the plant is closed after it. */
export async function endedBeside(end: (() => Promise<void>) | undefined, log: Log): Promise<void> {
  try {
    await end?.()
  } catch (error) {
    log.warn('plant.warning', { message: asShoalError(error).message })
  }
}
