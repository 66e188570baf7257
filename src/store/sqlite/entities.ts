import type { SqliteDb, SqlValue } from '../../sqlite/db.js'
import type { EngineCall, SqliteEngine } from '../../sqlite/engine.js'
import type { Entities, EntityQuery } from '../entities.js'
import { storedKey } from '../prepare.js'
import { PAGE, RECORD_COLUMNS, type RecordPageRow, storedRecord, toPageRow } from './record-rows.js'

type IdentifiedRow = RecordPageRow & { readonly identity: string | null }

/** Where a scan continues: after this row. */
interface EntityCursor {
  readonly id: number
  readonly identity: string
}

interface EntityPage {
  readonly rows: IdentifiedRow[]
  readonly next: EntityCursor | null
}

export class SqliteEntities implements SqliteEngine {
  readonly reads: ReadonlySet<string> = new Set(['page'])
  readonly #sql: ReturnType<typeof statements>

  constructor(db: SqliteDb) {
    this.#sql = statements(db)
  }

  /** Those of the query among the next `limit` rows after `after`. */
  page({ spider, kind, identity }: EntityQuery, after: EntityCursor | null, limit: number): EntityPage {
    const from = after ?? { id: 0, identity: '' }
    let found: SqlValue[][]
    if (identity === null) found = this.#sql.without.all(from.id, limit)
    else if (identity !== undefined) found = this.#sql.one.all(from.id, limit, storedKey(identity))
    else {
      // In two steps: a comparison of both columns at once would begin each page at the first record of the identity.
      const rest = after === null ? [] : this.#sql.one.all(from.id, limit, from.identity)
      found = [...rest, ...this.#sql.next.all(0, limit - rest.length, from.identity)]
    }
    const last = found.at(-1)
    const full = found.length === limit && last !== undefined
    return {
      rows: found.map(toRow).filter((row) => row.spider === spider && row.kind === kind),
      next: full ? { id: Number(last[0]), identity: String(last[COLUMN] ?? '') } : null,
    }
  }
}

export function entitiesOver(call: EngineCall<SqliteEntities>): Entities {
  return {
    async *scan(query) {
      let after: EntityCursor | null = null
      do {
        const { rows, next }: EntityPage = await call('page', query, after, PAGE)
        for (const { identity, ...row } of rows) yield { ...storedRecord(row), identity }
        after = next
      } while (after !== null)
    },
  }
}

/** Of the identity, behind those of the record. */
const COLUMN = RECORD_COLUMNS.split(',').length

function statements(db: SqliteDb) {
  // Rows of other kinds are read and left out by the caller, so that no call reads more than a page of them.
  const page = (where: string, order: string) =>
    db.prepare(
      `SELECT ${RECORD_COLUMNS}, r.identity
       FROM records r CROSS JOIN record_sets s ON s.id = r.set_id CROSS JOIN names c ON c.id = r.crawl_id
       WHERE r.id > ?1 AND ${where} ORDER BY ${order} LIMIT ?2`,
    )
  return {
    next: page('r.identity > ?3', 'r.identity, r.id'),
    one: page('r.identity = ?3', 'r.id'),
    without: page('r.identity IS NULL', 'r.id'),
  }
}

function toRow(row: SqlValue[]): IdentifiedRow {
  const identity = row[COLUMN]
  return { ...toPageRow(row), identity: typeof identity === 'string' ? identity : null }
}
