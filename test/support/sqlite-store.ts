import type { SqliteDb } from '../../src/sqlite/db.js'
import { callDirectly } from '../../src/sqlite/direct.js'
import type { RecordStore } from '../../src/store/record-store.js'
import { sqliteRecordStore } from '../../src/store/sqlite/sqlite-record-store.js'
import { storeEngines } from '../../src/store/sqlite/store-engines.js'

/** A store on a connection of the test's own thread. */
export function sqliteStoreOn(db: SqliteDb, close = async () => db.close()): RecordStore {
  const engines = storeEngines(db)
  return sqliteRecordStore((part) => callDirectly(db, engines[part]), close)
}
