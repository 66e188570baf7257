import { asShoalError } from '../../errors.js'
import type { PartitionInfo, StoreMaintenance } from '../../store/maintenance.js'
import type { Session } from '../session.js'
import { bytes, count, plural } from '../terminal/format.js'

/** One line of `shoal doctor`. */
export interface Check {
  readonly name: string
  readonly status: 'ok' | 'warn' | 'fail'
  readonly detail: string
  /** What to do about it; empty when all is well. */
  readonly next: string
}

/** Over this share of max_connections, the next workers may not get one. */
const CONNECTIONS_WARN = 0.8

/** The checks of `doctor` for a store on a server; none when records are in a file. */
export async function serverStoreChecks({ settings, clock }: Session): Promise<Check[]> {
  const { openMaintenance } = await import('../../wire/backends.js')
  let maintenance: StoreMaintenance | null = null
  try {
    maintenance = await openMaintenance(settings.store)
    return maintenance === null ? [] : await checksOf(maintenance, clock.now())
  } catch (thrown) {
    const error = asShoalError(thrown)
    return [{ name: 'store', status: 'fail', detail: `${error.code}: ${error.message}`, next: error.hint }]
  } finally {
    await maintenance?.close()
  }
}

async function checksOf(maintenance: StoreMaintenance, now: number): Promise<Check[]> {
  const { version, undurable, connections, bytes: size } = await maintenance.about()
  const { used, most } = connections
  const crowded = used > most * CONNECTIONS_WARN
  const lossy = undurable.length > 0
  const pending = await maintenance.pending()
  return [
    {
      name: 'store',
      status: lossy ? 'warn' : 'ok',
      detail: `Postgres ${version}, ${bytes(size)}${lossy ? `; ${undurable.join(', ')}: records can be lost if its machine crashes` : ''}`,
      next: lossy ? 'Turn it on in postgresql.conf, unless you can afford to lose the last few seconds.' : '',
    },
    {
      name: 'store connections',
      status: crowded ? 'warn' : 'ok',
      detail: `${count(used)} of ${count(most)} in use`,
      next: crowded ? 'A worker process uses up to 4: raise max_connections, or put PgBouncer in front.' : '',
    },
    {
      name: 'store tables',
      status: pending.length > 0 ? 'warn' : 'ok',
      detail: pending.length > 0 ? `${plural(pending.length, 'migration')} pending` : 'up to date',
      next: pending.length > 0 ? 'Run `shoal migrate`; add --dry-run to see the SQL first.' : '',
    },
    ...(pending.length > 0 ? [] : [partitionCheck(await maintenance.partitions(), now)]),
  ]
}

function partitionCheck(partitions: readonly PartitionInfo[], now: number): Check {
  const here = partitions.some(
    ({ table, range }) => table === 'fetches' && range !== null && range.from <= now && now < range.to,
  )
  return {
    name: 'store partitions',
    status: here ? 'ok' : 'warn',
    detail: here ? `${count(partitions.length)}, including today's` : 'none for today',
    next: here ? '' : 'Run `shoal retention apply` as the owner of the tables: it creates them ahead of time.',
  }
}
