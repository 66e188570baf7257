import { systemClock } from '../../../src/clock.js'
import { openPostgresStore } from '../../../src/store/postgres/open-postgres.js'
import type { PostgresRecordStore } from '../../../src/store/postgres/postgres-record-store.js'

let schemas = 0

/** An empty store in a schema of its own: making one takes a tenth of making a database. */
export function emptyPostgresStore(address: string): Promise<PostgresRecordStore> {
  schemas += 1
  return openPostgresStore(`${address}?schema=shoal_${process.pid}_${schemas}`, { clock: systemClock, create: true })
}
