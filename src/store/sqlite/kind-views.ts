import { createHash } from 'node:crypto'
import { ShoalError } from '../../errors.js'
import type { SqliteDb } from '../../sqlite/db.js'
import type { EngineCall, SqliteEngine } from '../../sqlite/engine.js'
import type { ColumnType, KindColumns, KindViews } from '../kind-views.js'
import { columnNames, quotedName, quotedText, tableName } from '../sql-names.js'

/** SQLite keeps the text of a view, and with it the comment that says for which records it was created. */
export class SqliteKindViews implements SqliteEngine {
  readonly reads: ReadonlySet<string> = new Set()
  readonly #db: SqliteDb

  constructor(db: SqliteDb) {
    this.#db = db
  }

  /** The view's name, quoted. */
  create(kind: KindColumns): string {
    const name = tableName(kind.spider, kind.kind)
    const [type, sql] = this.#db.prepare('SELECT type, sql FROM sqlite_schema WHERE name = ?').get(name) ?? []
    if (type !== undefined && !(type === 'view' && String(sql).includes(madeFor(kind)))) {
      throw new ShoalError('usage', `${name} already exists, and was not created for these records`, {
        hint: 'Rename it, or rename the spider or the kind.',
      })
    }
    this.#db.prepare(`DROP VIEW IF EXISTS ${quotedName(name)}`).run()
    this.#db.prepare(createText(kind)).run()
    return quotedName(name)
  }
}

export function viewsOver(call: EngineCall<SqliteKindViews>): KindViews {
  return { sql: viewText, create: async (kind) => ({ name: await call('create', kind) }), tables: null }
}

function viewText(kind: KindColumns): string {
  return `DROP VIEW IF EXISTS ${quotedName(tableName(kind.spider, kind.kind))};\n${createText(kind)};\n`
}

function madeFor({ spider, kind }: KindColumns): string {
  const id = createHash('sha256')
    .update(JSON.stringify([spider, kind]))
    .digest('hex')
    .slice(0, 16)
  return `/* Made by shoal views. ${id} */`
}

const time = (column: string) => `strftime('%Y-%m-%dT%H:%M:%fZ', ${column} / 1000.0, 'unixepoch')`
const STORE_COLUMNS = [
  ['_site', 's.site'],
  ['_key', 'r.key'],
  ['_url', 'r.url'],
  ['_first_seen_at', time('r.first_seen_at')],
  ['_updated_at', time('r.updated_at')],
  ['_scraped_at', time('r.seen_at')],
  ['_crawl', 'c.name'],
] as const

function createText(kind: KindColumns): string {
  const names = columnNames([...STORE_COLUMNS.map(([name]) => name), ...kind.columns.map(({ field }) => field)])
  const values = [
    ...STORE_COLUMNS.map(([, value]) => value),
    ...kind.columns.map(({ field, type }) => valueText(field, type)),
  ]
  const columns = values.map((value, place) => `  ${value} AS ${quotedName(names[place] ?? '')}`)
  return `CREATE VIEW ${quotedName(tableName(kind.spider, kind.kind))} AS ${madeFor(kind)}
SELECT
${columns.join(',\n')}
FROM record_sets s JOIN records r ON r.set_id = s.id JOIN names c ON c.id = r.crawl_id
WHERE s.spider = ${quotedText(kind.spider)} AND s.kind = ${quotedText(kind.kind)}`
}

const JSON_TYPES: Readonly<Partial<Record<ColumnType, string>>> = {
  integer: `('integer')`,
  number: `('integer', 'real')`,
  boolean: `('true', 'false')`,
}

function valueText(field: string, type: ColumnType): string {
  // A path cannot name every field; a search among the fields can.
  const plain = /^[A-Za-z_][\w-]*$/.test(field) && field !== 'value'
  if (!plain)
    return `(SELECT ${chosen('f.value', 'f.type', type)} FROM json_each(${fields(field)}) f WHERE f.key = ${quotedText(field)})`
  const path = quotedText(`$."${field}"`)
  return chosen(`json_extract(r.data, ${path})`, `json_type(r.data, ${path})`, type)
}

/** Data that is no object has one field. */
function fields(field: string): string {
  return field === 'value'
    ? `CASE json_type(r.data) WHEN 'object' THEN r.data ELSE json_object('value', json(r.data)) END`
    : `CASE json_type(r.data) WHEN 'object' THEN r.data ELSE '{}' END`
}

function chosen(value: string, jsonType: string, type: ColumnType): string {
  const allowed = JSON_TYPES[type]
  if (allowed !== undefined) return `CASE WHEN ${jsonType} IN ${allowed} THEN ${value} END`
  return type === 'json' ? `CASE ${jsonType} WHEN 'text' THEN json_quote(${value}) ELSE ${value} END` : value
}
