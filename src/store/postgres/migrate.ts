import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { ShoalError } from '../../errors.js'
import { version } from '../../version.js'
import type { MigrationBegins, PendingMigration } from '../maintenance.js'
import type { Pg } from './pg.js'

/** What stands in the ledger. */
interface Applied {
  readonly number: number
  readonly name: string
  readonly breaking: boolean
}

/** The same path from src and from dist, so that there is one copy of the files. */
const FOLDER = new URL('../../../src/store/postgres/migrations/', import.meta.url)

/** One that older workers cannot live with says `-- breaking` in its first line. */
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
  const [[ledger] = [null]] = await pg.query<[string | null]>(
    { name: 'migrations-ledger', text: `SELECT to_regclass('shoal.migrations')::text` },
    [],
  )
  if (ledger === null) return { pending: known, empty: true }
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

const LEDGER = {
  name: 'create-ledger',
  text: `CREATE TABLE IF NOT EXISTS shoal.migrations (
    number integer PRIMARY KEY, name text NOT NULL, breaking boolean NOT NULL, sql_hash text NOT NULL, shoal_version text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now())`,
}

/**
 * Applies what is missing, all in one transaction. Two at once: the second waits, and finds nothing to do. The row of the ledger goes first,
 * so that whoever came without the lock fails before anything is changed.
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
    await tx.query(LEDGER, [])
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

/** Asked for only when it is not there: somebody who may use a schema need not be allowed to make one. */
async function makeSchema(tx: Pg, schema: string): Promise<void> {
  const there = await tx.query({ name: 'find-schema', text: 'SELECT 1 FROM pg_namespace WHERE nspname = $1' }, [schema])
  if (there.length === 0) await tx.script(`CREATE SCHEMA ${schema}`)
}
