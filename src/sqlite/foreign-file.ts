import { constants, DatabaseSync } from '@photostructure/sqlite'

/** How long a reader waits for a program that is writing the file. */
const BUSY_TIMEOUT_MS = 5_000

const { SQLITE_SELECT, SQLITE_READ, SQLITE_FUNCTION, SQLITE_RECURSIVE, SQLITE_PRAGMA } = constants
const READING: ReadonlySet<number> = new Set([SQLITE_SELECT, SQLITE_READ, SQLITE_FUNCTION, SQLITE_RECURSIVE])

/** A value as it is stored: text is not decoded, so neither bytes that are not UTF-8 nor a NUL inside it are lost. */
export interface StoredValue {
  readonly type: 'null' | 'integer' | 'real' | 'text' | 'blob'
  readonly bytes: Uint8Array | null
}

/**
 * One column of a query over a file that is not ours. The file is opened read-only, and the query may do nothing but read: no PRAGMA, ATTACH or VACUUM INTO, which
 * would write other files, and no extensions. `choose` is given the names of the columns.
 */
export function* readColumn(
  path: string,
  query: string,
  choose: (names: readonly string[]) => number,
): Generator<StoredValue> {
  const db = new DatabaseSync(path, {
    readOnly: true,
    returnArrays: true,
    timeout: BUSY_TIMEOUT_MS,
    enableForeignKeyConstraints: false,
  })
  try {
    db.exec('PRAGMA trusted_schema = OFF')
    db.setAuthorizer((action, name) => (mayRun(action, name) ? constants.SQLITE_OK : constants.SQLITE_DENY))
    const columns = db.prepare(query).columns()
    const names = columns.map((_, index) => `c${index}`)
    const chosen = names[choose(columns.map(({ name }) => name))]
    // As a part of another query it can be one statement only, and each value can be read as bytes.
    const statement = db.prepare(
      `WITH shoal_rows (${names.join(', ')}) AS (\n${withoutSemicolon(query)}\n) SELECT typeof(${chosen}), CAST(${chosen} AS BLOB) FROM shoal_rows`,
    )
    for (const [type, bytes] of statement.iterate() as Iterable<[StoredValue['type'], Uint8Array | null]>)
      yield { type, bytes }
  } finally {
    db.close()
  }
}

/** Full-text tables ask for the data version before they read. */
function mayRun(action: number, name: string | null): boolean {
  return READING.has(action) || (action === SQLITE_PRAGMA && name === 'data_version')
}

function withoutSemicolon(query: string): string {
  const trimmed = query.trimEnd()
  return trimmed.endsWith(';') ? trimmed.slice(0, -1) : trimmed
}
