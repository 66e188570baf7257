import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SqliteDb } from '../../src/sqlite/db.js'
import { callDirectly } from '../../src/sqlite/direct.js'
import { MemoryRecordStore } from '../../src/store/memory/memory-record-store.js'
import { migrateStore } from '../../src/store/sqlite/schema.js'
import { SqliteRecordStore } from '../../src/store/sqlite/sqlite-record-store.js'
import { SqliteStoreEngine } from '../../src/store/sqlite/sqlite-store-engine.js'
import { recordStoreContract } from '../contract/record-store-contract.js'

recordStoreContract('memory', async () => new MemoryRecordStore())

recordStoreContract('sqlite', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'shoal-store-'))
  const db = new SqliteDb(join(dir, 'shoal.db'))
  migrateStore(db)
  return new SqliteRecordStore(callDirectly(db, new SqliteStoreEngine(db)), async () => {
    db.close()
    await rm(dir, { recursive: true })
  })
})
