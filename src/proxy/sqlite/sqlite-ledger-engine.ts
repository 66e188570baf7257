import type { Clock } from '../../clock.js'
import type { SqliteDb, SqlValue } from '../../sqlite/db.js'
import type { SqliteEngine } from '../../sqlite/engine.js'
import type { ExitId } from '../exit.js'
import type { ExitAnswer, ExitAsk, ExitReport, ExitScore } from '../exit-ledger.js'
import { awake, FORGET_MS, healthNow, scoreOf } from '../exit-state.js'
import { grantAll, reportAll } from '../ledger-steps.js'
import { firstKeptDay, type LedgerSql, prepareLedger, SqliteLedgerRows, toHealth } from './ledger-rows.js'
import { LEDGER_MIGRATIONS } from './schema.js'

const FORGET_EVERY_MS = 60_000

/** The ledger on SQLite: synchronous, inside the caller's transaction. The decisions are those of exit-state.ts. */
export class SqliteLedgerEngine implements SqliteEngine {
  readonly reads = new Set<string>()
  readonly #clock: Clock
  readonly #sql: LedgerSql
  #forgotAt = 0

  constructor(db: SqliteDb, clock: Clock) {
    this.#clock = clock
    this.#sql = prepareLedger(db)
  }

  static migrate(db: SqliteDb): void {
    db.migrate('exits', LEDGER_MIGRATIONS)
  }

  grant(asks: readonly ExitAsk[]): ExitAnswer[] {
    this.#forget()
    return this.#change((rows, now) => grantAll(rows, asks, now))
  }

  report(reports: readonly ExitReport[]): void {
    this.#change((rows, now) => reportAll(rows, reports, now))
  }

  scores(pool: string, limit: number, after: string | null): ExitScore[] {
    this.report([])
    const now = this.#clock.now()
    const cut = after === null ? -1 : after.indexOf('\n')
    const [exit, site] = after === null ? ['', ''] : [after.slice(0, cut), after.slice(cut + 1)]
    return this.#sql.scores.all(pool, exit, site, now - FORGET_MS, limit).map((row) => toScore(row, now))
  }

  scoresOn(pool: string, site: string): ExitScore[] {
    this.report([])
    const now = this.#clock.now()
    return this.#sql.scoresOn.all(pool, site, now - FORGET_MS).map((row) => toScore(row, now))
  }

  wake(pool: string, exit: ExitId): void {
    this.#change((rows, now) => {
      for (const [site, ...health] of this.#sql.sites.all(pool, exit)) {
        rows.setHealth(pool, exit, String(site), awake(healthNow(toHealth(health), now)))
      }
    })
  }

  #change<Result>(work: (rows: SqliteLedgerRows, now: number) => Result): Result {
    const rows = new SqliteLedgerRows(this.#sql)
    const result = work(rows, this.#clock.now())
    rows.write()
    return result
  }

  #forget(): void {
    const now = this.#clock.now()
    if (Math.abs(now - this.#forgotAt) < FORGET_EVERY_MS) return
    this.#forgotAt = now
    this.#sql.forgetHealth.run(firstKeptDay(now))
    this.#sql.forgetPace.run(firstKeptDay(now))
  }
}

function toScore([exit, site, ...health]: readonly SqlValue[], now: number): ExitScore {
  return scoreOf(String(exit), String(site), healthNow(toHealth(health), now), now)
}
