import type { FieldRow } from '../quality/field-row.js'
import { cleanText } from './prepare.js'

/**
 * How well the fields of records are filled, hour by hour. Duties of every driver:
 *  - `add` adds counts and unites sketches: many workers add to the same rows. They are statistics: a call whose
 *    answer was lost may be repeated, and then counts those seconds twice.
 *  - Of each spider and kind the newest KEPT_HOURS hours that had records are kept; older ones are deleted when a new hour begins.
 */
export interface FieldStats {
  /** Each row once, in order of spider, kind, site, field, hour (see `addedUp`). */
  add(rows: readonly FieldRow[]): Promise<void>
  /** In the same order. Without `sketches` their sketches are empty, and cost nothing. */
  scan(query: FieldQuery): AsyncIterable<FieldRow>
}

export interface FieldQuery {
  readonly spider?: string
  readonly kind?: string
  readonly site?: string
  /** Hours that began at this time or later. */
  readonly since?: number
  readonly sketches?: boolean
}

/** More than two weeks of a crawl that never ends, a year of one that runs an hour a day. */
export const KEPT_HOURS = 400

/** Names of fields come from pages: what cannot be stored is replaced. */
export function cleanRow(row: FieldRow): FieldRow {
  const field = cleanText(row.field)
  const site = cleanText(row.site)
  return field === row.field && site === row.site ? row : { ...row, field, site }
}
