import { afterAll, beforeAll } from 'vitest'
import { SqliteDb } from '../../src/sqlite/db.js'
import { memoryRecordStore } from '../../src/store/memory/memory-record-store.js'
import { migrateStore } from '../../src/store/sqlite/schema.js'
import { blobIndexContract } from '../contract/blob-index-contract.js'
import { type PostgresServer, startPostgres } from '../support/postgres-server.js'
import { sqliteStoreOn } from '../support/sqlite-store.js'
import { emptyPostgresStore } from './postgres/opened.js'

blobIndexContract('memory', async () => {
  const store = memoryRecordStore()
  return { index: store.blobs, close: () => store.close() }
})

blobIndexContract('sqlite', async () => {
  const db = new SqliteDb(':memory:')
  migrateStore(db)
  const store = sqliteStoreOn(db)
  return { index: store.blobs, close: () => store.close() }
})

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.end())

blobIndexContract('postgres', async () => {
  const store = await emptyPostgresStore(server.address())
  return { index: store.blobs, close: () => store.close() }
})
