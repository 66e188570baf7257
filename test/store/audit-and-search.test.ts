import { expect, it } from 'vitest'
import { SqliteDb } from '../../src/sqlite/db.js'
import { AUDIT_KEPT } from '../../src/store/audit.js'
import { memoryRecordStore } from '../../src/store/memory/memory-record-store.js'
import type { RecordStore } from '../../src/store/record-store.js'
import { migrateStore } from '../../src/store/sqlite/schema.js'
import { auditContract } from '../contract/audit-contract.js'
import { recordSearchContract } from '../contract/record-search-contract.js'
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
  auditContract(name, open)
  recordSearchContract(name, open)
}

it('sqlite: of the audit log the newest entries stay', async () => {
  const db = new SqliteDb(':memory:')
  migrateStore(db)
  const store = sqliteStoreOn(db)
  db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${AUDIT_KEPT + 50})
    INSERT INTO audit (at, by, action, target, details, result) SELECT i, 'b', 'a', 't', '{}', 'ok' FROM n`)
  await store.audit.log({ at: 0, by: 'b', action: 'a', target: 'newest', details: {}, result: 'ok' })
  expect(db.prepare('SELECT count(*), min(at) FROM audit WHERE at > 0').get()).toEqual([AUDIT_KEPT - 1, 52])
  expect((await store.audit.entries({ limit: 1 })).entries).toMatchObject([{ target: 'newest' }])
  await store.close()
})
