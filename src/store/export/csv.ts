import type { Json } from '../../url/link.js'
import type { StoredRecord } from '../record-store.js'
import { columnName, FieldColumns, fieldsOf, isoTime, type StoreColumn } from './columns.js'
import type { Source } from './formats.js'

export async function* csvLines({ records, preview, store, tally }: Source): AsyncGenerator<string> {
  const fields = new FieldColumns()
  for await (const record of preview()) fields.learn(record.data)
  const columns = fields.columns().map(({ field }) => field)
  const places = new Map(columns.map((field, place) => [field, place]))
  yield line([...columns.map((field) => columnName(field, store)), ...store.map(({ name }) => name)].map(textCell))
  for await (const record of records()) {
    const { cells, leftOut } = cellsOf(record, places, store)
    tally.rows += 1
    tally.leftOut += leftOut
    yield line(cells)
  }
}

function cellsOf(
  record: StoredRecord,
  places: ReadonlyMap<string, number>,
  store: readonly StoreColumn[],
): { cells: string[]; leftOut: number } {
  const cells = new Array<string>(places.size).fill('')
  let leftOut = 0
  for (const [field, value] of Object.entries(fieldsOf(record.data))) {
    const place = places.get(field)
    if (place === undefined) leftOut += 1
    else cells[place] = cell(value)
  }
  for (const { value } of store) {
    const own = value(record)
    cells.push(textCell(typeof own === 'number' ? isoTime(own) : own))
  }
  return { cells, leftOut }
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
