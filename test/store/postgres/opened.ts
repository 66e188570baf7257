import { systemClock } from '../../../src/clock.js'
import { openPostgresStore } from '../../../src/store/postgres/open-postgres.js'
import type { RecordStore } from '../../../src/store/record-store.js'

let schemas = 0

/** An empty store in a schema of its own: making one takes a tenth of making a database. */
export function emptyPostgresStore(address: string): Promise<RecordStore> {
  schemas += 1
  return openPostgresStore(`${address}?schema=shoal_${process.pid}_${schemas}`, { clock: systemClock, create: true })
}
