import type { Clock } from '../../clock.js'
import { ShoalError } from '../../errors.js'
import type { RecordStore } from '../record-store.js'
import { parsePostgres } from './address.js'
import { followRestore } from './follow-restore.js'
import { migrate, pendingMigrations } from './migrate.js'
import { makeAhead } from './partitions.js'
import { openPg, type Pg } from './pg.js'
import { postgresRecordStore } from './postgres-record-store.js'

export interface OpenPostgresOptions {
  readonly clock: Clock
  /** Create or update the tables; commands that only read do not. */
  readonly create: boolean
}

/** Connects, checks that this version can work with the tables, and creates or updates them. */
export async function openPostgresStore(address: string, options: OpenPostgresOptions): Promise<RecordStore> {
  const parsed = parsePostgres(address)
  const pg = await openPg(parsed)
  try {
    await refuseOldServers(pg)
    await refuseOtherEncodings(pg)
    await completeTables(pg, parsed.schema, options)
    return postgresRecordStore(pg)
  } catch (error) {
    await pg.close()
    throw error
  }
}

/** Partitions are taken out while others write (DETACH CONCURRENTLY) since 14. */
const OLDEST = 14

async function refuseOldServers(pg: Pg): Promise<void> {
  const text = `SELECT current_setting('server_version'), current_setting('server_version_num')::int / 10000`
  const [[version, major] = ['', 0]] = await pg.query<[string, number]>({ name: 'server-version', text }, [])
  if (major < OLDEST) throw new ShoalError('store_old', `the server is Postgres ${version}`)
}

async function refuseOtherEncodings(pg: Pg): Promise<void> {
  const [[encoding] = ['']] = await pg.query<[string]>(
    { name: 'encoding', text: `SELECT current_setting('server_encoding')` },
    [],
  )
  if (encoding === 'UTF8') return
  throw new ShoalError('store_encoding', `the database keeps its text as ${encoding}, not as UTF8`)
}

async function completeTables(pg: Pg, schema: string, { clock, create }: OpenPostgresOptions): Promise<void> {
  const { pending, empty } = await pendingMigrations(pg)
  if (pending.length > 0) {
    if (!create) throw outdated(empty)
    // Workers of the previous version may be running: a breaking migration waits for `shoal migrate`.
    if (!empty && pending.some(({ breaking }) => breaking)) throw outdated(empty)
    await migrate(pg, schema)
  }
  if (!create) return
  await followRestore(pg)
  try {
    await makeAhead(pg, clock.now())
  } catch (error) {
    // Only the owner of a table can give it a partition. As long as there is one for today, others can write.
    if (!(error instanceof ShoalError) || error.code !== 'store_forbidden') throw error
  }
}

function outdated(empty: boolean): ShoalError {
  return empty
    ? new ShoalError('not_found', 'this Postgres database has no tables of Shoal yet', {
        hint: 'Start a crawl with `shoal run <spider> --store …`, or create them with `shoal migrate --store …`.',
      })
    : new ShoalError('store_outdated', 'the tables in Postgres are older than this version of Shoal needs')
}
