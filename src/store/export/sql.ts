import { createHash } from 'node:crypto'
import type { ColumnType } from '../kind-views.js'
import type { StoredRecord } from '../record-store.js'
import { columnNames, otherTableName, quotedName, quotedText, tableName } from '../sql-names.js'
import { columnName, columnValue, FieldColumns, fieldsOf, STORE_COLUMNS, type StoreColumn } from './columns.js'
import type { Source } from './formats.js'
import type { SqlDialect } from './sql-dialects.js'

/** SQLite takes statements up to a million bytes. */
const STATEMENT_CHARS = 64 * 1024

const IDENTITY = ['_spider', '_site', '_kind', '_key']

interface Table {
  readonly create: string
  readonly places: ReadonlyMap<string, { readonly place: number; readonly type: ColumnType }>
  readonly pending: Insert
}

/**
 * One table for each kind of each spider, then its rows, in one transaction. Loading a file twice, or a later one over it, leaves one row for each
 * record.
 */
export async function* sqlStatements(
  { records, preview, store, tally }: Source,
  dialect: SqlDialect,
): AsyncGenerator<string> {
  const kinds = new Map<string, { spider: string; kind: string; fields: FieldColumns }>()
  for await (const { spider, kind, data } of preview()) {
    const id = JSON.stringify([spider, kind])
    const known = kinds.get(id) ?? { spider, kind, fields: new FieldColumns(dialect.mostFields) }
    kinds.set(id, known)
    known.fields.learn(data)
  }
  const tables = tablesOf(kinds, store, dialect)
  yield dialect.start
  for (const { create } of tables.values()) yield create
  yield dialect.afterTables

  for await (const record of records()) {
    const table = tables.get(JSON.stringify([record.spider, record.kind]))
    if (table === undefined) {
      tally.leftOut += 1
      continue
    }
    const { row, leftOut } = rowOf(record, table, store, dialect)
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
  store: readonly StoreColumn[],
  dialect: SqlDialect,
): Map<string, Table> {
  const taken = new Set<string>()
  const tables = new Map<string, Table>()
  for (const [id, { spider, kind, fields }] of kinds) {
    // Without the columns of the store, a record without fields has no columns at all.
    if (store.length === 0 && fields.columns().length === 0) continue
    const wanted = tableName(spider, kind)
    const name = taken.has(wanted) ? otherTableName(spider, kind) : wanted
    taken.add(name)
    tables.set(id, store.length === 0 ? plainTable(name, fields, dialect) : tableOf(name, fields, dialect))
  }
  return tables
}

/** Only the fields: without an identity there is no key, and loading a file twice adds its rows twice. */
function plainTable(name: string, fields: FieldColumns, dialect: SqlDialect): Table {
  const own = fields.columns()
  const names = columnNames(own.map(({ field }) => dialect.columnName(field))).map(quotedName)
  const columns = names.map((column, place) => `  ${column} ${dialect.types[own[place]?.type ?? 'text']}`)
  return {
    create: `CREATE TABLE IF NOT EXISTS ${quotedName(name)} (\n${columns.join(',\n')}\n)${dialect.tableOptions};\n`,
    places: new Map(own.map(({ field, type }, place) => [field, { place, type }])),
    pending: new Insert(`INSERT INTO ${quotedName(name)} (${names.join(', ')}) VALUES\n`, ';\n'),
  }
}

function tableOf(name: string, fields: FieldColumns, dialect: SqlDialect): Table {
  const own = fields
    .columns()
    .map(({ field, type }) => ({ name: dialect.columnName(columnName(field, STORE_COLUMNS)), field, type }))
  const store = STORE_COLUMNS.map(({ sqlName, type }) => ({ name: sqlName, type }))
  const { idColumn } = dialect
  const reserved = idColumn === null ? [] : ['_id']
  // The store's own columns keep their names whatever the fields are called.
  const names = columnNames([...reserved, ...[...store, ...own].map((column) => column.name)])
    .slice(reserved.length)
    .map(quotedName)
  const types = [...store, ...own].map(({ type }) => dialect.types[type])
  const required = (place: number) => (place < store.length ? ' NOT NULL' : '')
  const columns = names.map((column, place) => `  ${column} ${types[place]}${required(place)},\n`)
  if (idColumn !== null) columns.unshift(`  ${idColumn.name} ${idColumn.type} NOT NULL,\n`)
  const identity = IDENTITY.map(quotedName)
  const key = idColumn === null ? identity : [idColumn.name]
  const written = idColumn === null ? names : [idColumn.name, ...names]
  const updated = names.filter((_, place) => !IDENTITY.includes(store[place]?.name ?? ''))
  const insert = `INSERT INTO ${quotedName(name)} (${written.join(', ')}) VALUES\n`
  return {
    create: `CREATE TABLE IF NOT EXISTS ${quotedName(name)} (\n${columns.join('')}  PRIMARY KEY (${key.join(', ')})\n)${dialect.tableOptions};\n`,
    places: new Map(own.map(({ field, type }, place) => [field, { place: store.length + place, type }])),
    pending: new Insert(insert, `\n${dialect.upsert(key, updated)};\n`),
  }
}

function rowOf(
  record: StoredRecord,
  { places }: Table,
  store: readonly StoreColumn[],
  dialect: SqlDialect,
): { row: string; leftOut: number } {
  const cells: string[] = store.map(({ value, type }) => literal(value(record), type, dialect))
  const row = [...cells, ...new Array<string>(places.size).fill('NULL')]
  let leftOut = 0
  for (const [field, value] of Object.entries(fieldsOf(record.data))) {
    const column = places.get(field)
    const held = column === undefined ? undefined : columnValue(value, column.type)
    if (column === undefined || held === undefined) leftOut += 1
    else row[column.place] = literal(held, column.type, dialect)
  }
  if (dialect.idColumn !== null && store.length > 0) row.unshift(quotedText(hashOf(record)))
  return { row: `(${row.join(', ')})`, leftOut }
}

function hashOf({ spider, site, kind, key }: StoredRecord): string {
  return createHash('sha256')
    .update(JSON.stringify([spider, site, kind, key]))
    .digest('hex')
}

function literal(value: string | number | boolean | null, type: ColumnType, dialect: SqlDialect): string {
  if (value === null) return 'NULL'
  if (typeof value === 'string') return dialect.text(value)
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE'
  return type === 'timestamp' ? dialect.time(value) : String(value)
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
