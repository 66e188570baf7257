import type { Json } from '../../url/link.js'
import type { StoredRecord } from '../record-store.js'

/** Beyond this the data is a dictionary, not a table; the rest is counted as left out. */
const MAX_COLUMNS = 2000

/** What the store knows of a record, behind the record's own fields and told apart from them by the underscore. */
const STORE_COLUMNS: readonly [name: string, value: (record: StoredRecord) => string][] = [
  ['_spider', (record) => record.spider],
  ['_site', (record) => record.site],
  ['_kind', (record) => record.kind],
  ['_key', (record) => record.key],
  ['_url', (record) => record.url],
  ['_crawl', (record) => record.crawl],
  ['_scrapedAt', (record) => isoTime(record.scrapedAt)],
  ['_firstSeenAt', (record) => isoTime(record.firstSeenAt)],
  ['_updatedAt', (record) => isoTime(record.updatedAt)],
]

/** The columns of a set of records: every field in the order in which it was first met. */
export class CsvTable {
  readonly #columns = new Map<string, number>()

  learn(data: Json): void {
    for (const name of Object.keys(fieldsOf(data))) {
      if (!this.#columns.has(name) && this.#columns.size < MAX_COLUMNS) this.#columns.set(name, this.#columns.size)
    }
  }

  header(): string {
    const taken = new Set(STORE_COLUMNS.map(([name]) => name))
    const fields = [...this.#columns.keys()].map((name) => (taken.has(name) ? `data.${name}` : name))
    return line([...fields, ...taken].map(textCell))
  }

  row(record: StoredRecord): { text: string; leftOut: number } {
    const cells = new Array<string>(this.#columns.size).fill('')
    let leftOut = 0
    for (const [name, value] of Object.entries(fieldsOf(record.data))) {
      const column = this.#columns.get(name)
      if (column === undefined) leftOut += 1
      else cells[column] = cell(value)
    }
    for (const [, value] of STORE_COLUMNS) cells.push(textCell(value(record)))
    return { text: line(cells), leftOut }
  }
}

/** Data that is no object has one field. */
function fieldsOf(data: Json): { readonly [name: string]: Json } {
  return typeof data === 'object' && data !== null && !Array.isArray(data)
    ? (data as { [name: string]: Json })
    : { value: data }
}

function cell(value: Json): string {
  if (value === null) return ''
  if (typeof value === 'string') return textCell(value)
  if (typeof value === 'object') return quoted(JSON.stringify(value))
  return String(value)
}

/**
 * A spreadsheet runs text that starts like a formula: such text gets an apostrophe in front (OWASP; full-width signs count too).
 * Numbers are never touched: -5 stays a number.
 */
function textCell(text: string): string {
  return quoted(/^[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text)
}

/** RFC 4180. */
function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

function line(cells: readonly string[]): string {
  return `${cells.join(',')}\r\n`
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
