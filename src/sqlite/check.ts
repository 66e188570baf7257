import { statSync } from 'node:fs'
import { SqliteDb } from './db.js'

export interface DatabaseCheck {
  readonly bytes: number
  /** Of its write-ahead log. */
  readonly walBytes: number
  /** What SQLite finds wrong; empty when the file is intact. */
  readonly problems: readonly string[]
}

/** Takes the write lock once and reads the whole file. Throws what opening or writing throws. */
export function checkDatabase(path: string): DatabaseCheck {
  const db = new SqliteDb(path)
  try {
    db.transaction(() =>
      db.exec('CREATE TABLE IF NOT EXISTS migrations (part TEXT PRIMARY KEY, version INTEGER NOT NULL)'),
    )
    const lines = db
      .prepare('PRAGMA quick_check(10)')
      .all()
      .map((row) => String(row[0]))
    return { bytes: sizeOf(path), walBytes: sizeOf(`${path}-wal`), problems: lines.filter((line) => line !== 'ok') }
  } finally {
    db.close()
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
