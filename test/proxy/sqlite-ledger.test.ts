import { sqliteLedger } from '../../src/proxy/sqlite/sqlite-ledger.js'
import { SqliteLedgerEngine } from '../../src/proxy/sqlite/sqlite-ledger-engine.js'
import { SqliteDb } from '../../src/sqlite/db.js'
import { callDirectly } from '../../src/sqlite/direct.js'
import { exitLedgerContract, type MakeLedger } from '../contract/exit-ledger-contract.js'
import { exitLedgerProperties } from './ledger-properties.js'

const onSqlite: MakeLedger = async (clock) => {
  const db = new SqliteDb(':memory:')
  SqliteLedgerEngine.migrate(db)
  return { ledger: sqliteLedger(callDirectly(db, new SqliteLedgerEngine(db, clock))), close: async () => db.close() }
}

exitLedgerContract('sqlite', onSqlite)
exitLedgerProperties('sqlite', onSqlite, 60)
