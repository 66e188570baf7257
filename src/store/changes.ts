import { ShoalError } from '../errors.js'
import type { CrawlId } from '../frontier/frontier.js'
import type { StoredRecord } from './rows.js'

/**
 * What changed in the store, for whoever wants to hear of it: outlets, subscriptions, programs. Duties of every driver:
 *  - Each committed write that changed the content of a record gives it a new place behind all that were handed out before. A write that
 *    commits late is not skipped: its place is behind whatever could be read before it.
 *  - A record stands in the stream once, at its last change: one that changed twice comes at least with its newest content.
 *  - A cursor of another database, or of a past that a restore took away, is refused with `cursor_foreign` instead of skipping.
 *  - An outlet is held by one process at a time; who lost it notes nothing any more. Its cursor lives beside the records, and goes where they
 *    go: into a copy, back in time with a restore.
 */
export interface ChangeFeed {
  /**
   * The next changes after the cursor, about `limit` of them: more when one transaction made more, fewer or none when the search has looked
   * through enough that is not asked for. The cursor may move without an end: on Postgres with every transaction of the cluster.
   */
  changes(query: ChangeQuery): Promise<ChangePage>
  /** Behind all that has been committed. What is committed later comes after it. */
  changesEnd(): Promise<Cursor>
  /** Where the stream ended when the crawl was first noted (`noteCrawl`): all that it writes comes after. The start when nobody has. */
  changesOfCrawl(crawl: CrawlId): Promise<Cursor>
  /** What waits after the cursor, counted up to `most`. */
  changesLag(query: LagQuery): Promise<ChangesLag>

  /**
   * Takes or renews the outlet for so long; it is made when nobody has heard of it, from the start. Null: another process holds it, or it has
   * stopped. With an epoch it only renews: null when that hold is over, even if the outlet is free now.
   */
  claimOutlet(claim: OutletClaim): Promise<OutletHold | null>
  /** Whoever waits for it may have it now. */
  releaseOutlet(name: string, holder: string): Promise<void>
  /** What became of a batch. False: it is not held by this holder any more, and nothing was noted. */
  noteOutlet(name: string, holder: string, note: OutletNote): Promise<boolean>
  /** By name. */
  outlets(): Promise<OutletInfo[]>
  /**
   * Sets it to the cursor (null: leaves it where it is), forgets its error and lets it go on. Whoever holds it loses it. It is made when nobody
   * has heard of it.
   */
  resetOutlet(name: string, spider: string, cursor: Cursor | null): Promise<void>
}

/** A place in the stream of changes. Opaque, and only for the database that gave it. */
export type Cursor = string

/** Before everything. */
export const FROM_START: Cursor = ''

export interface ChangeQuery {
  readonly spider?: string
  /** Of these kinds; all when left out. */
  readonly kinds?: readonly string[]
  readonly after: Cursor
  readonly limit: number
}

export interface ChangePage {
  /** In the order of their changes. */
  readonly records: StoredRecord[]
  readonly cursor: Cursor
  /** Ask again at once. False: that was all for now. */
  readonly more: boolean
}

export type LagQuery = Omit<ChangeQuery, 'limit'> & { readonly most: number }

export interface ChangesLag {
  readonly records: number
  /** When the content of the first of them was read; null when there is none. */
  readonly oldestAt: number | null
}

export interface OutletClaim {
  readonly name: string
  /** Empty: all. */
  readonly spider: string
  readonly kinds: readonly string[] | null
  /** Unlike that of any other process, now or before. */
  readonly holder: string
  readonly forMs: number
  /** Of the hold to renew. */
  readonly epoch?: number
}

export interface OutletHold {
  readonly cursor: Cursor
  /** Of the outlet, for good: a sink tells outlets of two databases apart by it. */
  readonly id: string
  /** Larger for each holder: a sink that has seen a larger one refuses this one. */
  readonly epoch: number
}

export interface OutletNote {
  readonly cursor: Cursor
  /** Records that the sink has taken, and items it dropped for them. */
  readonly sent: number
  readonly trimmed: number
  /** Why the sink takes nothing; null when it does. */
  readonly error: string | null
  /** It will not take it later either: nobody claims the outlet until it is reset. */
  readonly stop: boolean
}

export interface OutletInfo {
  readonly name: string
  /** Empty: all. */
  readonly spider: string
  readonly kinds: readonly string[] | null
  readonly cursor: Cursor
  /** Null: nobody holds it. */
  readonly holder: string | null
  readonly sent: number
  readonly sentAt: number | null
  readonly trimmed: number
  readonly error: string | null
  readonly stopped: boolean
}

/** Position and the mark of the history it belongs to. */
export function makeCursor(position: string | number, mark: string): Cursor {
  return `${position}-${mark}`
}

/** Null for the start. */
export function readCursor(cursor: Cursor): { readonly position: string; readonly mark: string } | null {
  if (cursor === FROM_START) return null
  const [, position, mark] = /^(\d{1,19})-([0-9a-z]{1,40})$/.exec(cursor) ?? []
  if (position === undefined || mark === undefined) throw new ShoalError('cursor_foreign', 'this is not a cursor')
  return { position, mark }
}

export function foreignCursor(): ShoalError {
  return new ShoalError(
    'cursor_foreign',
    'the cursor is of another database, or of a time that a restore of this one took back',
  )
}
