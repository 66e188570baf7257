import { randomBytes } from 'node:crypto'
import type { SqliteDb } from '../../sqlite/db.js'
import { type EngineCall, forward, type SqliteEngine } from '../../sqlite/engine.js'
import type { Cursor } from '../changes.js'
import type { OutletClaim, OutletHold, OutletInfo, OutletNote, Outlets } from '../outlets.js'
import { rowReader } from '../row-reader.js'
import { kindsText, type SqliteChanges } from './changes.js'

export class SqliteOutlets implements SqliteEngine {
  readonly reads: ReadonlySet<string> = new Set(['list'])
  readonly #sql: ReturnType<typeof statements>
  readonly #changes: SqliteChanges

  constructor(db: SqliteDb, changes: SqliteChanges) {
    this.#sql = statements(db)
    this.#changes = changes
  }

  claim({ name, spider, kinds, holder, forMs, epoch: renewed }: OutletClaim): OutletHold | null {
    const sql = this.#sql
    if (renewed === undefined) sql.add.run(name, randomBytes(8).toString('hex'), spider)
    const row = sql.claim.get(name, holder, forMs, kindsText(kinds), spider, renewed ?? null)
    if (row === undefined) return null
    const [id, epoch, cursor] = row as [string, number, string]
    return { id, epoch, cursor }
  }

  release(name: string, holder: string): void {
    this.#sql.release.run(name, holder)
  }

  note(name: string, holder: string, { cursor, sent, trimmed, error, stop }: OutletNote): boolean {
    this.#changes.positionOf(cursor)
    return this.#sql.note.run(name, holder, cursor, sent, trimmed, error, stop ? 1 : 0) === 1
  }

  list(): OutletInfo[] {
    return this.#sql.list.all().map((row) => {
      const { kinds, stopped, ...info } = toInfo(row)
      return { ...info, kinds: kinds === null ? null : (JSON.parse(kinds) as string[]), stopped: stopped === 1 }
    })
  }

  reset(name: string, spider: string, cursor: Cursor | null): void {
    if (cursor !== null) this.#changes.positionOf(cursor)
    this.#sql.add.run(name, randomBytes(8).toString('hex'), spider)
    this.#sql.reset.run(name, cursor)
  }
}

const toInfo = rowReader<Omit<OutletInfo, 'kinds' | 'stopped'> & { kinds: string | null; stopped: number }>(
  ...(['name', 'spider', 'kinds', 'cursor', 'holder', 'sent', 'sentAt', 'trimmed', 'error', 'stopped'] as const),
)

export function outletsOver(call: EngineCall<SqliteOutlets>): Outlets {
  return forward(call, 'claim', 'release', 'note', 'list', 'reset')
}

/** Milliseconds since 1970, by the clock that all processes of this file share. */
const NOW = `CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)`

function statements(db: SqliteDb) {
  return {
    add: db.prepare(
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
    list: db.prepare(
      `SELECT name, spider, kinds, cursor, CASE WHEN held_until > ${NOW} THEN holder END, sent, sent_at, trimmed, error, stopped
       FROM outlets ORDER BY name`,
    ),
    reset: db.prepare(
      'UPDATE outlets SET cursor = coalesce(?2, cursor), error = NULL, stopped = 0, holder = NULL, held_until = 0 WHERE name = ?1',
    ),
  }
}
