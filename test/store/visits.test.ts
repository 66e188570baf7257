import { SqliteDb } from '../../src/sqlite/db.js'
import { callDirectly } from '../../src/sqlite/direct.js'
import { MemoryRecordStore } from '../../src/store/memory/memory-record-store.js'
import { migrateStore } from '../../src/store/sqlite/schema.js'
import { SqliteRecordStore } from '../../src/store/sqlite/sqlite-record-store.js'
import { SqliteStoreEngine } from '../../src/store/sqlite/sqlite-store-engine.js'
import { visitsContract } from '../contract/visits-contract.js'

visitsContract('memory', async () => new MemoryRecordStore())
visitsContract('sqlite', async () => {
  const db = new SqliteDb(':memory:')
  migrateStore(db)
  return new SqliteRecordStore(callDirectly(db, new SqliteStoreEngine(db)), async () => db.close())
})
