import { SqliteDb } from '../../src/sqlite/db.js'
import { memoryRecordStore } from '../../src/store/memory/memory-record-store.js'
import { migrateStore } from '../../src/store/sqlite/schema.js'
import { visitsContract } from '../contract/visits-contract.js'
import { sqliteStoreOn } from '../support/sqlite-store.js'

visitsContract('memory', async () => memoryRecordStore())
visitsContract('sqlite', async () => {
  const db = new SqliteDb(':memory:')
  migrateStore(db)
  return sqliteStoreOn(db)
})
