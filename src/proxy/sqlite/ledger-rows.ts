import type { SqlValue } from '../../sqlite/db.js'
import type { HostKey } from '../../url/link.js'
import { ByPlace } from '../by-place.js'
import { type LedgerRows, type Place, WHOLE } from '../ledger-steps.js'
import type { ProxyId } from '../proxy.js'
import {
  FORGET_MS,
  FRESH_HEALTH,
  FRESH_PACE,
  type Hold,
  NO_COUNTS,
  type ProxyCounts,
  type ProxyHealth,
  type ProxyPace,
} from '../proxy-state.js'
import type { Column, LedgerSql } from './statements.js'

const DAY_MS = 86_400_000

interface Row<State> {
  readonly pool: string
  readonly proxy: ProxyId
  readonly place: string
  state: State
}

interface HealthRow extends Row<ProxyHealth> {
  /** Null: not read. */
  counts: ProxyCounts | null
  countsChanged: boolean
}

/** Rows as they are read and changed; what was changed is written by `flush`. */
export class SqliteLedgerRows implements LedgerRows {
  readonly #sql: LedgerSql
  readonly #healths = new ByPlace<HealthRow>()
  readonly #paces = new ByPlace<Row<ProxyPace>>()
  readonly #changedHealths = new Set<HealthRow>()
  readonly #changedPaces = new Set<Row<ProxyPace>>()
  /** Null: there is none. */
  readonly #holds = new Map<string, Hold | null>()
  #allHoldsRead = false
  /** The first of them ends then, if all are read. */
  #nextEnd = Number.POSITIVE_INFINITY
  readonly #added = new Map<string, Hold>()
  #removed: string[] = []

  constructor(sql: LedgerSql) {
    this.#sql = sql
  }

  get size(): number {
    return this.#healths.size + this.#paces.size
  }

