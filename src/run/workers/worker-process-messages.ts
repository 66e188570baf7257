import type { ErrorCode } from '../../errors.js'
import type { LogLevel } from '../../log.js'
import type { Vitals } from '../../observe/vitals/vitals.js'
import type { BackendAddresses } from '../../wire/backends.js'
import type { BrowserOrder } from '../browser-order.js'
import type { TraceOrder } from '../open-tracing.js'
import type { ProxyOrder } from '../pools-at-hand.js'
import type { SpiderSource } from '../spider-source.js'

/** The environment variable with the order of a worker process: on its command line `ps` would show everybody the password of the queue. */
export const WORKER_ORDER = 'SHOAL_WORKER_ORDER'

/** A worker process of `--workers N`. It ends with its parent, however that ends. */
export interface WorkerProcessOrder extends BackendAddresses, ProxyOrder, BrowserOrder, TraceOrder {
  readonly sources: readonly SpiderSource[]
  readonly concurrency: number
  readonly logLevel: LogLevel
  readonly stuckMs: number
  readonly graceMs: number
}

export type FromWorkerProcess =
  | { readonly kind: 'worker'; readonly id: string }
  /** It was asked to leave from outside, and does. */
  | { readonly kind: 'drained' }
  | { readonly kind: 'vitals'; readonly vitals: Vitals }
  | {
      readonly kind: 'failed'
      readonly code: ErrorCode
      readonly message: string
      readonly hint: string
    }
