import type { StoredRecord } from '../record-store.js'
import type { StoreColumn } from './columns.js'

export type ExportFormat = 'jsonl' | 'csv' | 'parquet' | 'sql' | 'mysql'

export interface ExportResult {
  readonly rows: number
  /** Values that had no column: their field or type appeared after the columns were read, or there were too many. Always 0 for jsonl. */
  readonly leftOut: number
}

/** What a format is given: the records as often as it wants to read them, and where it counts. */
export interface Source {
  records(): AsyncIterable<StoredRecord>
  /** The same, to learn the columns from: counted apart. */
  preview(): AsyncIterable<StoredRecord>
  /** What is exported of a record in addition to its own data: STORE_COLUMNS, or nothing. */
  readonly store: readonly StoreColumn[]
  readonly tally: { rows: number; leftOut: number }
}
