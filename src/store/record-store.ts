import type { CrawlId } from '../frontier/frontier.js'
import type { Fingerprint } from '../url/link.js'
import type { AuditLog } from './audit.js'
import type { BlobIndex } from './blob-index.js'
import type { Changes } from './changes.js'
import type { Entities } from './entities.js'
import type { FieldStats } from './field-stats.js'
import type { RecordHistory } from './history.js'
import type { KeptPages } from './kept-pages.js'
import type { KindViews } from './kind-views.js'
import type { MatchStats } from './match-stats.js'
import type { Outlets } from './outlets.js'
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

/** Where results live: one part for each subject. The duties of a driver are listed with each part. */
export interface RecordStore {
  readonly records: Records
  readonly fetches: Fetches
  readonly pages: KeptPages
  readonly visits: Visits
  readonly crawls: Crawls
  readonly generations: Generations
  readonly changes: Changes
  readonly outlets: Outlets
  readonly lookup: RecordLookup
  readonly search: RecordSearch
  readonly history: RecordHistory
  readonly entities: Entities
  readonly fields: FieldStats
  readonly matches: MatchStats
  readonly blobs: BlobIndex
  readonly audit: AuditLog
  /** Null: this store has no SQL. */
  readonly views: KindViews | null
  close(): Promise<void>
}

/**
 * Duties of every driver:
 *  - `write` is durable when it resolves, all or nothing, and can be repeated.
 *  - A record is one row per (spider, site, kind, key), fenced: a writer with an older (gen, epoch) changes nothing.
 *  - One bad row never fails its neighbours: it is quarantined with a reason, and its status says so.
 */
export interface Records {
  /**
   * All that a batch of visits produced, in one transaction: records, and the rows of other parts that must not be there without them.
   * One status per record, in order, each judged as if it came alone (see judge.ts). `fenced`: a newer lease wrote the record, which is
   * left as it is; whether the visit still counts is decided by its settle. Text is cleaned (NUL and lone surrogates become U+FFFD), a
   * key of more than 512 bytes is kept as `sha256:…`, and a record that is not JSON, deeper than 500 levels or larger than 256 KiB is
   * quarantined (see prepare.ts).
   */
  write(batch: WriteBatch): Promise<WriteStatus[]>
  /** Each record once, as it is when the scan reaches it; with `since`, one that changes meanwhile comes again at the end. */
  scan(query: RecordQuery): AsyncIterable<StoredRecord>
  /** Records written by a crawl, by kind, with the counts of skips. */
  counts(query: { readonly spider?: string; readonly crawl?: CrawlId }): Promise<KindCount[]>
  /** Newest first. */
  rejected(query: {
    readonly spider?: string
    readonly kind?: string
    readonly limit: number
  }): AsyncIterable<RejectedRecord>
  /** Validation failures per kind and field. With `crawl`, the cost grows with that crawl's failures only. */
  rejectedByField(query: { readonly spider: string; readonly crawl?: CrawlId }): Promise<FieldFailures[]>
}

export interface FieldFailures {
  readonly kind: string
  readonly field: string
  readonly count: number
}

export interface Fetches {
  /** The fetches of one URL, newest first. */
  of(query: { readonly fp: Fingerprint; readonly crawl?: CrawlId; readonly limit: number }): Promise<FetchRow[]>
}

/** What must outlive the queue's data about its crawls. */
export interface Crawls {
  /** The newest note of a crawl replaces the older one. */
  note(note: CrawlNote): Promise<void>
  /** Oldest crawl first. */
  notes(): Promise<CrawlNote[]>
  /** How many entries of a seed source are known to be in the queue; 0 when there is no cursor. */
  seedCursor(crawl: CrawlId, source: string): Promise<number>
  noteSeedCursor(crawl: CrawlId, source: string, entries: number): Promise<void>
  /**
   * The pages of a crawl by its fetch log: one for each fetch that succeeded (no error, and no redirect that became a link of its own), or
   * for each that did not.
   */
  knownPages(crawl: CrawlId, succeeded: boolean): AsyncIterable<KnownPage>
  /** Deletes the crawl's fetch log, note, seed cursors, visit counts and match counts. Records stay: they belong to the spider. */
  remove(crawl: CrawlId): Promise<void>
}

/** Generations of queues, the first half of the fence (see docs/reliability.md). */
export interface Generations {
  /** The generation of a queue: the same for the same identity, larger for an identity not seen before. */
  of(queueIdentity: string): Promise<number>
  /** The highest noted mark of a queue (see `Frontier.mark`); 0 when there is none. */
  highestMark(queueIdentity: string): Promise<number>
  noteMark(queueIdentity: string, mark: number): Promise<void>
  /**
   * The queue's data went back in time: a larger generation from now on, and marks start again. Only while `mark` is still the highest
   * one, so that of several processes that notice it one renews.
   */
  renew(queueIdentity: string, mark: number): Promise<void>
}
