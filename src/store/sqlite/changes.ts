import { randomBytes } from 'node:crypto'
import type { SqliteDb, SqlValue } from '../../sqlite/db.js'
import { type EngineCall, forward, type SqliteEngine } from '../../sqlite/engine.js'
import {
  type ChangePage,
  type ChangeQuery,
  type Changes,
  type ChangesLag,
  type Cursor,
  FROM_START,
  foreignCursor,
  type LagQuery,
  makeCursor,
  readCursor,
} from '../changes.js'
import { RECORD_COLUMNS, type RecordPageRow, storedRecord, toPageRow } from './record-rows.js'

/** Rows read in one call, whether they match or not: other calls wait a few milliseconds. */
const READ_AT_ONCE = 5_000

/** A page of changes, as the database has it. */
interface ChangeRows extends Omit<ChangePage, 'records'> {
  readonly rows: RecordPageRow[]
}

/** The changes of one batch: numbers are taken inside its write transaction, so that they are committed in their order. */
export interface ChangeNumbers {
  /** The number of the next change. */
  readonly next: number
  /** It was used. */
  used(): void
  /** At the end of the batch. */
  keep(): void
}

/**
 * The stream of changes on one SQLite connection. A restored file gives its old numbers out again, so a number alone is no place in history:
 * each connection that changes anything puts a mark of its own before its first change, and a cursor carries the last mark before it.
 */
export class SqliteChanges implements SqliteEngine {
  readonly reads: ReadonlySet<string> = new Set(['read', 'end', 'startOf', 'lag'])
  readonly #sql: ReturnType<typeof statements>
  readonly #mark = randomBytes(8).toString('hex')

  constructor(db: SqliteDb) {
    this.#sql = statements(db)
  }

  numbers(): ChangeNumbers {
    const sql = this.#sql
    const mark = this.#mark
    let first: number | null = null
    let next = 0
    return {
      get next() {
        if (first === null) {
          next = numberOf(sql.last.get()) + 1
          first = next
        }
        return next
      },
      used() {
        next++
      },
      keep() {
        if (first === null || next === first) return
        sql.setLast.run(next - 1)
        sql.addMark.run(mark, first)
      },
    }
  }

  read(query: ChangeQuery): ChangeRows {
    const { spider = null, kinds, after, limit } = query
    const sql = this.#sql
    const from = this.positionOf(after)
    // The end first: what another process commits between the two statements has a larger number, and waits for the next call.
    const [end = null, read] = sql.readTo.get(from, READ_AT_ONCE) ?? []
    if (end === null)
      return { rows: [], cursor: after === FROM_START ? this.#cursorAt(Math.max(from, 0)) : after, more: false }
    const found = sql.changes.all(from, spider, kindsText(kinds), end, limit)
    const rows = found.map(toPageRow)
    const full = rows.length >= limit
    const last = full ? Number(found.at(-1)?.at(-1)) : Number(end)
    return { rows, cursor: this.#cursorAt(last), more: full || read === READ_AT_ONCE }
  }

  end(): Cursor {
    return this.#cursorAt(numberOf(this.#sql.last.get()))
  }

  startOf(crawl: string): Cursor {
    return String(this.#sql.startOf.get(crawl)?.[0] ?? FROM_START)
  }

  lag(query: LagQuery): ChangesLag {
    const { spider = null, kinds, after, most } = query
    const [records, oldestAt] = this.#sql.lag.get(this.positionOf(after), spider, kindsText(kinds), most) ?? []
    return { records: Number(records), oldestAt: oldestAt === null ? null : Number(oldestAt) }
  }

  /** Below every change for the start. Throws `cursor_foreign` for what is not of this history. */
  positionOf(cursor: Cursor): number {
    const read = readCursor(cursor)
    if (read === null) return -1
    const position = Number(read.position)
    if (position > numberOf(this.#sql.last.get()) || this.#markAt(position) !== read.mark) throw foreignCursor()
    return position
  }

  #cursorAt(position: number): Cursor {
    return makeCursor(position, this.#markAt(position))
  }

  #markAt(position: number): string {
    return String(this.#sql.markAt.get(position)?.[0])
  }
}

export function changesOver(call: EngineCall<SqliteChanges>): Changes {
  return {
    ...forward(call, 'end', 'startOf', 'lag'),
    async read(query) {
      const { rows, ...page } = await call('read', query)
      return { records: rows.map(storedRecord), ...page }
    },
  }
}

export function kindsText(kinds: readonly string[] | null | undefined): string | null {
  return kinds === undefined || kinds === null ? null : JSON.stringify(kinds)
}

function numberOf(row: SqlValue[] | undefined): number {
  return Number(row?.[0])
}

function statements(db: SqliteDb) {
  // ?1 is the cursor, ?2 the spider, ?3 its kinds as a list in JSON.
  const waiting = `FROM records r CROSS JOIN record_sets s ON s.id = r.set_id CROSS JOIN names c ON c.id = r.crawl_id
    WHERE r.change > ?1 AND (?2 IS NULL OR s.spider = ?2) AND (?3 IS NULL OR s.kind IN (SELECT value FROM json_each(?3)))`
  return {
    last: db.prepare('SELECT last FROM change_counter'),
    setLast: db.prepare('UPDATE change_counter SET last = ?'),
    addMark: db.prepare('INSERT OR IGNORE INTO change_marks (mark, change) VALUES (?, ?)'),
    markAt: db.prepare('SELECT mark FROM change_marks WHERE change <= ? ORDER BY change DESC LIMIT 1'),
    startOf: db.prepare('SELECT changes_from FROM crawl_notes WHERE crawl = ?'),
    readTo: db.prepare(
      'SELECT max(change), count(*) FROM (SELECT change FROM records WHERE change > ? ORDER BY change LIMIT ?)',
    ),
    changes: db.prepare(`SELECT ${RECORD_COLUMNS}, r.change ${waiting} AND r.change <= ?4 ORDER BY r.change LIMIT ?5`),
    lag: db.prepare(
      `SELECT (SELECT count(*) FROM (SELECT 1 ${waiting} LIMIT ?4)), (SELECT r.updated_at ${waiting} ORDER BY r.change LIMIT 1)`,
    ),
  }
}
