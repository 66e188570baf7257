import type { ProcessSettings } from '../../config.js'
import type { ShoalError } from '../../errors.js'
import type { Vitals } from '../../observe/vitals/vitals.js'
import type { SpiderSource } from '../spider-source.js'

/** The environment variable with the order of a worker process: on its command line, `ps` would show the password of the queue to every user. */
export const WORKER_ORDER = 'SHOAL_WORKER_ORDER'

/** A worker process of `--workers N`. It ends with its parent, however that ends. */
export interface WorkerProcessOrder {
  readonly settings: ProcessSettings
  readonly sources: readonly SpiderSource[]
  readonly stuckMs: number
  /** Of the command. Left out by versions that did not send it. */
  readonly version?: string
}

export type FromWorkerProcess =
  | { readonly kind: 'worker'; readonly id: string }
  /** Everything is loaded: it asks for its first pages. */
  | { readonly kind: 'ready' }
  /** It was drained from outside, and is leaving. */
  | { readonly kind: 'drained' }
  | { readonly kind: 'log'; readonly line: string }
  | { readonly kind: 'vitals'; readonly vitals: Vitals }
  | ({ readonly kind: 'failed' } & Pick<ShoalError, 'code' | 'message' | 'hint'>)
