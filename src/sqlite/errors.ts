import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { ShoalError } from '../errors.js'

/** SQLite's primary result codes (https://sqlite.org/rescode.html) that mean something to us. */
type SqliteCode = 'busy' | 'corrupt' | 'full' | 'io' | 'readonly' | 'cantopen' | 'denied'

const BY_NUMBER: Readonly<Record<number, SqliteCode>> = {
  3: 'denied',
  5: 'busy',
  6: 'busy',
  8: 'readonly',
  10: 'io',
  11: 'corrupt',
  13: 'full',
  14: 'cantopen',
  23: 'denied',
  26: 'corrupt',
}

/** The library leaves the number out when a statement fails while its rows are read: then SQLite's own message says which one it was. */
const BY_MESSAGE: ReadonlyMap<string, SqliteCode> = new Map([
  ['access permission denied', 'denied'],
  ['database is locked', 'busy'],
  ['database table is locked', 'busy'],
  ['attempt to write a readonly database', 'readonly'],
  ['disk I/O error', 'io'],
  ['database disk image is malformed', 'corrupt'],
  ['database or disk is full', 'full'],
  ['unable to open database file', 'cantopen'],
  ['authorization denied', 'denied'],
  ['file is not a database', 'corrupt'],
])

function sqliteCode(error: unknown): SqliteCode | null {
  if (!(error instanceof Error)) return null
  const { errcode } = error as { errcode?: unknown }
  // The lower byte is the primary code, whatever the extended one adds.
  if (typeof errcode === 'number') return BY_NUMBER[errcode & 0xff] ?? null
  return BY_MESSAGE.get(error.message) ?? null
}

export function isBusy(error: unknown): boolean {
  return sqliteCode(error) === 'busy'
}

/** SQLite's error, or one of the file system, as a ShoalError. Anything else is a defect in our SQL and stays as it is. */
export function sqliteError(error: unknown, path: string): unknown {
  if (error instanceof ShoalError) return error
  const { code, message } = error as { code?: unknown; message?: unknown }
  const found = sqliteCode(error)
  if (found === 'full' || code === 'ENOSPC') return diskFull(path, error)
  if (found === 'corrupt') return new ShoalError('db_corrupt', `${path}: ${String(message)}`, { cause: error })
  // Integers of more than 53 bits are selected as text, so none that is stored by us is read as a number.
  if (TOO_LARGE.test(String(message)))
    return new ShoalError('db_corrupt', `${path}: a number is out of range`, { cause: error })
  // Our statements fit the tables that we created: what is missing was there.
  if (SCHEMA_DAMAGED.test(String(message)))
    return new ShoalError('db_corrupt', `${path}: its tables are damaged (${String(message)})`, { cause: error })
  if (found === 'busy') return new ShoalError('db_busy', `${path}: locked by another process`, { cause: error })
  if ((found === 'cantopen' || found === 'io') && isFull(path)) return diskFull(path, error)
  if (found === 'readonly') return new ShoalError('db_unwritable', `${path}: is read-only`, { cause: error })
  if (found !== null || (typeof code === 'string' && UNWRITABLE.has(code)))
    return new ShoalError('db_unwritable', `${path}: cannot be opened or written`, { cause: error })
  return error
}

/** With code ERR_OUT_OF_RANGE, or with none when it happens in the middle of the rows. */
const TOO_LARGE = /^Value is too large to be represented as a JavaScript number/

const SCHEMA_DAMAGED = /^no such (table|column|index)|^malformed database schema|^table \S+ has no column/

const UNWRITABLE: ReadonlySet<string> = new Set(['EACCES', 'EROFS', 'ENOTDIR', 'ENOENT', 'EEXIST', 'EISDIR', 'EPERM'])

function diskFull(path: string, cause: unknown): ShoalError {
  return new ShoalError('disk_full', `${path}: the disk is full`, { cause })
}

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
