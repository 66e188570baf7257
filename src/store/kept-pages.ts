import type { CrawlId } from '../frontier/frontier.js'
import type { BlobRef } from './blob-store.js'
import type { FetchRow } from './rows.js'

/**
 * The fetches whose raw page was kept, a part at a time. Duties of every driver:
 *  - Each of them comes once while nobody writes, in the driver's own order; a fetch that a repeated write logged twice may come twice.
 *  - `newestOnly`: of the pages of one link (by fingerprint) the one that the newest lease read, which is the only one that may
 *    still change what it gave. It is chosen among the pages of the spider and crawl that were read before `before`; `route` and
 *    `since` leave out afterwards.
 *  - A part costs the same wherever the scan is. It may be empty, and `next` is null only at the end.
 */
export interface KeptPages {
  part(query: KeptPageQuery, after: KeptPageCursor | null, limit: number): Promise<KeptPagePart>
  count(query: KeptPageQuery): Promise<number>
}

export interface KeptPageQuery {
  readonly spider: string
  readonly crawl?: CrawlId
  /** As the fetch recorded it. */
  readonly route?: string
  readonly since?: number
  /** Read before this time, so that the scan ends while the crawl continues. */
  readonly before?: number
  readonly newestOnly: boolean
}

/** Where the scan continues; opaque to everybody but its driver. */
export type KeptPageCursor = string

export interface KeptPagePart {
  /** At most `limit`. */
  readonly pages: KeptPage[]
  readonly next: KeptPageCursor | null
}

/** All that is needed to read the page again. */
export interface KeptPage extends FetchRow {
  readonly page: BlobRef
}

/** The status of the page itself: one that was not modified is the page that was kept before. */
export function pageStatus(status: number): number {
  return status === 304 ? 200 : status
}
