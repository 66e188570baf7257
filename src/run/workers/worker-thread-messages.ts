import type { ProcessSettings } from '../../config.js'
import type { ShoalError } from '../../errors.js'
import type { Vitals } from '../../observe/vitals/vitals.js'
import type { BackendPorts } from '../../wire/backends.js'
import type { SpiderSource } from '../spider-source.js'

/** A worker in its own thread, which can be terminated from outside even while a handler is stuck in a loop. */
export interface WorkerThreadData {
  readonly id: string
  readonly settings: ProcessSettings
  readonly sources: readonly SpiderSource[]
  readonly ports: BackendPorts
  /** Incremented while the event loop is alive. */
  readonly beat: SharedArrayBuffer
  /** The thread before this one ended with an error that belonged to no page: this one finds out to which. */
  readonly findsStrays: boolean
}

export type ToWorkerThread = { readonly kind: 'stop'; readonly graceMs: number }
export type FromWorkerThread =
  /** Everything is loaded: it asks for its first pages. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'log'; readonly line: string }
  | { readonly kind: 'vitals'; readonly vitals: Vitals }
  | { readonly kind: 'stopped' }
  /** It ends with an exception that nobody caught. */
  | { readonly kind: 'uncaught'; readonly message: string }
  | ({ readonly kind: 'failed' } & Pick<ShoalError, 'code' | 'message' | 'hint'>)

export const BEAT_MS = 200
