import { ShoalError } from '../errors.js'
import type { StoreUpkeep } from '../store/maintenance.js'
import type { Session } from './session.js'

/** For the commands that look after the tables of a server. */
export async function withUpkeep<Result>(
  { settings }: Session,
  work: (upkeep: StoreUpkeep) => Promise<Result>,
): Promise<Result> {
  const { openUpkeep } = await import('../wire/backends.js')
  const upkeep = await openUpkeep(settings.store)
  if (upkeep === null) {
    throw new ShoalError('usage', 'records in a file look after themselves: this command is for a store in Postgres', {
      hint: 'Name it with --store postgres://user:password@host/database, or with SHOAL_STORE.',
    })
  }
  try {
    return await work(upkeep)
  } finally {
    await upkeep.close()
  }
}
