/**
 * URLs from outside: other programs push, workers take. Duties of every driver:
 *  - An entry is never lost: it waits, is taken, and leaves only by `done` or `refuse`. One that was taken and not ended within
 *    the hold is taken again, by whoever asks: its taker is dead.
 *  - Two takers never hold the same entry at the same time, as long as each ends it within the hold.
 *  - `done` and `refuse` of an entry that is gone are harmless.
 *  - One entry of any size takes neither the memory nor the connection of its taker: more than `MAX_ENTRY_BYTES` come cut.
 */
export interface Feed {
  /** Where the entries are, for messages. */
  readonly key: string
  /** Up to `count` entries, oldest first; empty when nothing waits. */
  take(count: number): Promise<FeedEntry[]>
  /** They are in the queue: forgotten here. */
  done(entries: readonly FeedEntry[]): Promise<void>
  /** Sets them aside with the reasons, within `REFUSED_KEPT` and `REFUSED_KEPT_BYTES`; the oldest are dropped and counted. */
  refuse(refusals: readonly FeedRefusal[]): Promise<void>
  refused(limit: number): Promise<RefusedList>
  /** Puts what was set aside back to be taken, oldest first. One that was cut stays where it is. Repeating it is harmless. */
  retryRefused(): Promise<{ readonly retried: number; readonly left: number }>
  /** Nothing waits and nobody holds anything. */
  empty(): Promise<boolean>
  push(texts: readonly string[]): Promise<void>
}

export interface FeedEntry {
  readonly id: string
  /** Only the beginning, if `bytes` is more than `MAX_ENTRY_BYTES`. */
  readonly text: string
  readonly bytes: number
}

export interface FeedRefusal {
  readonly entry: FeedEntry
  /** At least one: an entry with several URLs may be refused in parts. */
  readonly parts: readonly RefusedPart[]
}

export interface RefusedPart {
  readonly text: string
  readonly reason: string
}

export interface RefusedEntry extends RefusedPart {
  readonly at: number
  /** The text is only the beginning of a longer one. */
  readonly cut?: true
}

export interface RefusedList {
  /** Newest first. */
  readonly entries: readonly RefusedEntry[]
  readonly kept: number
  /** Since the feed exists: set aside, and dropped for lack of space. */
  readonly dropped: number
}

/** Longest entry that is read: a URL of the largest allowed length, and user data. */
export const MAX_ENTRY_BYTES = 256 * 1024
/** Refused entries are kept for people, up to this many … */
export const REFUSED_KEPT = 10_000
/** … and this many bytes, whichever is reached first. */
export const REFUSED_KEPT_BYTES = 32 * 1024 * 1024

/** Where the feed of a spider is. */
export interface FeedPlace {
  readonly kind: 'list' | 'stream'
  /** Null: `shoal:feed:<spider>`. */
  readonly key: string | null
  /** Consumer group of a stream. */
  readonly group: string
}

/** Of a spider that says nothing of feeds. */
export const DEFAULT_FEED: FeedPlace = { kind: 'list', key: null, group: 'shoal' }
