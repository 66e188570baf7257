import type { EngineCall } from '../../sqlite/engine.js'
import type { ProxyLedger } from '../proxy-ledger.js'
import { packAsks, packReports } from './packed.js'
import type { SqliteLedgerEngine } from './sqlite-ledger-engine.js'

/** The embedded ledger: each method is a call of the engine, which runs elsewhere. */
export function sqliteLedger(call: EngineCall<SqliteLedgerEngine>): ProxyLedger {
  return {
    grant: (asks) => call('grant', packAsks(asks)),
    report: (reports) => call('report', packReports(reports)),
    scores: (pool, { limit, after }) => call('scores', pool, limit, after ?? null),
    scoresOn: (pool, site) => call('scoresOn', pool, site),
    wake: (pool, proxy) => call('wake', pool, proxy),
  }
}
