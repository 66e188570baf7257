import type { Clock } from '../../clock.js'
import type { SqliteDb, Statement } from '../../sqlite/db.js'
import type { SqliteEngine } from '../../sqlite/engine.js'
import { afterClaim, afterDrop, afterPost, BLANK, goneAt, type NoteState, noteOf } from '../note.js'
import type { Claim, Note } from '../notes.js'

/** See NoteState. The text is stored as bytes: the SQLite library ends a text at its first NUL, and robots.txt files contain some. */
const NOTES_MIGRATIONS = [
  `
  CREATE TABLE notes (
    key TEXT PRIMARY KEY, text BLOB, posted_at REAL NOT NULL, posted_by TEXT NOT NULL, until REAL NOT NULL, holder TEXT NOT NULL,
    held_until REAL NOT NULL, gone_at REAL NOT NULL
  );
  CREATE INDEX notes_gone ON notes (gone_at);
  `,
] as const

/** Expired states removed with each change at most. */
const REMOVED_AT_ONCE = 100

/** The notes on SQLite: synchronous, inside the caller's transaction. */
export class SqliteNotesEngine implements SqliteEngine {
  readonly reads = new Set(['read'])
  readonly #clock: Clock
  readonly #get: Statement
  readonly #put: Statement
  readonly #remove: Statement

  constructor(db: SqliteDb, clock: Clock) {
    this.#clock = clock
    this.#get = db.prepare('SELECT text, posted_at, posted_by, until, holder, held_until FROM notes WHERE key = ?')
    this.#put = db.prepare(
      `INSERT INTO notes (key, text, posted_at, posted_by, until, holder, held_until, gone_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET text = excluded.text, posted_at = excluded.posted_at, posted_by = excluded.posted_by,
         until = excluded.until, holder = excluded.holder, held_until = excluded.held_until, gone_at = excluded.gone_at`,
    )
    this.#remove = db.prepare(
      `DELETE FROM notes WHERE key IN (SELECT key FROM notes WHERE gone_at <= ? LIMIT ${REMOVED_AT_ONCE})`,
    )
  }

  static migrate(db: SqliteDb): void {
    db.migrate('notes', NOTES_MIGRATIONS)
  }

  claim(key: string, holder: string, freshMs: number, forMs: number): Claim {
    const now = this.#clock.now()
    const { claim, state } = afterClaim(this.#state(key), { holder, freshMs, forMs }, now)
    if (claim.kind === 'yours') this.#write(key, state, now)
    return claim
  }

  post(key: string, holder: string, text: string, keepMs: number): boolean {
    const now = this.#clock.now()
    const state = afterPost(this.#state(key), { holder, text, keepMs }, now)
    if (state !== null) this.#write(key, state, now)
    return state !== null
  }

  drop(key: string, holder: string): void {
    this.#write(key, afterDrop(this.#state(key), holder), this.#clock.now())
  }

  read(key: string): Note | null {
    return noteOf(this.#state(key), this.#clock.now())
  }

  #state(key: string): NoteState {
    const row = this.#get.get(key)
    if (row === undefined) return BLANK
    const [text, postedAt, postedBy, until, holder, heldUntil] = row
    return {
      text: text instanceof Uint8Array ? Buffer.from(text).toString() : null,
      postedAt: Number(postedAt),
      postedBy: String(postedBy),
      until: Number(until),
      holder: String(holder),
      heldUntil: Number(heldUntil),
    }
  }

  #write(key: string, state: NoteState, now: number): void {
    const { text, postedAt, postedBy, until, holder, heldUntil } = state
    this.#put.run(
      key,
      text === null ? null : Buffer.from(text),
      postedAt,
      postedBy,
      until,
      holder,
      heldUntil,
      goneAt(state),
    )
    this.#remove.run(now)
  }
}
