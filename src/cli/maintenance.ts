import { ShoalError } from '../errors.js'
import type { StoreMaintenance } from '../store/maintenance.js'
import type { Session } from './session.js'

/** For the commands that look after the tables of a server. */
export async function withMaintenance<Result>(
  { settings }: Session,
  work: (maintenance: StoreMaintenance) => Promise<Result>,
): Promise<Result> {
  const { openMaintenance } = await import('../wire/backends.js')
  const maintenance = await openMaintenance(settings.store)
  if (maintenance === null) {
    throw new ShoalError('usage', 'records in a file look after themselves: this command is for a store in Postgres', {
      hint: 'Name it with --store postgres://user:password@host/database, or with SHOAL_STORE.',
    })
  }
  try {
    return await work(maintenance)
  } finally {
    await maintenance.close()
  }
}
