import { isUtf8 } from 'node:buffer'
import { ShoalError } from '../errors.js'
import type { SqliteDb, SqlValue } from './db.js'

export interface StoredRow {
  /** The row's number, or its place in a table without numbers. */
  readonly key: string
  readonly values: ReadonlyMap<string, SqlValue>
  /** What is wrong with it, with the column it is in; null when it is sound. */
  readonly damage: string | null
}

/** What no row can say of itself. */
export interface RowRules {
  /** As `table.column`. */
  readonly json: ReadonlySet<string>
  /** Columns of more than 53 bits. */
  readonly large: ReadonlySet<string>
  /** Damage that shows in several columns together. */
  check(table: string, values: ReadonlyMap<string, SqlValue>): string | null
}

interface Column {
  readonly name: string
  readonly type: string
}

/** Rows read at once while nothing is wrong. */
const ROWS_AT_ONCE = 500
const LAST_ROW = 2 ** 53

/** Names of the tables, without SQLite's own. */
export function tablesOf(db: SqliteDb): string[] {
  const sql =
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
  return db
    .prepare(sql)
    .all()
    .map(([name]) => String(name))
}

/**
 * Every row of a table that can be reached, judged. Where pages of the file are broken, it continues behind them: `onGap` is called with what cannot be read.
 */
export function* storedRows(
  db: SqliteDb,
  table: string,
  rules: RowRules,
  onGap: (where: string) => void,
): Generator<StoredRow> {
  const columns = db
    .prepare('SELECT name, type FROM pragma_table_info(?)')
    .all(table)
    .map(([name, type]): Column => ({ name: String(name), type: String(type) }))
  const judged = (row: readonly SqlValue[], key: string) => judgedRow(table, columns, row, key, rules)
  const cells = columns.map(({ name }) => cellsOf(quoted(name))).join(', ')
  const numbered =
    db.prepare("SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?").get(table)?.[0] === 0
  if (!numbered) {
    const reading = attempt(() => db.prepare(`SELECT ${cells} FROM ${quoted(table)}`).all())
    if (reading === null) return onGap('its rows')
    for (const [nth, row] of reading.entries()) yield judged(row, String(nth + 1))
    return
  }
  const from = db.prepare(
    `SELECT CAST(rowid AS TEXT), ${cells} FROM ${quoted(table)} WHERE rowid >= ? ORDER BY rowid LIMIT ?`,
  )
  const read = (start: number, limit: number) => attempt(() => from.all(start, limit))
  for (let start = 0; ; ) {
    const rows = read(start, ROWS_AT_ONCE) ?? read(start, 1)
    if (rows === null) {
      const next = firstReadable(start, (row) => read(row, 1) !== null)
      onGap(next === null ? `rows from ${start} on` : `rows ${start} to ${next - 1}`)
      if (next === null) return
      start = next
      continue
    }
    for (const [key, ...row] of rows) yield judged(row, String(key))
    const last = rows.at(-1)
    if (last === undefined) return
    start = Number(last[0]) + 1
  }
}

/** The first row number from which the table can be read again, found in 2 × log2 steps; null when there is none. */
export function firstReadable(broken: number, isReadable: (row: number) => boolean): number | null {
  let bad = broken
  let step = 1
  while (!isReadable(broken + step)) {
    bad = broken + step
    step *= 2
    if (broken + step > LAST_ROW) return null
  }
  let good = broken + step
  while (good - bad > 1) {
    const middle = Math.floor((bad + good) / 2)
    if (isReadable(middle)) good = middle
    else bad = middle
  }
  return good
}

/** The type of a value and the value, as nothing that reading could change: bytes for text, digits for integers. */
function cellsOf(column: string): string {
  return `typeof(${column}), CASE typeof(${column}) WHEN 'text' THEN CAST(${column} AS BLOB) WHEN 'integer' THEN CAST(${column} AS TEXT) ELSE ${column} END`
}

function judgedRow(
  table: string,
  columns: readonly Column[],
  cells: readonly SqlValue[],
  key: string,
  rules: RowRules,
): StoredRow {
  const values = new Map<string, SqlValue>()
  let damage: string | null = null
  for (const [index, { name, type }] of columns.entries()) {
    const [stored, cell = null] = [String(cells[2 * index]), cells[2 * index + 1]]
    const place = `${table}.${name}`
    const wrong = cellDamage(stored, cell, type, { json: rules.json.has(place), large: rules.large.has(place) })
    if (wrong !== null) damage ??= `${place} ${wrong}`
    values.set(name, storedValue(stored, cell))
  }
  return { key, values, damage: damage ?? rules.check(table, values) }
}

/** The types that a column may hold; SQLite itself keeps what does not fit. */
const FITTING: Readonly<Record<string, readonly string[]>> = {
  INTEGER: ['integer', 'real', 'null'],
  REAL: ['integer', 'real', 'null'],
  TEXT: ['text', 'null'],
}

export function cellDamage(
  stored: string,
  cell: SqlValue,
  declared: string,
  { json, large }: { readonly json: boolean; readonly large: boolean },
): string | null {
  if (FITTING[declared]?.includes(stored) === false) return `holds ${stored} instead of ${declared.toLowerCase()}`
  if (stored === 'integer' && !large && !Number.isSafeInteger(Number(cell))) return `is out of range: ${String(cell)}`
  if (stored !== 'text' || !(cell instanceof Uint8Array)) return null
  if (!isUtf8(cell)) return 'is not UTF-8'
  if (cell.includes(0)) return 'contains a NUL'
  return json && !isJson(Buffer.from(cell).toString()) ? 'is not JSON' : null
}

function storedValue(stored: string, cell: SqlValue): SqlValue {
  if (stored === 'integer') return BigInt(String(cell))
  return stored === 'text' && cell instanceof Uint8Array ? Buffer.from(cell).toString() : cell
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Null when the part of the file that is needed is broken. */
function attempt<Result>(read: () => Result): Result | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof ShoalError && error.code === 'db_corrupt') return null
    throw error
  }
}
