import type { RecordQuery, StoredRecord } from '../record-store.js'
import { rowReader } from '../row-reader.js'

/** A stored row as it leaves the engine: data is still text, `id` continues a scan. */
export type RecordPageRow = Omit<StoredRecord, 'data'> & { readonly id: number; readonly data: string }

/** Rows read at a time: with the largest records that is 25 MB, with usual ones 40 KB. */
export const PAGE = 100

/** Where a scan continues: after this row. */
export interface RecordCursor {
  readonly id: number
  readonly updatedAt: number
}

/** The engine's half of a scan. */
export interface RecordPages {
  page(query: RecordQuery, after: RecordCursor | null, limit: number): RecordPageRow[]
}

/** What `toPageRow` reads, of `records r` with `record_sets s` and the crawl's name `c`. */
export const RECORD_COLUMNS =
  'r.id, s.spider, s.site, s.kind, r.key, r.url, r.data, c.name, r.seen_at, r.first_seen_at, r.updated_at'

export const toPageRow = rowReader<RecordPageRow>(
  ...(['id', 'spider', 'site', 'kind', 'key', 'url', 'data', 'crawl'] as const),
  ...(['scrapedAt', 'firstSeenAt', 'updatedAt'] as const),
)

export function storedRecord({ id: _id, data, ...row }: RecordPageRow): StoredRecord {
  return { ...row, data: JSON.parse(data) }
}
