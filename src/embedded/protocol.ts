import type { ErrorCode } from '../errors.js'
import type { StoreEngines } from '../store/sqlite/store-engines.js'
import type { NativeGate } from './native-gate.js'

export interface DatabaseThreadData {
  readonly file: string
  readonly gate: NativeGate
}

/** Engines of the database thread by name; those of the store one by one. */
export type Service = 'frontier' | 'notes' | 'proxies' | `store.${keyof StoreEngines}`

/** What travels between a client and the database thread. Plain data only. */
interface CallMessage {
  readonly kind: 'calls'
  readonly calls: readonly Call[]
}

export type Call = readonly [id: number, service: Service, method: string, args: readonly unknown[]]

/** Beat for this worker and keep its leases alive, from this thread, whatever the worker's own thread is doing. */
export interface KeepMessage {
  readonly kind: 'keep'
  readonly worker: string
  /** How long it may be silent before it is lost. */
  readonly lostAfterMs: number
  readonly heartbeatMs: number
  /** A lease is kept for this long at most: a handler that never ends must not hold it forever. */
  readonly holdMs: number
}

/** These leases wait for a store that is down, with page and handler done: they are kept for another `holdMs`. */
export interface WaitingMessage {
  readonly kind: 'waiting'
  readonly worker: string
  readonly tokens: readonly string[]
}

interface PortMessage {
  readonly kind: 'port'
  readonly port: unknown
}

interface CloseMessage {
  readonly kind: 'close'
}

export type ToThread = CallMessage | KeepMessage | WaitingMessage | PortMessage | CloseMessage

export type Answer =
  | readonly [id: number, ok: true, result: unknown]
  | readonly [id: number, ok: false, error: WireError]

export interface WireError {
  readonly code: ErrorCode | null
  readonly message: string
  readonly hint: string | null
  readonly stack: string | null
}

export type FromThread =
  | { readonly kind: 'answers'; readonly answers: readonly Answer[] }
  | { readonly kind: 'lost'; readonly worker: string; readonly tokens: readonly string[] }
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly error: WireError }
  /** With what became of the file, if it is not the one that was opened. */
  | { readonly kind: 'closed'; readonly error: WireError | null }
