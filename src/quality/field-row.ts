import { type Sketch, unite } from './sketch.js'
import type { ValueType } from './value.js'

export const HOUR_MS = 3_600_000
/** The field name that means the record as a whole: `filled` are the accepted ones, `failed` the rejected ones. */
export const WHOLE_RECORD = ''
/** The site name that means all sites together. */
export const ALL_SITES = ''
/** Fields over the limit, counted together. */
export const OTHER_FIELDS = '(other)'

/**
 * What the records of one hour, kind and site contain for one field. The number of records is in the row of WHOLE_RECORD: an hour in which
 * a field was never filled has no row for it. Rows of many workers and minutes add up to one.
 */
export interface FieldRow extends FieldCounts {
  readonly spider: string
  readonly kind: string
  readonly site: string
  readonly field: string
  /** The start of the hour. */
  readonly hour: number
  /** Of the filled values; only rows of ALL_SITES have one. */
  readonly sketch: Sketch
}

export interface FieldCounts {
  /** Records with a value that their schema accepted. */
  readonly filled: number
  /** Records whose schema refused the field: missing, or not what it should be. */
  readonly failed: number
  /** Filled values by their type. */
  readonly types: TypeCounts
}

export type TypeCounts = Readonly<Record<ValueType, number>>

export function addRows(a: FieldRow, b: FieldRow): FieldRow {
  return { ...a, ...addCounts(a, b), sketch: unite(a.sketch, b.sketch) }
}

export function addCounts(a: FieldCounts, b: FieldCounts): FieldCounts {
  return {
    filled: a.filled + b.filled,
    failed: a.failed + b.failed,
    types: {
      text: a.types.text + b.types.text,
      number: a.types.number + b.types.number,
      boolean: a.types.boolean + b.types.boolean,
      list: a.types.list + b.types.list,
      object: a.types.object + b.types.object,
    },
  }
}

/** One row for each spider, kind, site, field and hour, in this order: writers that lock them in the same order do not deadlock. */
export function addedUp(rows: readonly FieldRow[]): FieldRow[] {
  const sums = new Map<string, FieldRow>()
  for (const row of rows) {
    const id = JSON.stringify([row.spider, row.kind, row.site, row.field, row.hour])
    const sum = sums.get(id)
    sums.set(id, sum === undefined ? row : addRows(sum, row))
  }
  return [...sums.values()].sort(compareRows)
}

function compareRows(a: FieldRow, b: FieldRow): number {
  for (const name of ['spider', 'kind', 'site', 'field'] as const) {
    if (a[name] !== b[name]) return a[name] < b[name] ? -1 : 1
  }
  return a.hour - b.hour
}
