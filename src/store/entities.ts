import type { StoredRecord } from './rows.js'

/**
 * Records by what they describe (`RecordRow.identity`). Duties of every driver: an identity belongs to the content of its record, so that a
 * record with the same data and another identity is written.
 */
export interface Entities {
  /** In order of identity: records of the same one come one after the other, as they are when the scan comes by. */
  scan(query: EntityQuery): AsyncIterable<IdentifiedRecord>
}

export interface EntityQuery {
  readonly spider: string
  readonly kind: string
  /** Only those of this one; null: only records without any. Default: all that have one. */
  readonly identity?: string | null
}

export interface IdentifiedRecord extends StoredRecord {
  readonly identity: string | null
}
