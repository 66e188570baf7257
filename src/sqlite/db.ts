import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'
import { ShoalError } from '../errors.js'
import { makeDirs } from '../make-dirs.js'
import { isBusy, sqliteError } from './errors.js'
import { refuseDamagedText } from './text.js'

export type SqlValue = string | number | bigint | null | Uint8Array

/** A prepared statement. Rows are arrays in column order. */
export interface Statement {
  all(...params: SqlValue[]): SqlValue[][]
  get(...params: SqlValue[]): SqlValue[] | undefined
  /** Rows changed. */
  run(...params: SqlValue[]): number
}

/** How long a writer waits for another process before it fails with `db_busy`. */
const BUSY_TIMEOUT_MS = 15_000

/**
 * One connection to one SQLite file, behind which the library can be swapped. Text ends at its first NUL, when it is written and when it is read:
 * what may contain one is stored as bytes or as JSON. Integers of more than 53 bits are refused when they are read: select them as text.
 */
export class SqliteDb {
  readonly path: string
  readonly access: 'read' | 'write'
  readonly #db: DatabaseSyncInstance
  readonly #begin: Statement
  readonly #commit: Statement
  readonly #rollback: Statement

  /** `read`: the file is not changed, not even by moving its log into it. */
  constructor(path: string, access: 'read' | 'write' = 'write') {
    this.path = path
    this.access = access
    const readOnly = access === 'read'
    try {
      if (!readOnly && path !== ':memory:') {
        makeDirs(dirname(path))
        if (existsSync(path)) {
          // SQLite would open it for reading, and leave a read-only index of the log behind: with that, nobody can write when the file is writable again.
          accessSync(path, constants.W_OK)
          refuseOtherFiles(path)
        }
      }
      this.#db = new DatabaseSync(readOnly ? readOnlyLocation(path) : path, {
        readOnly,
        timeout: 0,
        returnArrays: true,
        enableForeignKeyConstraints: false,
      })
      // NORMAL: a commit survives a crash of the process; a power cut may lose the last moments, never the file.
      if (!readOnly) whileBusy(() => this.#db.exec('PRAGMA journal_mode = WAL'))
      this.#db.exec('PRAGMA synchronous = NORMAL')
      this.#db.exec('PRAGMA cache_size = -16384')
      // Pages change many times between checkpoints: with 32 MB of WAL a crawl spends half as much time on moving them as with the default of 4.
      this.#db.exec('PRAGMA wal_autocheckpoint = 8000')
      this.#db.exec('PRAGMA temp_store = MEMORY')
    } catch (error) {
      throw sqliteError(error, path)
    }
    this.#begin = this.prepare('BEGIN IMMEDIATE')
    this.#commit = this.prepare('COMMIT')
    this.#rollback = this.prepare('ROLLBACK')
  }

  prepare(sql: string): Statement {
    const statement = this.#guarded(() => this.#db.prepare(sql))
    const checked = (rows: SqlValue[][], params: SqlValue[]): SqlValue[][] => {
      refuseDamagedText(rows, { db: this.#db, path: this.path, sql, params, columns: () => statement.columns() })
      return rows
    }
    return {
      all: (...params) => this.#guarded(() => checked(statement.all(...params), params)),
      get: (...params) =>
        this.#guarded(() => {
          const row: SqlValue[] | undefined = statement.get(...params)
          return row === undefined ? undefined : checked([row], params)[0]
        }),
      run: (...params) => this.#guarded(() => statement.run(...params).changes),
    }
  }

  exec(sql: string): void {
    this.#guarded(() => this.#db.exec(sql))
  }

  #guarded<T>(work: () => T): T {
    try {
      return whileBusy(work)
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
    if (this.access === 'read') {
      this.#requireVersion(part, migrations.length)
      return
    }
    this.transaction(() => {
      this.exec('CREATE TABLE IF NOT EXISTS migrations (part TEXT PRIMARY KEY, version INTEGER NOT NULL)')
      const version = this.#version(part, migrations.length)
      if (version === migrations.length) return
      this.prepare(
        'INSERT INTO migrations (part, version) VALUES (?, ?) ON CONFLICT DO UPDATE SET version = excluded.version',
      ).run(part, migrations.length)
      for (const migration of migrations.slice(version)) this.exec(migration)
    })
  }

  #version(part: string, known: number): number {
    const row = this.prepare('SELECT version FROM migrations WHERE part = ?').get(part)
    const version = row === undefined ? 0 : Number(row[0])
    if (version > known) {
      throw new ShoalError(
        'db_newer',
        `${this.path}: its ${part} tables have version ${version}, this Shoal knows ${known}`,
      )
    }
    return version
  }

  #requireVersion(part: string, known: number): void {
    const hasVersions = this.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'").get() !== undefined
    const version = hasVersions ? this.#version(part, known) : 0
    if (version === known) return
    throw new ShoalError(
      'db_unwritable',
      `${this.path}: is read-only, and its ${part} tables must be updated from version ${version} to ${known} first`,
    )
  }

  close(): void {
    this.#db.close()
  }
}

/** The waits of SQLite's own busy handler; the last one repeats. */
const BUSY_WAITS_MS = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100]
const never = new Int32Array(new SharedArrayBuffer(4))

/** Waits here and not inside SQLite: a thread that is terminated while it is inside the library aborts the process. */
function whileBusy<T>(work: () => T): T {
  let waitedMs = 0
  for (let turn = 0; ; turn++) {
    try {
      return work()
    } catch (error) {
      if (waitedMs >= BUSY_TIMEOUT_MS || !isBusy(error)) throw error
      const ms = BUSY_WAITS_MS[Math.min(turn, BUSY_WAITS_MS.length - 1)] ?? 0
      Atomics.wait(never, 0, 0, ms)
      waitedMs += ms
    }
  }
}

const MAGIC = Buffer.from('SQLite format 3\0')

/** SQLite takes a file of one byte for an empty database, and would overwrite it. */
function refuseOtherFiles(path: string): void {
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

/**
 * To read a database that has a log, SQLite needs the log and its index, and creates them where they are missing: in a read-only folder it fails, and in
 * another it would leave files of the wrong owner behind. Without a log, nobody has the database open, and the file is all there is to read.
 */
function readOnlyLocation(path: string): string {
  if (path === ':memory:' || (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) return path
  return `${pathToFileURL(path).href}?immutable=1`
}
