import { existsSync, rmSync } from 'node:fs'
import { ShoalError } from '../errors.js'
import { SqliteDb, type SqlValue } from '../sqlite/db.js'
import { quoted, storedRows, tablesOf } from '../sqlite/stored-rows.js'
import { CONTENT_RULES } from './content-rules.js'
import { migrateAll } from './migrate-all.js'

export interface Salvaged {
  /** Rows copied, by table; tables without rows are left out. */
  readonly saved: Readonly<Record<string, number>>
  /** Rows that could be read and are damaged, with what is wrong; they are not copied. */
  readonly damaged: readonly string[]
  /** Parts of tables that could not be read. */
  readonly unreadable: readonly string[]
  /** False when the queue was damaged: a queue with holes waits for links that are gone. Its crawls are rebuilt from the store by `shoal recover <crawl>`. */
  readonly queueKept: boolean
}

/** The tables of the queue depend on one another: all of them are copied, or none. */
const QUEUE_TABLES: ReadonlySet<string> = new Set([
  'frontier_meta',
  'crawls',
  'hosts',
  'lanes',
  'links',
  'leases',
  'slots',
  'workers',
  'endings',
  'filtered',
  'counts',
  'beats',
  'usage',
  'turns',
])
/** Filled again from the rows they index. */
const DERIVED_TABLES: ReadonlySet<string> = new Set(['migrations', 'record_urls', 'fetch_fps', 'index_runs'])

/** Copies every sound row of a damaged database to a new file, which must not exist. The damaged one is only read. */
export function salvage(from: string, to: string): Salvaged {
  if (existsSync(to))
    throw new ShoalError('usage', `${to} exists already`, { hint: 'Name a file that does not exist yet.' })
  const source = new SqliteDb(from, 'read')
  try {
    return copyTo(to, (target) => copyTables(source, target))
  } finally {
    source.close()
  }
}

/** Without a log next to it: people move the file to its place by its name alone. */
function copyTo(to: string, copy: (target: SqliteDb) => Salvaged): Salvaged {
  const target = new SqliteDb(to)
  let salvaged: Salvaged | null = null
  try {
    migrateAll(target)
    salvaged = target.transaction(() => copy(target))
    target.exec('PRAGMA journal_mode = DELETE')
    return salvaged
  } finally {
    target.close()
    if (salvaged === null) for (const end of ['', '-wal', '-shm']) rmSync(`${to}${end}`, { force: true })
  }
}

function copyTables(source: SqliteDb, target: SqliteDb): Salvaged {
  const present = new Set(tablesOf(source))
  const tables = tablesOf(target).filter((table) => present.has(table) && !DERIVED_TABLES.has(table))
  const [queue, results] = [
    tables.filter((table) => QUEUE_TABLES.has(table)),
    tables.filter((table) => !QUEUE_TABLES.has(table)),
  ]
  const saved: Record<string, number> = {}
  const damaged: string[] = []
  const unreadable: string[] = []
  const copy = (table: string) => {
    const insert = inserter(target, table)
    for (const { key, values, damage } of storedRows(source, table, CONTENT_RULES, (where) =>
      unreadable.push(`${table}: ${where}`),
    )) {
      if (damage !== null) damaged.push(`${damage} (row ${key})`)
      else if (insert(values)) saved[table] = (saved[table] ?? 0) + 1
    }
  }
  for (const table of queue) copy(table)
  const queueKept = damaged.length + unreadable.length === 0 && CONTENT_RULES.contradictions(target).length === 0
  if (!queueKept) {
    for (const table of queue) {
      target.exec(`DELETE FROM ${quoted(table)}`)
      delete saved[table]
    }
  }
  for (const table of results) copy(table)
  return { saved, damaged, unreadable, queueKept }
}

/** Inserts rows of the source; the first one replaces what a new database starts with. */
function inserter(target: SqliteDb, table: string): (values: ReadonlyMap<string, SqlValue>) => boolean {
  const known = new Set(
    target
      .prepare('SELECT name FROM pragma_table_info(?)')
      .all(table)
      .map(([name]) => String(name)),
  )
  let statement: ReturnType<SqliteDb['prepare']> | null = null
  return (values) => {
    const names = [...values.keys()].filter((name) => known.has(name))
    if (statement === null) {
      target.exec(`DELETE FROM ${quoted(table)}`)
      statement = target.prepare(
        `INSERT OR IGNORE INTO ${quoted(table)} (${names.map(quoted).join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
      )
    }
    return statement.run(...names.map((name) => values.get(name) ?? null)) > 0
  }
}
