import type { CrawlId } from '../frontier/frontier.js'
import type { Fingerprint } from '../url/link.js'
import type { BlobRef } from './blob-store.js'

/**
 * What the last visit of each page left, so that the next crawl fetches only what changed. One row for each link of a spider that recrawls,
 * written with the fetch of its visit (`WriteBatch.visits`). Duties of every driver:
 *  - The row of the newest lease stays: an older one changes nothing.
 *  - A lease is counted once, however often its write is repeated.
 */
export interface Visits {
  /** In any order; a link that was never visited is left out. */
  last(spider: string, fps: readonly Fingerprint[]): Promise<LastVisit[]>
  /** Of one crawl; null when it has none. */
  counts(crawl: CrawlId): Promise<VisitCounts | null>
}

export interface LastVisit {
  readonly fp: Fingerprint
  readonly at: number
  /** Where the answer came from: the end of its redirects. Its validators are for this URL alone. */
  readonly url: string
  readonly etag: string | null
  readonly lastModified: string | null
  /** Of the decoded body; hexadecimal. */
  readonly bodyHash: string
  /** Of the spider's code and of what the link brings to the handler: another hash may produce other records from the same page. */
  readonly readAs: string
  /** The raw page, where it was kept. */
  readonly page: BlobRef | null
  /** The links and the keys of the records that it gave, packed (see worker/page-memo.ts). */
  readonly memo: Uint8Array
}

/** What a visit found, compared with the one before it. */
export type VisitResult = keyof VisitCounts

export interface VisitCounts {
  /** Never visited before. */
  readonly new: number
  /** Another body, or another reader: its handler ran. */
  readonly changed: number
  /** The server said so (304). */
  readonly notModified: number
  /** The same body came again. */
  readonly sameBody: number
}

export interface VisitRow extends LastVisit {
  readonly spider: string
  readonly crawl: CrawlId
  readonly gen: number
  readonly epoch: string
  readonly result: VisitResult
}

export const NO_VISITS: VisitCounts = { new: 0, changed: 0, notModified: 0, sameBody: 0 }
