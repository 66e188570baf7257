import type { StoredRecord } from './rows.js'

/** Stored records by what a page gave: many at once, because a call costs more than a row. */
export interface RecordLookup {
  /** The records with these keys, in order; null where there is none. */
  recordsOf(keys: readonly RecordKey[]): Promise<(LeasedRecord | null)[]>
  /** Which records these very readings wrote or confirmed last, in any order. */
  recordsOfPages(spider: string, readings: readonly PageReading[]): Promise<PageRecord[]>
}

/** As they are stored (see prepare.ts). */
export type RecordKey = Pick<StoredRecord, 'spider' | 'site' | 'kind' | 'key'>

/** With the lease that wrote or confirmed it last. */
export interface LeasedRecord extends StoredRecord {
  readonly gen: number
  readonly epoch: string
}

export interface PageReading {
  readonly url: string
  readonly gen: number
  readonly epoch: string
}

export type PageRecord = RecordKey & PageReading
