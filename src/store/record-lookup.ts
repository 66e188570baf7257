import type { StoredRecord } from './rows.js'

/** Stored records by what a page produced: many at once, because a call costs more than a row. */
export interface RecordLookup {
  /** The records with these keys, in order; null where there is none. */
  byKeys(keys: readonly RecordKey[]): Promise<(LeasedRecord | null)[]>
  /** Records that these very readings wrote or confirmed last and that are not among `given`, in any order. */
  leftOver(spider: string, readings: readonly PageReading[], given: readonly GivenKey[]): Promise<PageRecord[]>
}

/** As they are stored (see prepare.ts). */
export type RecordKey = Pick<StoredRecord, 'spider' | 'site' | 'kind' | 'key'>

/** With the lease that wrote or confirmed it last. */
export interface LeasedRecord extends StoredRecord {
  readonly gen: number
  readonly epoch: string
  readonly identity: string | null
}

export interface PageReading {
  readonly url: string
  readonly gen: number
  readonly epoch: string
}

export type GivenKey = Omit<RecordKey, 'spider'>

export type PageRecord = RecordKey & PageReading
