import { SqliteDb } from '../../src/sqlite/db.js'
import { callDirectly } from '../../src/sqlite/direct.js'
import { MemoryRecordStore } from '../../src/store/memory/memory-record-store.js'
import type { RecordStore } from '../../src/store/record-store.js'
import { migrateStore } from '../../src/store/sqlite/schema.js'
import { SqliteRecordStore } from '../../src/store/sqlite/sqlite-record-store.js'
import { SqliteStoreEngine } from '../../src/store/sqlite/sqlite-store-engine.js'
import { auditContract } from '../contract/audit-contract.js'
import { recordSearchContract } from '../contract/record-search-contract.js'

const STORES: Record<string, () => Promise<RecordStore>> = {
  memory: async () => new MemoryRecordStore(),
  sqlite: async () => {
    const db = new SqliteDb(':memory:')
    migrateStore(db)
    return new SqliteRecordStore(callDirectly(db, new SqliteStoreEngine(db)), async () => db.close())
  },
}

for (const [name, open] of Object.entries(STORES)) {
  auditContract(name, open)
  recordSearchContract(name, open)
}
