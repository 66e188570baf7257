import { randomBytes } from 'node:crypto'
import type { SqliteDb, SqlValue } from '../../sqlite/db.js'
import {
  type ChangePage,
  type ChangeQuery,
  type ChangesLag,
  type Cursor,
  FROM_START,
  foreignCursor,
  type LagQuery,
  makeCursor,
  type OutletClaim,
  type OutletHold,
  type OutletInfo,
  type OutletNote,
  readCursor,
} from '../changes.js'
import { RECORD_COLUMNS, type RecordPageRow, toPageRow } from './record-rows.js'

/** Rows looked at in one call, wanted or not: other calls wait a few milliseconds. */
const LOOK_AT = 5_000

/** A page of the feed, as the database has it. */
export interface ChangeRows extends Omit<ChangePage, 'records'> {
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
 * The change feed on one SQLite connection. A restored file gives its old numbers out again, so a number alone is no place in history: each
 * connection that changes anything puts a mark of its own before its first change, and a cursor carries the last mark before it.
 */
export class SqliteChanges {
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

  changes(query: ChangeQuery): ChangeRows {
    const { spider = null, kinds, after, limit } = query
    const sql = this.#sql
    const from = this.#positionOf(after)
    // The end first: what another process commits between the two statements has a larger number, and waits for the next call.
    const [end = null, looked] = sql.lookedAt.get(from, LOOK_AT) ?? []
    if (end === null)
      return { rows: [], cursor: after === FROM_START ? this.#cursorAt(Math.max(from, 0)) : after, more: false }
    const found = sql.changes.all(from, spider, kindsText(kinds), end, limit)
    const rows = found.map(toPageRow)
    const full = rows.length >= limit
    const last = full ? Number(found.at(-1)?.at(-1)) : Number(end)
    return { rows, cursor: this.#cursorAt(last), more: full || looked === LOOK_AT }
  }

  end(): Cursor {
    return this.#cursorAt(numberOf(this.#sql.last.get()))
  }

  ofCrawl(crawl: string): Cursor {
    return String(this.#sql.ofCrawl.get(crawl)?.[0] ?? FROM_START)
  }

  lag(query: LagQuery): ChangesLag {
    const { spider = null, kinds, after, most } = query
    const [records, oldestAt] = this.#sql.lag.get(this.#positionOf(after), spider, kindsText(kinds), most) ?? []
    return { records: Number(records), oldestAt: oldestAt === null ? null : Number(oldestAt) }
  }

  claim({ name, spider, kinds, holder, forMs, epoch: renewed }: OutletClaim): OutletHold | null {
    const sql = this.#sql
    if (renewed === undefined) sql.addOutlet.run(name, randomBytes(8).toString('hex'), spider)
    const row = sql.claim.get(name, holder, forMs, kindsText(kinds), spider, renewed ?? null)
    if (row === undefined) return null
    const [id, epoch, cursor] = row as [string, number, string]
    return { id, epoch, cursor }
  }

  release(name: string, holder: string): void {
    this.#sql.release.run(name, holder)
  }

  note(name: string, holder: string, { cursor, sent, trimmed, error, stop }: OutletNote): boolean {
    this.#positionOf(cursor)
    return this.#sql.note.run(name, holder, cursor, sent, trimmed, error, stop ? 1 : 0) === 1
  }

  outlets(): OutletInfo[] {
    return this.#sql.outlets.all().map((row) => {
      const [name, spider, kinds, cursor, holder, sent, sentAt, trimmed, error, stopped] = row as [
        string,
        string,
        string | null,
        string,
        string | null,
        number,
        number | null,
        number,
        string | null,
        number,
      ]
      const known = kinds === null ? null : (JSON.parse(kinds) as string[])
      return { name, spider, kinds: known, cursor, holder, sent, sentAt, trimmed, error, stopped: stopped === 1 }
    })
  }

  reset(name: string, spider: string, cursor: Cursor | null): void {
    if (cursor !== null) this.#positionOf(cursor)
    this.#sql.addOutlet.run(name, randomBytes(8).toString('hex'), spider)
    this.#sql.reset.run(name, cursor)
  }

  /** Below every change for the start. Refuses what is not of this history. */
  #positionOf(cursor: Cursor): number {
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

function kindsText(kinds: readonly string[] | null | undefined): string | null {
  return kinds === undefined || kinds === null ? null : JSON.stringify(kinds)
}

function numberOf(row: SqlValue[] | undefined): number {
  return Number(row?.[0])
}

/** Milliseconds since 1970, by the clock that all processes of this file share. */
const NOW = `CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)`

function statements(db: SqliteDb) {
  // ?1 is the cursor, ?2 the spider, ?3 its kinds as a list in JSON.
  const waiting = `FROM records r CROSS JOIN record_sets s ON s.id = r.set_id CROSS JOIN names c ON c.id = r.crawl_id
    WHERE r.change > ?1 AND (?2 IS NULL OR s.spider = ?2) AND (?3 IS NULL OR s.kind IN (SELECT value FROM json_each(?3)))`
  return {
    last: db.prepare('SELECT last FROM change_counter'),
    setLast: db.prepare('UPDATE change_counter SET last = ?'),
    addMark: db.prepare('INSERT OR IGNORE INTO change_marks (mark, change) VALUES (?, ?)'),
    markAt: db.prepare('SELECT mark FROM change_marks WHERE change <= ? ORDER BY change DESC LIMIT 1'),
    ofCrawl: db.prepare('SELECT changes_from FROM crawl_notes WHERE crawl = ?'),
    lookedAt: db.prepare(
      'SELECT max(change), count(*) FROM (SELECT change FROM records WHERE change > ? ORDER BY change LIMIT ?)',
    ),
    changes: db.prepare(`SELECT ${RECORD_COLUMNS}, r.change ${waiting} AND r.change <= ?4 ORDER BY r.change LIMIT ?5`),
    lag: db.prepare(
      `SELECT (SELECT count(*) FROM (SELECT 1 ${waiting} LIMIT ?4)), (SELECT r.updated_at ${waiting} ORDER BY r.change LIMIT 1)`,
    ),
    addOutlet: db.prepare(
      `INSERT INTO outlets (name, id, spider, kinds, cursor, epoch, holder, held_until, sent, sent_at, trimmed, error, stopped)
       VALUES (?, ?, ?, NULL, '', 0, NULL, 0, 0, NULL, 0, NULL, 0) ON CONFLICT (name) DO NOTHING`,
    ),
    claim: db.prepare(
      `UPDATE outlets SET epoch = epoch + (holder IS NOT ?2), holder = ?2, held_until = ${NOW} + ?3, kinds = ?4, spider = ?5
       WHERE name = ?1 AND stopped = 0 AND (holder IS NULL OR holder = ?2 OR held_until <= ${NOW})
         AND (?6 IS NULL OR (holder = ?2 AND epoch = ?6))
       RETURNING id, epoch, cursor`,
    ),
    release: db.prepare('UPDATE outlets SET holder = NULL, held_until = 0 WHERE name = ?1 AND holder = ?2'),
    note: db.prepare(
      `UPDATE outlets SET cursor = ?3, sent = sent + ?4, sent_at = CASE WHEN ?4 > 0 THEN ${NOW} ELSE sent_at END,
         trimmed = trimmed + ?5, error = ?6, stopped = ?7
       WHERE name = ?1 AND holder = ?2`,
    ),
    outlets: db.prepare(
      `SELECT name, spider, kinds, cursor, CASE WHEN held_until > ${NOW} THEN holder END, sent, sent_at, trimmed, error, stopped
       FROM outlets ORDER BY name`,
    ),
    reset: db.prepare(
      'UPDATE outlets SET cursor = coalesce(?2, cursor), error = NULL, stopped = 0, holder = NULL, held_until = 0 WHERE name = ?1',
    ),
  }
}
