import { SqliteDb } from '../../src/sqlite/db.js'
import { memoryRecordStore } from '../../src/store/memory/memory-record-store.js'
import { migrateStore } from '../../src/store/sqlite/schema.js'
import { keptPagesContract } from '../contract/kept-pages-contract.js'
import { sqliteStoreOn } from '../support/sqlite-store.js'

keptPagesContract('memory', async () => memoryRecordStore())

keptPagesContract('sqlite', async () => {
  const db = new SqliteDb(':memory:')
  migrateStore(db)
  return sqliteStoreOn(db)
})
