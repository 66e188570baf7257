import type { SqlValue } from '../../sqlite/db.js'
import type { StoredRecord } from '../record-store.js'

/** A stored row as it leaves the engine: data is still text, `id` continues a scan. */
export type RecordPageRow = Omit<StoredRecord, 'data'> & { readonly id: number; readonly data: string }

/** What `toPageRow` reads, of `records r` with `record_sets s` and the crawl's name `c`. */
export const RECORD_COLUMNS =
  'r.id, s.spider, s.site, s.kind, r.key, r.url, r.data, c.name, r.seen_at, r.first_seen_at, r.updated_at'

export function toPageRow(row: SqlValue[]): RecordPageRow {
  const [id, spider, site, kind, key, url, data, crawl, scrapedAt, firstSeenAt, updatedAt] = row as [
    number,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    number,
    number,
    number,
  ]
  return { id, spider, site, kind, key, url, data, crawl, scrapedAt, firstSeenAt, updatedAt }
}

export function storedRecord({ id: _id, data, ...row }: RecordPageRow): StoredRecord {
  return { ...row, data: JSON.parse(data) }
}
