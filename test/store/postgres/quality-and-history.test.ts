import { afterAll, beforeAll } from 'vitest'
import { entitiesContract } from '../../contract/entities-contract.js'
import { fieldStatsContract } from '../../contract/field-stats-contract.js'
import { historyContract } from '../../contract/history-contract.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { emptyPostgresStore } from './opened.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.end())

for (const contract of [fieldStatsContract, historyContract, entitiesContract])
  contract('postgres', () => emptyPostgresStore(server.address()))
