import type { CrawlId, CrawlSpec, WorkerId } from '../frontier/frontier.js'
import type { Fingerprint, HostKey, Json, Link } from '../url/link.js'
import type { BlobRef } from './blob-store.js'
import type { VisitRow } from './visits.js'

export interface CrawlNote {
  readonly crawl: CrawlId
  readonly spider: string
  /** Address of its queue, without secrets, and the identity of the data there. */
  readonly queue: string
  readonly queueIdentity: string
  /** `lost`: the queue's data went back in time or is gone, and the crawl was not recovered. */
  readonly state: 'open' | 'ended' | 'lost'
  /** As it was opened last. */
  readonly spec: CrawlSpec
  readonly openedAt: number
}

export type KnownPage = Pick<FetchRow, 'fp' | 'url' | 'host' | 'route' | 'depth' | 'link'>

export interface WriteBatch {
  readonly records: readonly RecordRow[]
  readonly rejected: readonly RejectedRow[]
  readonly fetches: readonly FetchRow[]
  /** Of spiders that recrawl. */
  readonly visits?: readonly VisitRow[]
  /** Of pages that did not change. A record that the batch writes as well is not confirmed by it. */
  readonly confirmed?: readonly ConfirmedRecord[]
}

export type WriteStatus = 'written' | 'unchanged' | 'fresh' | 'fenced' | 'quarantined'

/** A record, wherever it is on its way. */
export interface PlainRecord {
  readonly spider: string
  /** Registrable domain of the page, or its host when it has none (an address, localhost). */
  readonly site: string
  readonly kind: string
  readonly key: string
  readonly url: string
  readonly data: Json
}

export interface RecordRow extends PlainRecord {
  readonly crawl: CrawlId
  readonly gen: number
  readonly epoch: string
  readonly scrapedAt: number
  /** Within this long after the last write by another lease the row is skipped as fresh; 0 switches it off. */
  readonly freshMs: number
  /** What the record is one description of, where its kind declares that: records of one kind and identity are merged. */
  readonly identity: string | null
  /** Keep the version that this one replaces. */
  readonly history: boolean
  /** When a reparse of a stored page produced it: its changes count from then, not from when the page was fetched. */
  readonly reparsedAt?: number
}

/** A record that a page still shows: it stays as it is, seen now. */
export type ConfirmedRecord = Pick<
  RecordRow,
  'spider' | 'site' | 'kind' | 'key' | 'crawl' | 'gen' | 'epoch' | 'scrapedAt'
>

/** A record that did not fit its schema: kept with its raw data. */
export interface RejectedRow extends PlainRecord {
  readonly crawl: CrawlId
  readonly issues: readonly { readonly field: string; readonly message: string }[]
  readonly scrapedAt: number
  /** `quarantined`: it is not JSON, and the data is what remains of it. `invalid` if left out. */
  readonly reason?: 'invalid' | 'quarantined'
}

/** Among the headers of a fetch that failed: the picture of its page, as a `BlobRef`. One that a server sends is dropped. */
export const SCREENSHOT_HEADER = 'x-shoal-screenshot'

/** One row per request of a visit that reached its end. */
export interface FetchRow {
  readonly spider: string
  readonly crawl: CrawlId
  /** Of the lease. */
  readonly gen: number
  readonly epoch: string
  readonly fp: Fingerprint
  /** Where the answer came from: the end of its redirects. */
  readonly url: string
  readonly host: HostKey
  readonly route: string
  readonly depth: number
  /** The link as the queue had it, where this row could not make it again: it was redirected, or has a request or data of its own. */
  readonly link: Link | null
  /** 0 when there was no answer. */
  readonly status: number
  /** Bytes of the body as received. */
  readonly bytes: number
  readonly ms: number
  readonly attempt: number
  readonly worker: WorkerId
  /** Error code, or null when all went well. */
  readonly error: string | null
  /** The raw page in the blob store, where the spider asks for that. */
  readonly page: BlobRef | null
  /** Of the answer, where its page is kept: with them a page can be read again as it was. */
  readonly headers: Readonly<Record<string, string>> | null
  /** The proxies it went through; null: none. */
  readonly pool: string | null
  readonly at: number
}

export interface RecordQuery {
  readonly spider?: string
  readonly kind?: string
  readonly url?: string
  readonly key?: string
  readonly site?: string
  /** Written or changed since. */
  readonly since?: number
  readonly limit?: number
}

export interface StoredRecord extends PlainRecord {
  /** The crawl that wrote or confirmed it last. */
  readonly crawl: CrawlId
  /** When a page last showed it, changed or not. */
  readonly scrapedAt: number
  readonly firstSeenAt: number
  /** When its content last changed. */
  readonly updatedAt: number
}

export interface RejectedRecord extends RejectedRow {
  readonly reason: 'invalid' | 'quarantined'
}

export interface KindCount {
  readonly spider: string
  readonly kind: string
  /** Rows of this kind (of this crawl, if asked for by crawl: rows it wrote or confirmed last). */
  readonly records: number
  readonly rejected: number
  /** Writes skipped by the freshness window; a repeated call counts again. */
  readonly fresh: number
  readonly unchanged: number
}
