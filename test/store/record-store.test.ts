import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SqliteDb } from '../../src/sqlite/db.js'
import { memoryRecordStore } from '../../src/store/memory/memory-record-store.js'
import { migrateStore } from '../../src/store/sqlite/schema.js'
import { recordStoreContract } from '../contract/record-store-contract.js'
import { sqliteStoreOn } from '../support/sqlite-store.js'

recordStoreContract('memory', async () => memoryRecordStore())

recordStoreContract('sqlite', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'shoal-store-'))
  const db = new SqliteDb(join(dir, 'shoal.db'))
  migrateStore(db)
  return sqliteStoreOn(db, async () => {
    db.close()
    await rm(dir, { recursive: true })
  })
})
