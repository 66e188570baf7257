import type { Clock } from '../../clock.js'
import type { SqliteDb, SqlValue } from '../../sqlite/db.js'
import type { SqliteEngine } from '../../sqlite/engine.js'
import { grantAll, reportAll } from '../ledger-steps.js'
import type { ProxyId } from '../proxy.js'
import type { ProxyAnswer, ProxyScore } from '../proxy-ledger.js'
import { awake, FORGET_MS, healthNow, scoreOf } from '../proxy-state.js'
import { firstKeptDay, SqliteLedgerRows, toCounts, toHealth } from './ledger-rows.js'
import { type PackedAsks, type PackedReports, unpackAsks, unpackReports } from './packed.js'
import { LEDGER_MIGRATIONS } from './schema.js'
import { type LedgerSql, prepareLedger } from './statements.js'

const FORGET_EVERY_MS = 60_000
/** Kept from one transaction to the next; about 300 bytes each. */
const ROWS_KEPT = 50_000

/** The ledger on SQLite: synchronous, inside the caller's transaction. The decisions are those of proxy-state.ts. */
export class SqliteLedgerEngine implements SqliteEngine {
  readonly reads = new Set<string>()
  readonly #clock: Clock
  readonly #sql: LedgerSql
  /** Of the transaction under way. */
  #open: SqliteLedgerRows | null = null
  #kept: SqliteLedgerRows | null = null
  #keptVersion = 0
  #forgotAt = 0

  constructor(db: SqliteDb, clock: Clock) {
    this.#clock = clock
    this.#sql = prepareLedger(db)
  }

  static migrate(db: SqliteDb): void {
    db.migrate('proxies', LEDGER_MIGRATIONS)
  }

  beforeCommit(): void {
    this.#open?.flush()
    this.#open = null
  }

  rolledBack(): void {
    this.#open = null
    this.#kept = null
  }

  grant(asks: PackedAsks): ProxyAnswer[] {
    this.#forget()
    return grantAll(this.#rows(), unpackAsks(asks), this.#clock.now())
  }

  report(reports: PackedReports): void {
    reportAll(this.#rows(), unpackReports(reports), this.#clock.now())
  }

  scores(pool: string, limit: number, after: string | null): ProxyScore[] {
    const now = this.#settled()
    const cut = after === null ? -1 : after.indexOf('\n')
    const [proxy, site] = after === null ? ['', ''] : [after.slice(0, cut), after.slice(cut + 1)]
    return this.#sql.scores.all(pool, proxy, site, now - FORGET_MS, limit).map((row) => toScore(row, now))
  }

  scoresOn(pool: string, site: string): ProxyScore[] {
    const now = this.#settled()
    return this.#sql.scoresOn.all(pool, site, now - FORGET_MS).map((row) => toScore(row, now))
  }

  wake(pool: string, proxy: ProxyId): void {
    const now = this.#settled()
    const rows = this.#rows()
    for (const [name] of this.#sql.sites.all(pool, proxy)) {
      const site = String(name)
      rows.setHealth(pool, proxy, site, awake(healthNow(rows.health(pool, proxy, site), now)))
    }
  }

  /** Rows read by earlier transactions are as good as new while no other connection has written: SQLite's data_version says so. */
  #rows(): SqliteLedgerRows {
    if (this.#open !== null) return this.#open
    const version = Number(this.#sql.dataVersion.get()?.[0])
    if (this.#kept === null || version !== this.#keptVersion || this.#kept.size > ROWS_KEPT) {
      this.#kept = new SqliteLedgerRows(this.#sql)
      this.#keptVersion = version
    } else this.#kept.readAllHolds()
    this.#open = this.#kept
    return this.#open
  }

  /** Everything is in the tables, and what ran out has ended; answers the time. */
  #settled(): number {
    const now = this.#clock.now()
    const rows = this.#rows()
    reportAll(rows, [], now)
    rows.flush()
    return now
  }

  #forget(): void {
    const now = this.#clock.now()
    if (Math.abs(now - this.#forgotAt) < FORGET_EVERY_MS) return
    this.#forgotAt = now
    this.#sql.forgetHealth.run(firstKeptDay(now))
    this.#sql.forgetPace.run(firstKeptDay(now))
  }
}

function toScore([proxy, site, state, counts]: readonly SqlValue[], now: number): ProxyScore {
  const place = { proxy: String(proxy), site: String(site) }
  return scoreOf(place, healthNow(toHealth(state), now), toCounts(counts), now)
}
