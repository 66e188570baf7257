import { closeSync, existsSync, openSync, readSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'libsql'
import { ShoalError } from '../errors.js'
import { makeDirs } from '../make-dirs.js'

export type SqlValue = string | number | bigint | null | Uint8Array

/** A prepared statement. Rows are arrays in column order: libsql's row objects carry a metadata field and cost twice as much. */
export interface Statement {
  all(...params: SqlValue[]): SqlValue[][]
  get(...params: SqlValue[]): SqlValue[] | undefined
  /** Rows changed. */
  run(...params: SqlValue[]): number
}

/** How long a writer waits for another process before it fails with `db_busy`. */
const BUSY_TIMEOUT_MS = 15_000

/**
 * One connection to one SQLite file, behind which the library can be swapped. libsql rounds integers of more than
 * 53 bits that it reads: select them as text.
 */
export class SqliteDb {
  readonly path: string
  readonly #db: Database.Database
  readonly #begin: Statement
  readonly #commit: Statement
  readonly #rollback: Statement

  constructor(path: string) {
    this.path = path
    try {
      if (path !== ':memory:') {
        makeDirs(dirname(path))
        refuseOtherFiles(path)
      }
      this.#db = new Database(path, { timeout: 0 })
      // NORMAL: a commit survives a crash of the process; a power cut may lose the last moments, never the file.
      whileBusy(() => this.#db.exec('PRAGMA journal_mode = WAL'))
      this.#db.exec('PRAGMA synchronous = NORMAL')
      this.#db.exec('PRAGMA cache_size = -16384')
      // Pages change many times between checkpoints: with 32 MB of WAL a crawl spends half as much time on moving them as with the default of 4.
      this.#db.exec('PRAGMA wal_autocheckpoint = 8000')
      this.#db.exec('PRAGMA temp_store = MEMORY')
      this.#db.exec('PRAGMA foreign_keys = OFF')
    } catch (error) {
      throw sqliteError(error, path)
    }
    this.#begin = this.prepare('BEGIN IMMEDIATE')
    this.#commit = this.prepare('COMMIT')
    this.#rollback = this.prepare('ROLLBACK')
  }

  prepare(sql: string): Statement {
    const guarded = <T>(work: () => T): T => {
      try {
        return whileBusy(work)
      } catch (error) {
        throw sqliteError(error, this.path)
      }
    }
    const statement = guarded(() => this.#db.prepare(sql))
    // A change with RETURNING yields rows; raw() throws for statements that yield none.
    if (/^\s*(select|with|pragma)\b|\breturning\b/i.test(sql)) statement.raw(true)
    // Parameters are passed as one array: libsql mistakes a single null for an object of named parameters.
    return {
      all: (...params) => guarded(() => statement.all(params) as SqlValue[][]),
      get: (...params) => guarded(() => statement.get(params) as SqlValue[] | undefined),
      run: (...params) => guarded(() => statement.run(params).changes),
    }
  }

  exec(sql: string): void {
    try {
      whileBusy(() => this.#db.exec(sql))
    } catch (error) {
      throw sqliteError(error, this.path)
    }
  }

  /** Takes the write lock first, so that what is read inside stays true until the commit. Not nested. */
  transaction<T>(work: () => T): T {
    this.#begin.run()
    try {
      const result = work()
      this.#commit.run()
      return result
    } catch (error) {
      try {
        this.#rollback.run()
      } catch {
        // SQLite has already rolled back (disk full, I/O error): the first error is the one to report.
      }
      throw error
    }
  }

  /**
   * Brings one part's tables up to date. Migrations are numbered by their place in the list and never edited once released;
   * the version is written in the same transaction.
   */
  migrate(part: string, migrations: readonly string[]): void {
    this.transaction(() => {
      this.exec('CREATE TABLE IF NOT EXISTS migrations (part TEXT PRIMARY KEY, version INTEGER NOT NULL)')
      const row = this.prepare('SELECT version FROM migrations WHERE part = ?').get(part)
      const version = row === undefined ? 0 : Number(row[0])
      if (version > migrations.length) {
        throw new ShoalError(
          'db_newer',
          `${this.path}: its ${part} tables have version ${version}, this Shoal knows ${migrations.length}`,
        )
      }
      if (version === migrations.length) return
      this.prepare(
        'INSERT INTO migrations (part, version) VALUES (?, ?) ON CONFLICT DO UPDATE SET version = excluded.version',
      ).run(part, migrations.length)
      for (const migration of migrations.slice(version)) this.exec(migration)
    })
  }

  close(): void {
    this.#db.close()
  }
}

/** The waits of SQLite's own busy handler; the last one repeats. */
const BUSY_WAITS_MS = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100]
const never = new Int32Array(new SharedArrayBuffer(4))

/** Waits here and not inside SQLite: terminating a thread while libsql waits aborts the process. */
function whileBusy<T>(work: () => T): T {
  let waitedMs = 0
  for (let turn = 0; ; turn++) {
    try {
      return work()
    } catch (error) {
      if (waitedMs >= BUSY_TIMEOUT_MS || !BUSY.test(textOf(error))) throw error
      const ms = BUSY_WAITS_MS[Math.min(turn, BUSY_WAITS_MS.length - 1)] ?? 0
      Atomics.wait(never, 0, 0, ms)
      waitedMs += ms
    }
  }
}

const BUSY = /SQLITE_(BUSY|LOCKED)|database is locked/

function textOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown }
  return `${String(code)} ${String(message)}`
}

const MAGIC = Buffer.from('SQLite format 3\0')

/** SQLite takes a file of one byte for an empty database, and would overwrite it. */
function refuseOtherFiles(path: string): void {
  if (!existsSync(path)) return
  const start = Buffer.alloc(MAGIC.length)
  const file = openSync(path, 'r')
  try {
    const length = readSync(file, start)
    if (length === 0 || start.equals(MAGIC)) return
  } finally {
    closeSync(file)
  }
  throw new ShoalError('db_corrupt', `${path}: file is not a database`)
}

/** SQLite's error as a ShoalError. Anything else is a defect in our SQL. */
function sqliteError(error: unknown, path: string): unknown {
  if (error instanceof ShoalError) return error
  const { message } = error as { message?: unknown }
  const text = textOf(error)
  if (/SQLITE_FULL|database or disk is full|ENOSPC/.test(text))
    return new ShoalError('disk_full', `${path}: the disk is full`, { cause: error })
  if (/SQLITE_(CORRUPT|NOTADB)|not a database|malformed/.test(text))
    return new ShoalError('db_corrupt', `${path}: ${String(message)}`, { cause: error })
  if (BUSY.test(text)) return new ShoalError('db_busy', `${path}: locked by another process`, { cause: error })
  if (/SQLITE_(CANTOPEN|IOERR)|Unable to open/.test(text) && isFull(path))
    return new ShoalError('disk_full', `${path}: the disk is full`, { cause: error })
  if (UNWRITABLE.test(text)) {
    return new ShoalError('db_unwritable', `${path}: cannot be opened or written`, { cause: error })
  }
  return error
}

const UNWRITABLE =
  /SQLITE_(CANTOPEN|READONLY|PERM|IOERR|AUTH)|Unable to open|EACCES|EROFS|ENOTDIR|ENOENT|EEXIST|EISDIR|EPERM|readonly database/

/** What SQLite needs to grow the index of its log by one step. */
const LEAST_FREE_BYTES = 32_768

/** The index of the log is mapped memory: when the disk is too full for it, SQLite reports a plain I/O error. */
function isFull(path: string): boolean {
  try {
    const { blocks, bavail, bsize } = statfsSync(dirname(path))
    return blocks > 0 && bavail * bsize < LEAST_FREE_BYTES
  } catch {
    return false
  }
}
