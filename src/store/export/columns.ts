import type { Json } from '../../url/link.js'
import type { ColumnType, FieldColumn } from '../kind-views.js'
import type { StoredRecord } from '../record-store.js'

/** With more fields than this the data is a dictionary, not a table; the rest is counted as left out. */
const MAX_COLUMNS = 2000

const SEEN = { text: 1, integer: 2, number: 4, boolean: 8, timestamp: 16, json: 32 } as const

/** The columns of a set of records: every field in the order in which it was first met, with the type that holds all its values. */
export class FieldColumns {
  readonly #seen = new Map<string, number>()
  readonly #most: number

  constructor(most = MAX_COLUMNS) {
    this.#most = most
  }

  learn(data: Json): void {
    const fields = fieldsOf(data)
    for (const field of Object.keys(fields)) {
      const before = this.#seen.get(field)
      if (before === undefined && this.#seen.size >= this.#most) continue
      const value = fields[field] ?? null
      this.#seen.set(field, (before ?? 0) | (value === null ? 0 : SEEN[typeOf(value)]))
    }
  }

  columns(): FieldColumn[] {
    return [...this.#seen].map(([field, seen]) => ({ field, type: typeFor(seen) }))
  }
}

/** Data that is no object has one field. */
export function fieldsOf(data: Json): { readonly [field: string]: Json } {
  return typeof data === 'object' && data !== null && !Array.isArray(data)
    ? (data as { [field: string]: Json })
    : { value: data }
}

function typeFor(seen: number): ColumnType {
  switch (seen) {
    case SEEN.integer:
      return 'integer'
    case SEEN.number:
    case SEEN.number | SEEN.integer:
      return 'number'
    case SEEN.boolean:
      return 'boolean'
    case SEEN.timestamp:
      return 'timestamp'
    case 0:
    case SEEN.text:
    case SEEN.text | SEEN.timestamp:
      return 'text'
    default:
      return 'json'
  }
}

function typeOf(value: string | number | boolean | object): ColumnType {
  switch (typeof value) {
    case 'string':
      return timeOf(value) === null ? 'text' : 'timestamp'
    case 'number':
      return Number.isSafeInteger(value) ? 'integer' : 'number'
    case 'boolean':
      return 'boolean'
    default:
      return 'json'
  }
}

const TIME = /^[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?(?:Z|[+-]\d\d:\d\d)$/

/** Milliseconds of an instant written as `2026-11-15T12:00:00Z`; null for any other text, finer times and days that do not exist too. */
function timeOf(text: string): number | null {
  if (text.length < 20 || !TIME.test(text)) return null
  const at = Date.parse(text)
  // Date.parse takes February 31st for March 3rd.
  const day = Number(text.slice(8, 10))
  return Number.isNaN(at) || new Date(`${text.slice(0, 10)}T00:00:00Z`).getUTCDate() !== day ? null : at
}

/** A value as its column holds it: times in milliseconds, JSON as text. Undefined: it does not fit. */
export function columnValue(value: Json, type: ColumnType): string | number | boolean | null | undefined {
  if (value === null) return null
  if (type === 'json') return JSON.stringify(value)
  if (typeof value === 'object') return undefined
  const own = typeOf(value)
  if (type === 'timestamp') return own === 'timestamp' ? (timeOf(String(value)) ?? undefined) : undefined
  if (own === type || (type === 'number' && own === 'integer') || (type === 'text' && own === 'timestamp')) return value
  return undefined
}

export interface StoreColumn {
  readonly name: string
  /** The same for SQL, where capitals need quotes. */
  readonly sqlName: string
  readonly type: 'text' | 'timestamp'
  value(record: StoredRecord): string | number
}

/** What the store knows of a record, after the record's own fields, and distinguished from them by the underscore. */
export const STORE_COLUMNS: readonly StoreColumn[] = [
  { name: '_spider', sqlName: '_spider', type: 'text', value: (record) => record.spider },
  { name: '_site', sqlName: '_site', type: 'text', value: (record) => record.site },
  { name: '_kind', sqlName: '_kind', type: 'text', value: (record) => record.kind },
  { name: '_key', sqlName: '_key', type: 'text', value: (record) => record.key },
  { name: '_url', sqlName: '_url', type: 'text', value: (record) => record.url },
  { name: '_crawl', sqlName: '_crawl', type: 'text', value: (record) => record.crawl },
  { name: '_scrapedAt', sqlName: '_scraped_at', type: 'timestamp', value: (record) => record.scrapedAt },
  { name: '_firstSeenAt', sqlName: '_first_seen_at', type: 'timestamp', value: (record) => record.firstSeenAt },
  { name: '_updatedAt', sqlName: '_updated_at', type: 'timestamp', value: (record) => record.updatedAt },
]

const TAKEN = new Set(STORE_COLUMNS.map(({ name }) => name))

/** A field that is called like a column of the store has another name, if those columns are exported too. */
export function columnName(field: string, store: readonly StoreColumn[]): string {
  return store.length > 0 && TAKEN.has(field) ? `data.${field}` : field
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
