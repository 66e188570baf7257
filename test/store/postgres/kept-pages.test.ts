import { afterAll, beforeAll } from 'vitest'
import { keptPagesContract } from '../../contract/kept-pages-contract.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { emptyPostgresStore } from './opened.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.end())

keptPagesContract('postgres', () => emptyPostgresStore(server.address()))
