import { ShoalError } from '../errors.js'
import type { CrawlId } from '../frontier/frontier.js'
import type { StoredRecord } from './rows.js'

/**
 * What changed in the store, for outlets, subscriptions and programs. Duties of every driver:
 *  - Each committed write that changed the content of a record gives it a new place behind all that were handed out before. A write that
 *    commits late is not skipped: its place is behind whatever could be read before it.
 *  - A record is in the stream once, at its last change: one that changed twice comes at least with its newest content.
 *  - A cursor of another database, or of a past that a restore has undone, is refused with `cursor_foreign` instead of skipping.
 */
export interface Changes {
  /**
   * The next changes after the cursor, about `limit` of them: more when one transaction made more, fewer or none when the call has read
   * its maximum of rows that do not match. The cursor may move even when nothing changes: on Postgres with every transaction of the cluster.
   */
  read(query: ChangeQuery): Promise<ChangePage>
  /** Behind everything committed so far. What is committed later comes after it. */
  end(): Promise<Cursor>
  /** Where the stream ended when the crawl was first noted: all that it writes comes after. The start when it never was. */
  startOf(crawl: CrawlId): Promise<Cursor>
  /** What waits after the cursor, counted up to `most`. */
  lag(query: LagQuery): Promise<ChangesLag>
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
  /** There is more to read now. */
  readonly more: boolean
}

export type LagQuery = Omit<ChangeQuery, 'limit'> & { readonly most: number }

export interface ChangesLag {
  readonly records: number
  /** When the content of the first of them was read; null when there is none. */
  readonly oldestAt: number | null
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
    'the cursor belongs to another database, or to a past that a restore of this one has undone',
  )
}
