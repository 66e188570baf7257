import { SqliteFrontierEngine } from '../frontier/sqlite/sqlite-engine.js'
import { SqliteNotesEngine } from '../notes/sqlite/sqlite-notes-engine.js'
import { SqliteLedgerEngine } from '../proxy/sqlite/sqlite-ledger-engine.js'
import type { SqliteDb } from '../sqlite/db.js'
import { migrateStore } from '../store/sqlite/schema.js'

/** Brings the tables of every part up to date: queue and records may be in one file, and each part finds its own. */
export function migrateAll(db: SqliteDb): void {
  SqliteFrontierEngine.migrate(db)
  SqliteNotesEngine.migrate(db)
  SqliteLedgerEngine.migrate(db)
  migrateStore(db)
}
