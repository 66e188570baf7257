import { SqliteDb } from '../../src/sqlite/db.js'
import { memoryRecordStore } from '../../src/store/memory/memory-record-store.js'
import type { RecordStore } from '../../src/store/record-store.js'
import { migrateStore } from '../../src/store/sqlite/schema.js'
import { entitiesContract } from '../contract/entities-contract.js'
import { fieldStatsContract } from '../contract/field-stats-contract.js'
import { historyContract } from '../contract/history-contract.js'
import { matchStatsContract } from '../contract/match-stats-contract.js'
import { sqliteStoreOn } from '../support/sqlite-store.js'

const STORES: Record<string, () => Promise<RecordStore>> = {
  memory: async () => memoryRecordStore(),
  sqlite: async () => {
    const db = new SqliteDb(':memory:')
    migrateStore(db)
    return sqliteStoreOn(db)
  },
}

for (const [name, open] of Object.entries(STORES)) {
  fieldStatsContract(name, open)
  historyContract(name, open)
  entitiesContract(name, open)
  matchStatsContract(name, open)
}
