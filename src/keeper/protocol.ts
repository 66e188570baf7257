import type { MessagePort } from 'node:worker_threads'
import type { Lease, WorkerId } from '../frontier/frontier.js'

/** What travels between a worker and the keeper thread of its process. Plain data only. */
export type ToKeeper =
  | ({ readonly kind: 'keep' } & Keeping)
  /** What the worker has in flight now. */
  | { readonly kind: 'holding'; readonly leases: readonly Holding[] }
  | { readonly kind: 'leave' }

export interface Keeping {
  readonly worker: WorkerId
  /** How long it may be silent before it is lost. */
  readonly lostAfterMs: number
  readonly heartbeatMs: number
  /** A lease is kept for this long at most, unless it waits for our own backends. */
  readonly holdMs: number
}

/** A lease, by the name that its worker uses and by the one that the queue answers. */
export interface Holding extends Pick<Lease, 'token' | 'epoch'> {
  /** Its end is on the way to the queue, which knows best what it has. */
  readonly settling: boolean
  /** Its page is read and its handler has ended: it waits for our own backends, which may be down for any length of time. */
  readonly waiting: boolean
}

export type FromKeeper =
  /** The queue has its first beat: from now on leases are renewed, and it is noticed when the worker dies. */
  { readonly kind: 'ready' } | { readonly kind: 'lost'; readonly tokens: readonly string[] }

/** To a worker at its start, and again whenever the keeper thread was replaced: its port from now on. */
export interface ToKept {
  readonly keeper: MessagePort
}

export interface KeeperThreadData {
  /** Of the queue. */
  readonly address: string
}
