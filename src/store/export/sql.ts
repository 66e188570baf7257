import type { ColumnType } from '../kind-views.js'
import type { StoredRecord } from '../record-store.js'
import { columnNames, otherTableName, quotedName, quotedText, tableName } from '../sql-names.js'
import { columnName, columnValue, FieldColumns, fieldsOf, isoTime, STORE_COLUMNS } from './columns.js'
import type { Source } from './formats.js'

/** SQLite takes statements up to a million bytes and a table up to 2,000 columns; Postgres 1,600. */
const STATEMENT_CHARS = 64 * 1024
const MOST_FIELDS = 1500

const SQL_TYPES: Readonly<Record<ColumnType, string>> = {
  text: 'TEXT',
  integer: 'BIGINT',
  number: 'DOUBLE PRECISION',
  boolean: 'BOOLEAN',
  timestamp: 'TIMESTAMP WITH TIME ZONE',
  json: 'TEXT',
}

const IDENTITY = ['_spider', '_site', '_kind', '_key']

interface Table {
  readonly create: string
  readonly places: ReadonlyMap<string, { readonly place: number; readonly type: ColumnType }>
  readonly pending: Insert
}

/**
 * One table for each kind of each spider, then its rows, in one transaction, in words that Postgres and SQLite both understand. Loading
 * a file twice, or a later one over it, leaves one row for each record.
 */
export async function* sqlStatements({ records, preview, tally }: Source): AsyncGenerator<string> {
  const kinds = new Map<string, { spider: string; kind: string; fields: FieldColumns }>()
  for await (const { spider, kind, data } of preview()) {
    const id = JSON.stringify([spider, kind])
    const known = kinds.get(id) ?? { spider, kind, fields: new FieldColumns(MOST_FIELDS) }
    kinds.set(id, known)
    known.fields.learn(data)
  }
  const tables = tablesOf(kinds)
  yield 'BEGIN;\n'
  for (const { create } of tables.values()) yield create

  for await (const record of records()) {
    const table = tables.get(JSON.stringify([record.spider, record.kind]))
    if (table === undefined) {
      tally.leftOut += 1
      continue
    }
    const { row, leftOut } = rowOf(record, table)
    tally.rows += 1
    tally.leftOut += leftOut
    if (!table.pending.takes(record)) yield table.pending.ended()
    table.pending.add(record, row)
  }
  for (const { pending } of tables.values()) yield pending.ended()
  yield 'COMMIT;\n'
}

function tablesOf(
  kinds: ReadonlyMap<string, { spider: string; kind: string; fields: FieldColumns }>,
): Map<string, Table> {
  const taken = new Set<string>()
  const tables = new Map<string, Table>()
  for (const [id, { spider, kind, fields }] of kinds) {
    const wanted = tableName(spider, kind)
    const name = taken.has(wanted) ? otherTableName(spider, kind) : wanted
    taken.add(name)
    tables.set(id, tableOf(name, fields))
  }
  return tables
}

function tableOf(name: string, fields: FieldColumns): Table {
  const own = fields.columns().map(({ field, type }) => ({ name: columnName(field), field, type }))
  const store = STORE_COLUMNS.map(({ sqlName, type }) => ({ name: sqlName, type }))
  // The store's own columns keep their names whatever the fields are called.
  const names = columnNames([...store, ...own].map((column) => column.name)).map(quotedName)
  const types = [...store, ...own].map(({ type }) => SQL_TYPES[type])
  const required = (place: number) => (place < store.length ? ' NOT NULL' : '')
  const columns = names.map((column, place) => `  ${column} ${types[place]}${required(place)},\n`)
  const key = IDENTITY.map(quotedName).join(', ')
  const updates = names.filter((_, place) => !IDENTITY.includes(store[place]?.name ?? ''))
  const insert = `INSERT INTO ${quotedName(name)} (${names.join(', ')}) VALUES\n`
  const upsert = `\nON CONFLICT (${key}) DO UPDATE SET ${updates.map((column) => `${column} = excluded.${column}`).join(', ')};\n`
  return {
    create: `CREATE TABLE IF NOT EXISTS ${quotedName(name)} (\n${columns.join('')}  PRIMARY KEY (${key})\n);\n`,
    places: new Map(own.map(({ field, type }, place) => [field, { place: store.length + place, type }])),
    pending: new Insert(insert, upsert),
  }
}

function rowOf(record: StoredRecord, { places }: Table): { row: string; leftOut: number } {
  const cells: string[] = STORE_COLUMNS.map(({ value, type }) => literal(value(record), type))
  const row = [...cells, ...new Array<string>(places.size).fill('NULL')]
  let leftOut = 0
  for (const [field, value] of Object.entries(fieldsOf(record.data))) {
    const column = places.get(field)
    const held = column === undefined ? undefined : columnValue(value, column.type)
    if (column === undefined || held === undefined) leftOut += 1
    else row[column.place] = literal(held, column.type)
  }
  return { row: `(${row.join(', ')})`, leftOut }
}

function literal(value: string | number | boolean | null, type: ColumnType): string {
  if (value === null) return 'NULL'
  if (typeof value === 'string') return quotedText(value)
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE'
  return type === 'timestamp' ? quotedText(isoTime(value)) : String(value)
}

/** Rows of one table in one statement, none twice: Postgres refuses to change the same row again. */
class Insert {
  readonly #head: string
  readonly #tail: string
  readonly #records = new Set<string>()
  #rows: string[] = []
  #chars = 0

  constructor(head: string, tail: string) {
    this.#head = head
    this.#tail = tail
  }

  takes(record: StoredRecord): boolean {
    return this.#chars < STATEMENT_CHARS && !this.#records.has(idOf(record))
  }

  add(record: StoredRecord, row: string): void {
    this.#rows.push(row)
    this.#chars += row.length
    this.#records.add(idOf(record))
  }

  ended(): string {
    const text = this.#rows.length === 0 ? '' : this.#head + this.#rows.join(',\n') + this.#tail
    this.#rows = []
    this.#chars = 0
    this.#records.clear()
    return text
  }
}

function idOf({ site, key }: StoredRecord): string {
  return JSON.stringify([site, key])
}
