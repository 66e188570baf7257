import { afterAll, beforeAll } from 'vitest'
import { auditContract } from '../../contract/audit-contract.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { emptyPostgresStore } from './opened.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.end())

for (const contract of [auditContract]) contract('postgres', () => emptyPostgresStore(server.address()))
