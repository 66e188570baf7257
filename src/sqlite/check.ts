import { statSync } from 'node:fs'
import { asShoalError } from '../errors.js'
import { SqliteDb } from './db.js'
import { type RowRules, storedRows, tablesOf } from './stored-rows.js'

export interface DatabaseCheck {
  readonly bytes: number
  /** Of its write-ahead log. */
  readonly walBytes: number
  /** What is wrong with it, the first few; empty when the file is intact. */
  readonly problems: readonly string[]
}

/** What a program knows about its tables, in addition to what SQLite knows of every file. */
export interface ContentRules extends RowRules {
  /** Sums that do not add up. */
  contradictions(db: SqliteDb): string[]
}

const PROBLEMS_SHOWN = 10

/**
 * Takes the write lock once, checks every page of the file and reads every row. Throws what opening or writing throws. All of it is one moment of the
 * database: a crawl may be running.
 */
export function checkDatabase(path: string, rules: ContentRules): DatabaseCheck {
  const db = new SqliteDb(path)
  try {
    db.transaction(() =>
      db.exec('CREATE TABLE IF NOT EXISTS migrations (part TEXT PRIMARY KEY, version INTEGER NOT NULL)'),
    )
    db.exec('BEGIN')
    const problems = [...pageProblems(db), ...rowProblems(db, rules)].slice(0, PROBLEMS_SHOWN)
    db.exec('ROLLBACK')
    return { bytes: sizeOf(path), walBytes: sizeOf(`${path}-wal`), problems }
  } finally {
    db.close()
  }
}

/** SQLite's own check, of pages, indexes and constraints. */
function pageProblems(db: SqliteDb): string[] {
  const lines = db.prepare(`PRAGMA integrity_check(${PROBLEMS_SHOWN})`).all()
  return lines.flatMap(([text]) => (text === 'ok' ? [] : String(text).split('\n')))
}

function rowProblems(db: SqliteDb, rules: ContentRules): string[] {
  const problems: string[] = []
  try {
    for (const table of tablesOf(db)) {
      for (const { key, damage } of storedRows(db, table, rules, (where) =>
        problems.push(`${table}: ${where} unreadable`),
      )) {
        if (damage !== null) problems.push(`${damage} (row ${key})`)
        if (problems.length >= PROBLEMS_SHOWN) return problems
      }
    }
    return problems.length > 0 ? problems : rules.contradictions(db)
  } catch (error) {
    return [...problems, asShoalError(error).message]
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
