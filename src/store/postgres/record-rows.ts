import type { Json } from '../../url/link.js'
import type { StoredRecord } from '../record-store.js'

/** A row of RECORD_COLUMNS. */
export type RecordColumns = [string, string, string, string, string, Json, string, number, number, number]

export function toRecord(row: RecordColumns): StoredRecord {
  const [spider, site, kind, key, url, data, crawl, scrapedAt, firstSeenAt, updatedAt] = row
  return { spider, site, kind, key, url, data, crawl, scrapedAt, firstSeenAt, updatedAt }
}
