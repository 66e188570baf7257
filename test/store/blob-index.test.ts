import { afterAll, beforeAll } from 'vitest'
import { SqliteDb } from '../../src/sqlite/db.js'
import { callDirectly } from '../../src/sqlite/direct.js'
import { MemoryRecordStore } from '../../src/store/memory/memory-record-store.js'
import { migrateStore } from '../../src/store/sqlite/schema.js'
import { SqliteRecordStore } from '../../src/store/sqlite/sqlite-record-store.js'
import { SqliteStoreEngine } from '../../src/store/sqlite/sqlite-store-engine.js'
import { blobIndexContract } from '../contract/blob-index-contract.js'
import { type PostgresServer, startPostgres } from '../support/postgres-server.js'
import { emptyPostgresStore } from './postgres/opened.js'

blobIndexContract('memory', async () => {
  const index = new MemoryRecordStore()
  return { index, close: () => index.close() }
})

blobIndexContract('sqlite', async () => {
  const db = new SqliteDb(':memory:')
  migrateStore(db)
  const index = new SqliteRecordStore(callDirectly(db, new SqliteStoreEngine(db)), async () => db.close())
  return { index, close: () => index.close() }
})

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.end())

blobIndexContract('postgres', async () => {
  const index = await emptyPostgresStore(server.address())
  return { index, close: () => index.close() }
})
