import { afterAll, beforeAll } from 'vitest'
import { recordStoreContract } from '../../contract/record-store-contract.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { emptyPostgresStore } from './opened.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.end())

recordStoreContract('postgres', () => emptyPostgresStore(server.address()))
