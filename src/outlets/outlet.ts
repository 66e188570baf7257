import type { StoredRecord } from '../store/record-store.js'

/** Where a spider's records go as they are written: its outlets as declared, checked and with defaults. */
export type Outlet = RedisOutlet | WebhookOutlet

interface OutletBasics {
  /** `<spider>/<name>`: what it is called in the store, in logs and on the command line. */
  readonly name: string
  readonly spider: string
  /** Null: all. */
  readonly kinds: readonly string[] | null
  /** Records per delivery. */
  readonly batch: number
}

export interface RedisOutlet extends OutletBasics {
  readonly to: 'list' | 'stream' | 'hash'
  readonly key: string
  /** Null: the server of the queue. */
  readonly address: string | null
  /** Over this length the oldest items are dropped; null: none are. */
  readonly maxLength: number | null
  readonly serialize: (record: StoredRecord) => string | Uint8Array
  /** Of a hash. */
  readonly field: (record: StoredRecord) => string
}

export interface WebhookOutlet extends OutletBasics {
  readonly to: 'webhook'
  readonly url: string
  /** The environment variable that holds the secret of the signature; null: not signed. */
  readonly secretEnv: string | null
  readonly timeoutMs: number
  /** 'host:port' entries that the guard lets through. */
  readonly allowPrivate: readonly string[]
}
