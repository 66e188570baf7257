import { writeFileSync } from 'node:fs'
import { systemClock } from '../../src/clock.js'
import { openPostgresStore } from '../../src/store/postgres/open-postgres.js'
import { startPostgres } from './postgres-server.js'

/** Writes docs/postgres-schema.sql: what the migrations make, for people to read and for reviews to show. */
const server = await startPostgres()
try {
  await (await openPostgresStore(server.address(), { clock: systemClock, create: true })).close()
  writeFileSync(new URL('../../docs/postgres-schema.sql', import.meta.url), server.dumpSchema('shoal'))
} finally {
  await server.end()
}
