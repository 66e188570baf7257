import type { EngineCall } from '../../sqlite/engine.js'
import type { ExitLedger } from '../exit-ledger.js'
import type { SqliteLedgerEngine } from './sqlite-ledger-engine.js'

/** The embedded ledger: each method is a call of the engine, which runs elsewhere. */
export function sqliteLedger(call: EngineCall<SqliteLedgerEngine>): ExitLedger {
  return {
    grant: (asks) => call('grant', asks),
    report: (reports) => call('report', reports),
    scores: (pool, { limit, after }) => call('scores', pool, limit, after ?? null),
    scoresOn: (pool, site) => call('scoresOn', pool, site),
    wake: (pool, exit) => call('wake', pool, exit),
  }
}
