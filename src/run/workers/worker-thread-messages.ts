import type { ErrorCode } from '../../errors.js'
import type { LogLevel } from '../../log.js'
import type { Vitals } from '../../observe/vitals/vitals.js'
import type { BackendPorts } from '../../wire/backends.js'
import type { BrowserOrder } from '../browser-order.js'
import type { TraceOrder } from '../open-tracing.js'
import type { ProxyOrder } from '../pools-at-hand.js'
import type { SpiderSource } from '../spider-source.js'

/** A worker in a thread of its own: the thread can be ended from outside even while a handler runs in circles. */
export interface WorkerThreadData extends ProxyOrder, BrowserOrder, TraceOrder {
  readonly id: string
  readonly sources: readonly SpiderSource[]
  readonly concurrency: number
  readonly logLevel: LogLevel
  readonly ports: BackendPorts
  /** Counted up while the event loop turns. */
  readonly beat: SharedArrayBuffer
}

export type ToWorkerThread = { readonly kind: 'stop'; readonly graceMs: number }
export type FromWorkerThread =
  | { readonly kind: 'log'; readonly line: string }
  | { readonly kind: 'vitals'; readonly vitals: Vitals }
  | { readonly kind: 'stopped' }
  | {
      readonly kind: 'failed'
      readonly code: ErrorCode
      readonly message: string
      readonly hint: string
    }

export const BEAT_MS = 200