  readHolds(asks: readonly string[]): void {
    if (this.#allHoldsRead) return
    const unread = asks.filter((ask) => !this.#holds.has(ask))
    if (unread.length === 0) return
    for (const ask of unread) this.#holds.set(ask, null)
    for (const row of this.#sql.holds.all(JSON.stringify(unread))) this.#keepHold(toHold(row))
  }

  hold(ask: string): Hold | undefined {
    return this.#holds.get(ask) ?? undefined
  }

  addHold(hold: Hold): void {
    this.#keepHold(hold)
    this.#added.set(hold.ask, hold)
  }

  removeHold(ask: string): void {
    // What is not written yet must not be read again.
    if (this.#allHoldsRead) this.#holds.delete(ask)
    else this.#holds.set(ask, null)
    // One of this transaction was never written.
    if (!this.#added.delete(ask)) this.#removed.push(ask)
  }

  ended(now: number, limit: number): readonly Hold[] {
    if (this.#allHoldsRead && now < this.#nextEnd) return []
    this.#flushHolds()
    const ended = this.#sql.endedHolds.all(now, limit).map(toHold)
    this.#nextEnd = Number.POSITIVE_INFINITY
    for (const hold of this.#holds.values()) {
      if (hold !== null && hold.endsAt > now) this.#nextEnd = Math.min(this.#nextEnd, hold.endsAt)
    }
    if (ended.length === limit) this.#nextEnd = now
    return ended
  }

  /** No other process writes: from now on it is known what there is, and what there is not. */
  readAllHolds(): void {
    if (this.#allHoldsRead) return
    this.#holds.clear()
    for (const row of this.#sql.allHolds.all()) this.#keepHold(toHold(row))
    this.#allHoldsRead = true
  }

  health(pool: string, proxy: ProxyId, site: string): ProxyHealth {
    return this.#health(pool, proxy, site).state
  }

  setHealth(pool: string, proxy: ProxyId, site: string, state: ProxyHealth): void {
    const row = this.#health(pool, proxy, site)
    row.state = state
    this.#changedHealths.add(row)
  }

  counts(pool: string, proxy: ProxyId, site: string): ProxyCounts {
    const row = this.#health(pool, proxy, site)
    row.counts ??= toCounts(this.#sql.counts.get(pool, proxy, site)?.[0])
    return row.counts
  }

  setCounts(pool: string, proxy: ProxyId, site: string, counts: ProxyCounts): void {
    const row = this.#health(pool, proxy, site)
    row.counts = counts
    row.countsChanged = true
    this.#changedHealths.add(row)
  }

  pace(pool: string, proxy: ProxyId, host: HostKey): ProxyPace {
    return this.#pace(pool, proxy, host).state
  }

  setPace(pool: string, proxy: ProxyId, host: HostKey, state: ProxyPace): void {
    const row = this.#pace(pool, proxy, host)
    row.state = state
    this.#changedPaces.add(row)
  }

  read({ pool, host, site }: Place, proxies: readonly ProxyId[]): void {
    const unread = proxies.filter(
      (proxy) =>
        this.#paces.get(pool, host, proxy) === undefined ||
        this.#healths.get(pool, site, proxy) === undefined ||
        this.#healths.get(pool, WHOLE, proxy) === undefined,
    )
    if (unread.length === 0) return
    for (const [name, whole, onSite, pace] of this.#sql.read.all(JSON.stringify(unread), pool, site, host)) {
      const proxy = String(name)
      this.#health(pool, proxy, WHOLE, whole)
      this.#health(pool, proxy, site, onSite)
      this.#pace(pool, proxy, host, pace)
    }
  }

  flush(): void {
    this.#flushHolds()
    this.#sql.putHealths([...this.#changedHealths].map(healthColumns))
    this.#sql.putPaces([...this.#changedPaces].map(paceColumns))
    for (const row of this.#changedHealths) row.countsChanged = false
    this.#changedHealths.clear()
    this.#changedPaces.clear()
  }

  #flushHolds(): void {
    if (this.#removed.length > 0) this.#sql.removeHolds.run(JSON.stringify(this.#removed))
    this.#sql.addHolds([...this.#added.values()].map(holdColumns))
    this.#removed = []
    this.#added.clear()
  }

  #keepHold(hold: Hold): void {
    this.#holds.set(hold.ask, hold)
    this.#nextEnd = Math.min(this.#nextEnd, hold.endsAt)
  }

  /** `stored`: what was just read of it; a row that is here already is newer. */
  #health(pool: string, proxy: ProxyId, site: string, stored?: SqlValue): HealthRow {
    let row = this.#healths.get(pool, site, proxy)
    if (row === undefined) {
      const state = toHealth(stored === undefined ? this.#sql.health.get(pool, proxy, site)?.[0] : stored)
      row = { pool, proxy, place: site, state, counts: null, countsChanged: false }
      this.#healths.set(pool, site, proxy, row)
    }
    return row
  }

  #pace(pool: string, proxy: ProxyId, host: HostKey, stored?: SqlValue): Row<ProxyPace> {
    let row = this.#paces.get(pool, host, proxy)
    if (row === undefined) {
      const state = toPace(stored === undefined ? this.#sql.pace.get(pool, proxy, host)?.[0] : stored)
      row = { pool, proxy, place: host, state }
      this.#paces.set(pool, host, proxy, row)
    }
    return row
  }
}

function dayOf(time: number): number {
  return Math.floor(time / DAY_MS)
}

/** Rows of an earlier day hold nothing that was used within a week. */
export function firstKeptDay(now: number): number {
  return dayOf(now - FORGET_MS)
}

function numbers(text: SqlValue | undefined): number[] | null {
  return typeof text === 'string' ? (JSON.parse(text) as number[]) : null
}

export function toHealth(text: SqlValue | undefined): ProxyHealth {
  const all = numbers(text)
  if (all === null) return FRESH_HEALTH
  const [proved = 0, strikes = 0, rests = 0, restedAt = 0, restsUntil = 0, inFlight = 0, usedAt = 0] = all
  return { proved: proved === 1, strikes, rests, restedAt, restsUntil, inFlight, usedAt }
}

function fromHealth({ proved, strikes, rests, restedAt, restsUntil, inFlight, usedAt }: ProxyHealth): number[] {
  return [proved ? 1 : 0, strikes, rests, restedAt, restsUntil, inFlight, usedAt]
}

export function toCounts(text: SqlValue | undefined): ProxyCounts {
  const all = numbers(text)
  if (all === null) return NO_COUNTS
  const [good = 0, neutral = 0, banned = 0, broken = 0, bytes = 0, cost = 0, ...latency] = all
  return { good, neutral, banned, broken, bytes, cost, latency }
}

function fromCounts({ good, neutral, banned, broken, bytes, cost, latency }: ProxyCounts): number[] {
  return [good, neutral, banned, broken, bytes, cost, ...latency]
}

function toPace(text: SqlValue | undefined): ProxyPace {
  const all = numbers(text)
  if (all === null) return FRESH_PACE
  const [startedAt = 0, arrivalAt = 0, inFlight = 0, usedAt = 0] = all
  return { startedAt, arrivalAt, inFlight, usedAt }
}

function fromPace({ startedAt, arrivalAt, inFlight, usedAt }: ProxyPace): number[] {
  return [startedAt, arrivalAt, inFlight, usedAt]
}

function healthColumns({ pool, proxy, place, state, counts, countsChanged }: HealthRow): Column[] {
  const written = counts !== null && countsChanged ? fromCounts(counts) : null
  return [pool, proxy, place, fromHealth(state), written, state.usedAt, dayOf(state.usedAt)]
}

function paceColumns({ pool, proxy, place, state }: Row<ProxyPace>): Column[] {
  return [pool, proxy, place, fromPace(state), dayOf(state.usedAt)]
}

function holdColumns({ ask, pool, proxy, host, site, grantedAt, endsAt, permitMs }: Hold): Column[] {
  return [ask, endsAt, [pool, proxy, host, site, grantedAt, permitMs]]
}

function toHold([ask, endsAt, text]: readonly SqlValue[]): Hold {
  const [pool, proxy, host, site, grantedAt, permitMs] = JSON.parse(String(text)) as HoldText
  return { ask: String(ask), pool, proxy, host, site, grantedAt, endsAt: Number(endsAt), permitMs }
}

type HoldText = [pool: string, proxy: ProxyId, host: HostKey, site: string, grantedAt: number, permitMs: number]
