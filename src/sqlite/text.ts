import { isUtf8 } from 'node:buffer'
import type { DatabaseSyncInstance, StatementColumnMetadata } from '@photostructure/sqlite'
import { ShoalError } from '../errors.js'

interface Query {
  readonly db: DatabaseSyncInstance
  readonly path: string
  readonly sql: string
  readonly params: readonly unknown[]
  readonly columns: () => readonly StatementColumnMetadata[]
}

const REPLACEMENT = '\ufffd'
const QUERY = /^\s*(select|with)\b/i

/**
 * Bytes that are not UTF-8 are read as U+FFFD, without an error. Shoal writes UTF-8 only, so such bytes are damage to the file; but U+FFFD itself is ordinary
 * content of badly encoded pages. So rows with one are read a second time, as bytes. What a change returns cannot be read again: `doctor` finds its damage.
 */
export function refuseDamagedText(rows: readonly (readonly unknown[])[], query: Query): void {
  if (!rows.some(hasReplacement) || !QUERY.test(query.sql)) return
  const columns = query.columns()
  const names = columns.map((_, index) => `c${index}`)
  const bytes = names.map((name) => `CASE typeof(${name}) WHEN 'text' THEN CAST(${name} AS BLOB) END`)
  const statement = query.db.prepare(
    `WITH shoal_rows (${names.join(', ')}) AS (${query.sql}) SELECT ${bytes.join(', ')}, CAST(c0 AS TEXT) FROM shoal_rows`,
  )
  statement.setReturnArrays(true)
  for (const row of statement.iterate(...query.params) as Iterable<unknown[]>) {
    const at = columns.findIndex((_, index) => isDamaged(row[index]))
    const column = columns[at]
    if (column === undefined) continue
    const where = column.table === null ? column.name : `${column.table}.${column.column}`
    const key = columns[0]?.name === column.name ? '' : `, where ${columns[0]?.name} is ${String(row[names.length])}`
    throw new ShoalError('db_corrupt', `${query.path}: the text in ${where} is not UTF-8${key}`)
  }
}

function hasReplacement(row: readonly unknown[]): boolean {
  for (const value of row) if (typeof value === 'string' && value.includes(REPLACEMENT)) return true
  return false
}

function isDamaged(bytes: unknown): boolean {
  return bytes instanceof Uint8Array && !isUtf8(bytes)
}
