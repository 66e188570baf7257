import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { ShoalError } from '../../errors.js'
import { version } from '../../version.js'
import type { MigrationBegins, PendingMigration } from '../maintenance.js'
import type { Pg } from './pg.js'

/** A row of shoal.migrations. */
interface Applied {
  readonly number: number
  readonly name: string
  readonly breaking: boolean
}

/** The same path from src and from dist, so that there is one copy of the files. */
const FOLDER = new URL('../../../src/store/postgres/migrations/', import.meta.url)

/** A migration that older workers cannot work with says `-- breaking` in its first line. */
export function knownMigrations(): PendingMigration[] {
  return readdirSync(FOLDER)
    .filter((name) => /^\d{4}-[a-z0-9-]+\.sql$/.test(name))
    .sort()
    .map((file) => {
      const sql = readFileSync(new URL(file, FOLDER), 'utf8')
      return { number: Number(file.slice(0, 4)), name: file.slice(5, -4), breaking: /^-- breaking\b/.test(sql), sql }
    })
}

export interface Pending {
  /** In the order in which they will be applied. */
  readonly pending: readonly PendingMigration[]
  /** The schema has no tables of Shoal yet. */
  readonly empty: boolean
}

/** What is missing. Refuses a schema that a newer version has changed so that this one cannot work with it. */
export async function pendingMigrations(pg: Pg, known = knownMigrations()): Promise<Pending> {
  const [[table] = [null]] = await pg.query<[string | null]>(
    { name: 'migrations-table', text: `SELECT to_regclass('shoal.migrations')::text` },
    [],
  )
  if (table === null) return { pending: known, empty: true }
  const rows = await pg.query<[number, string, boolean]>(
    { name: 'migrations', text: 'SELECT number, name, breaking FROM shoal.migrations ORDER BY number' },
    [],
  )
  const applied = rows.map(([number, name, breaking]): Applied => ({ number, name, breaking }))
  refuseNewer(applied, known)
  const there = new Set(applied.map(({ number }) => number))
  return { pending: known.filter(({ number }) => !there.has(number)), empty: applied.length === 0 }
}

function refuseNewer(applied: readonly Applied[], known: readonly PendingMigration[]): void {
  const newest = known.at(-1)?.number ?? 0
  const newer = applied.find(({ number, breaking }) => breaking && number > newest)
  if (newer === undefined) return
  throw new ShoalError(
    'store_newer',
    `the Postgres store is at ${newer.number} (${newer.name}); this version of Shoal knows it up to ${newest}`,
  )
}

const MIGRATIONS_TABLE = {
  name: 'create-migrations',
  text: `CREATE TABLE IF NOT EXISTS shoal.migrations (
    number integer PRIMARY KEY, name text NOT NULL, breaking boolean NOT NULL, sql_hash text NOT NULL, shoal_version text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now())`,
}

/**
 * Applies what is missing, all in one transaction. Two at once: the second waits, and finds nothing to do. The row in shoal.migrations
 * is written first, so that a process without the lock fails before anything is changed.
 */
export async function migrate(
  pg: Pg,
  schema: string,
  known = knownMigrations(),
  onBegin: MigrationBegins = () => {},
): Promise<readonly PendingMigration[]> {
  return pg.transaction(async (tx) => {
    await tx.query({ name: 'migration-lock', text: `SELECT pg_advisory_xact_lock(hashtext('shoal.migrate'))` }, [])
    await makeSchema(tx, schema)
    await tx.query(MIGRATIONS_TABLE, [])
    const { pending } = await pendingMigrations(tx, known)
    for (const [done, migration] of pending.entries()) {
      const { number, name, breaking, sql } = migration
      onBegin(migration, done, pending.length)
      await tx.query(
        {
          name: 'note-migration',
          text: 'INSERT INTO shoal.migrations (number, name, breaking, sql_hash, shoal_version) VALUES ($1, $2, $3, $4, $5)',
        },
        [number, name, breaking, createHash('sha256').update(sql).digest('hex'), version],
      )
      await tx.script(sql)
    }
    return pending
  })
}

/** Only when it is missing: a role may use a schema without being allowed to create one. */
async function makeSchema(tx: Pg, schema: string): Promise<void> {
  const there = await tx.query({ name: 'find-schema', text: 'SELECT 1 FROM pg_namespace WHERE nspname = $1' }, [schema])
  if (there.length === 0) await tx.script(`CREATE SCHEMA ${schema}`)
}
