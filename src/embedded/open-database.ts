import { existsSync } from 'node:fs'
import { asShoalError } from '../errors.js'
import { SqliteDb } from '../sqlite/db.js'
import { migrateAll } from './migrate-all.js'

/**
 * Opens the file with its tables up to date. A file that cannot be written, on a read-only disk or of another user, is opened for reading, so that
 * `status`, `records` and `export` work on it; the first call that writes fails with `db_unwritable`.
 */
export function openDatabase(file: string): SqliteDb {
  try {
    return openAs(file, 'write')
  } catch (error) {
    if (asShoalError(error).code !== 'db_unwritable' || !existsSync(file)) throw error
    return openAs(file, 'read')
  }
}

function openAs(file: string, access: SqliteDb['access']): SqliteDb {
  const db = new SqliteDb(file, access)
  try {
    migrateAll(db)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}
