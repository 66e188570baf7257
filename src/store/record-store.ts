import type { CrawlId } from '../frontier/frontier.js'
import type { Fingerprint } from '../url/link.js'
import type { AuditLog } from './audit.js'
import type { BlobIndex } from './blob-index.js'
import type { ChangeFeed } from './changes.js'
import type { Entities } from './entities.js'
import type { FieldStats } from './field-stats.js'
import type { RecordHistory } from './history.js'
import type { KeptPages } from './kept-pages.js'
import type { KindViews } from './kind-views.js'
import type { RecordLookup } from './record-lookup.js'
import type { RecordSearch } from './record-search.js'
import type {
  CrawlNote,
  FetchRow,
  KindCount,
  KnownPage,
  RecordQuery,
  RejectedRecord,
  StoredRecord,
  WriteBatch,
  WriteStatus,
} from './rows.js'
import type { Visits } from './visits.js'

export type * from './rows.js'

/**
 * Where results live. Duties of every driver:
 *  - `write` is durable when it resolves, whole or not at all, and can be repeated.
 *  - A record is one row per (spider, site, kind, key), fenced: a writer with an older (gen, epoch) changes nothing.
 *  - One bad row never fails its neighbours: it is quarantined with a reason and the answer says so.
 */
export interface RecordStore
  extends AuditLog,
    BlobIndex,
    ChangeFeed,
    Entities,
    FieldStats,
    KeptPages,
    RecordHistory,
    RecordLookup,
    RecordSearch,
    Visits {
  /** The generation of a queue: the same for the same identity, larger for an identity not seen before. */
  generation(queueIdentity: string): Promise<number>

  /** The highest mark of a queue that was noted (see `Frontier.mark`); 0 when none was. */
  highestMark(queueIdentity: string): Promise<number>
  noteMark(queueIdentity: string, mark: number): Promise<void>
  /**
   * The queue's data went back in time: a larger generation from now on, and its marks count anew. Only while `mark` is still the highest
   * one: of several that notice it, one does it.
   */
  renewGeneration(queueIdentity: string, mark: number): Promise<void>

  /** What must outlive the queue: the newest note of a crawl replaces the older one. */
  noteCrawl(note: CrawlNote): Promise<void>
  /** Oldest crawl first. */
  crawlNotes(): Promise<CrawlNote[]>
  /** How many entries of a source of seeds are known to be in the queue; 0 when nobody has noted it. */
  seedCursor(crawl: CrawlId, source: string): Promise<number>
  noteSeedCursor(crawl: CrawlId, source: string, entries: number): Promise<void>
  /**
   * The pages of a crawl by its fetch log: one for each fetch that went well (no error, and no redirect that became a link of its own), or
   * for each that did not.
   */
  knownPages(crawl: CrawlId, wentWell: boolean): AsyncIterable<KnownPage>

  /**
   * One answer per record, in order, each judged as if it came alone (see judge.ts). `fenced`: a newer lease wrote the record, which is
   * left as it is; whether the visit still counts is for its settle to say, by the lease. Text is cleaned (NUL and lone surrogates
   * become U+FFFD), a key beyond 512 bytes is kept as `sha256:…`, and a record that is no JSON, deeper than 500 levels or larger than
   * 256 KiB is quarantined (see prepare.ts).
   */
  write(batch: WriteBatch): Promise<WriteStatus[]>

  /** Each record once, as it is when the scan comes by; with `since`, one that changes meanwhile comes again at the end. */
  records(query: RecordQuery): AsyncIterable<StoredRecord>
  /** Records written by a crawl, by kind, with the counts of skips. */
  counts(query: { readonly spider?: string; readonly crawl?: CrawlId }): Promise<KindCount[]>
  rejected(query: {
    readonly spider?: string
    readonly kind?: string
    readonly limit: number
  }): AsyncIterable<RejectedRecord>
  /** Validation failures per kind and field; of one crawl in a time that grows with its own alone. */
  rejectedByField(query: {
    readonly spider: string
    readonly crawl?: CrawlId
  }): Promise<{ kind: string; field: string; count: number }[]>
  /** Fetches of one URL, newest first. */
  fetches(query: { readonly fp: Fingerprint; readonly crawl?: CrawlId; readonly limit: number }): Promise<FetchRow[]>
  /** Deletes the fetch log of a crawl, its note, its cursors and the counts of its visits. Records stay: they belong to the spider. */
  removeCrawl(crawl: CrawlId): Promise<void>
  /** Null: there is no SQL here. */
  readonly kindViews: KindViews | null
  close(): Promise<void>
}
