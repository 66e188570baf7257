import { asShoalError } from '../../errors.js'
import type { PartitionInfo, StoreMaintenance } from '../../store/maintenance.js'
import type { Session } from '../session.js'
import { bytes, count } from '../terminal/format.js'
import type { Check } from './check.js'

/** Beyond this the next workers may find no connection. */
const CONNECTIONS_WARN = 0.8

/** What `doctor` says of a store on a server; nothing when records are in a file. */
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
      detail: `Postgres ${version}, ${bytes(size)}${lossy ? `; ${undurable.join(', ')}: records can be lost when its machine goes down` : ''}`,
      next: lossy ? 'Switch it on in postgresql.conf, unless losing the last moments is fine.' : '',
    },
    {
      name: 'store connections',
      status: crowded ? 'warn' : 'ok',
      detail: `${count(used)} of ${count(most)} in use`,
      next: crowded ? 'A worker process needs up to 4: raise max_connections, or put PgBouncer in front.' : '',
    },
    {
      name: 'store tables',
      status: pending.length > 0 ? 'warn' : 'ok',
      detail:
        pending.length > 0 ? `${count(pending.length)} to be made or changed` : 'as this version of Shoal needs them',
      next: pending.length > 0 ? 'Run `shoal migrate`; --dry-run shows what it would do.' : '',
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
    detail: here ? `${count(partitions.length)}, the present one among them` : 'none for today',
    next: here ? '' : 'Let the owner of the tables run `shoal retention apply`, which makes them ahead.',
  }
}
