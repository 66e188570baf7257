import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import type { ProxyLedger } from '../../src/proxy/proxy-ledger.js'
import { packAsks, packReports } from '../../src/proxy/sqlite/packed.js'
import { sqliteLedger } from '../../src/proxy/sqlite/sqlite-ledger.js'
import { SqliteLedgerEngine } from '../../src/proxy/sqlite/sqlite-ledger-engine.js'
import { SqliteDb } from '../../src/sqlite/db.js'
import { callDirectly } from '../../src/sqlite/direct.js'
import { type MakeLedger, proxyLedgerContract } from '../contract/proxy-ledger-contract.js'
import { proxyLedgerProperties } from './ledger-properties.js'

function ledgerOn(db: SqliteDb, clock: ManualClock): ProxyLedger {
  SqliteLedgerEngine.migrate(db)
  return sqliteLedger(callDirectly(db, new SqliteLedgerEngine(db, clock)))
}

const onSqlite: MakeLedger = async (clock) => {
  const db = new SqliteDb(':memory:')
  return { ledger: ledgerOn(db, clock), close: async () => db.close() }
}

/** Two processes on one file that take turns: what one of them keeps in memory is wrong as soon as the other has written. */
const inTurns: MakeLedger = async (clock) => {
  const directory = mkdtempSync(join(tmpdir(), 'shoal-ledger-'))
  const dbs = [1, 2].map(() => new SqliteDb(join(directory, 'shoal.db')))
  const ledgers = dbs.map((db) => ledgerOn(db, clock))
  let turn = 0
  const next = (): ProxyLedger => ledgers[turn++ % 2] as ProxyLedger
  return {
    ledger: {
      grant: (asks) => next().grant(asks),
      report: (reports) => next().report(reports),
      scores: (pool, page) => next().scores(pool, page),
      scoresOn: (pool, site) => next().scoresOn(pool, site),
      wake: (pool, proxy) => next().wake(pool, proxy),
    },
    close: async () => {
      for (const db of dbs) db.close()
      rmSync(directory, { recursive: true })
    },
  }
}

proxyLedgerContract('sqlite', onSqlite)
proxyLedgerProperties('sqlite', onSqlite, 60)
proxyLedgerProperties('sqlite, two processes', inTurns, 15)

it('keeps no row of what was not used for a week', async () => {
  const clock = new ManualClock()
  const db = new SqliteDb(':memory:')
  const ledger = ledgerOn(db, clock)
  const place = { pool: 'p', host: 'a.test', site: 'a.test', limits: { delayMs: 0, concurrency: 1 }, holdMs: 1000 }
  for (let i = 0; i < 10; i++) await ledger.grant([{ ask: `${i}`, proxies: [`x${i}`], ...place }])
  clock.advance(9 * 86_400_000)
  await ledger.grant([{ ask: 'new', proxies: ['y'], ...place }])
  clock.advance(60_000)
  await ledger.grant([{ ask: 'newer', proxies: ['y'], ...place }])
  const rowsOf = (table: string) => db.prepare(`SELECT count(*) FROM ${table}`).get()?.[0]
  expect([rowsOf('proxy_health'), rowsOf('proxy_pace'), rowsOf('proxy_holds')]).toEqual([2, 1, 1])
  db.close()
})

it('sees in one transaction what its earlier calls have done', () => {
  const clock = new ManualClock()
  const db = new SqliteDb(':memory:')
  SqliteLedgerEngine.migrate(db)
  const place = { pool: 'p', host: 'a.test', site: 'a.test', limits: { delayMs: 0, concurrency: 1 } }
  const ask = (name: string) => ({ ask: name, proxies: ['x'], ...place, holdMs: 1000 })
  const outcome = {
    verdict: { kind: 'good' },
    elapsedMs: 1,
    bytes: 1,
    cost: 1,
    rest: { strikes: 1, baseMs: 1, capMs: 1 },
  } as const
  const report = (name: string) => ({ ask: name, proxy: 'x', ...place, ...outcome })
  const together = (engine: SqliteLedgerEngine, work: () => void) =>
    db.transaction(() => {
      work()
      engine.beforeCommit()
    })
  const engine = new SqliteLedgerEngine(db, clock)
  together(engine, () => {
    expect(engine.grant(packAsks([ask('1')]))).toMatchObject([{ ok: true }])
    expect(engine.grant(packAsks([ask('1'), ask('2')]))).toMatchObject([{ ok: true }, { ok: false }])
    engine.report(packReports([report('1')]))
    engine.report(packReports([report('1')]))
    expect(engine.scoresOn('p', 'a.test')).toMatchObject([{ good: 1, inFlight: 0 }])
    expect(engine.grant(packAsks([ask('3')]))).toMatchObject([{ ok: true }])
  })
  // Another one, which has read nothing yet.
  const other = new SqliteLedgerEngine(db, clock)
  together(other, () => {
    expect(other.grant(packAsks([ask('4')]))).toMatchObject([{ ok: false }])
    other.report(packReports([report('3')]))
    other.report(packReports([report('3')]))
    expect(other.grant(packAsks([ask('3')]))).toMatchObject([{ ok: true }])
    other.report(packReports([report('3')]))
    expect(other.scoresOn('p', 'a.test')).toMatchObject([{ good: 3, inFlight: 0 }])
  })
  expect(db.prepare('SELECT count(*) FROM proxy_holds').get()).toEqual([0])
  db.close()
})
