import { SqliteDb } from '../../src/sqlite/db.js'
import { callDirectly } from '../../src/sqlite/direct.js'
import { MemoryRecordStore } from '../../src/store/memory/memory-record-store.js'
import { migrateStore } from '../../src/store/sqlite/schema.js'
import { SqliteRecordStore } from '../../src/store/sqlite/sqlite-record-store.js'
import { SqliteStoreEngine } from '../../src/store/sqlite/sqlite-store-engine.js'
import { keptPagesContract } from '../contract/kept-pages-contract.js'

keptPagesContract('memory', async () => new MemoryRecordStore())

keptPagesContract('sqlite', async () => {
  const db = new SqliteDb(':memory:')
  migrateStore(db)
  return new SqliteRecordStore(callDirectly(db, new SqliteStoreEngine(db)), async () => db.close())
})
