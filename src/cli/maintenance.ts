import { ShoalError } from '../errors.js'
import type { StoreMaintenance } from '../store/maintenance.js'
import { type Session, whileOpen } from './session.js'

/** For the commands that maintain the tables of a Postgres store. */
export async function withMaintenance<Result>(
  session: Session,
  work: (maintenance: StoreMaintenance) => Promise<Result>,
): Promise<Result> {
  const { openMaintenance } = await import('../wire/backends.js')
  session.noteAddresses()
  const maintenance = await openMaintenance(session.settings.store)
  if (maintenance === null) {
    throw new ShoalError('usage', 'SQLite needs no maintenance; this command is for Postgres', {
      hint: 'Pass --store postgres://user:password@host/database, or set SHOAL_STORE.',
    })
  }
  return whileOpen(maintenance, work)
}
