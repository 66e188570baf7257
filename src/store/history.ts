import type { CrawlId } from '../frontier/frontier.js'
import type { PlainRecord, RecordQuery } from './rows.js'

/**
 * What records were before. Duties of every driver: a row whose kind keeps its history (`RecordRow.history`) leaves the version that
 * is replaced by other data, in the same transaction. What the same lease corrects is no version of its own, unless a reparse did it.
 */
export interface RecordHistory {
  /** Every version of the records with this key, one record after the other, each newest first, beginning with what it is now. */
  versions(query: HistoryQuery): AsyncIterable<RecordVersion>
}

export interface HistoryQuery extends Pick<RecordQuery, 'spider' | 'site' | 'kind'> {
  readonly key: string
}

export interface RecordVersion extends PlainRecord {
  /** The crawl that wrote or confirmed it last. */
  readonly crawl: CrawlId
  /** When it came. */
  readonly from: number
  /** When another one took its place; null: it is what the record is now. */
  readonly until: number | null
}
