import type { SqliteDb, SqlValue } from '../../sqlite/db.js'
import type { HostKey } from '../../url/link.js'
import type { ExitId } from '../exit.js'
import { type ExitHealth, type ExitPace, FORGET_MS, FRESH_EXIT, FRESH_PACE, type Hold } from '../exit-state.js'
import { type LedgerRows, type Place, WHOLE } from '../ledger-steps.js'

const DAY_MS = 86_400_000
const FORGOTTEN_AT_ONCE = 500

const HEALTH = 'proved, strikes, rests, rested_at, rests_until, in_flight, used_at, counts'
const HEALTH_COLUMNS = HEALTH.split(', ').length
const PACE = 'started_at, arrival_at, in_flight, used_at'
const HOLD = 'ask, pool, exit, host, site, granted_at, ends_at, permit_ms'

export type LedgerSql = ReturnType<typeof prepareLedger>

export function prepareLedger(db: SqliteDb) {
  const columns = (of: string, names: string) => names.replaceAll(/\w+/g, (name) => `${of}.${name}`)
  const forget = (table: string, key: string) =>
    db.prepare(
      `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE used_day < ? LIMIT ${FORGOTTEN_AT_ONCE})`,
    )
  return {
    look: db.prepare(
      `SELECT e.value, ${columns('w', HEALTH)}, ${columns('s', HEALTH)}, ${columns('p', PACE)} FROM json_each(?) e
       LEFT JOIN exit_health w ON w.pool = ? AND w.exit = e.value AND w.site = ''
       LEFT JOIN exit_health s ON s.pool = ? AND s.exit = e.value AND s.site = ?
       LEFT JOIN exit_pace p ON p.pool = ? AND p.exit = e.value AND p.host = ?`,
    ),
    health: db.prepare(`SELECT ${HEALTH} FROM exit_health WHERE pool = ? AND exit = ? AND site = ?`),
    putHealth: db.prepare(`INSERT OR REPLACE INTO exit_health (pool, exit, site, ${HEALTH}, used_day)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    pace: db.prepare(`SELECT ${PACE} FROM exit_pace WHERE pool = ? AND exit = ? AND host = ?`),
    putPace: db.prepare(
      `INSERT OR REPLACE INTO exit_pace (pool, exit, host, ${PACE}, used_day) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    hold: db.prepare(`SELECT ${HOLD} FROM exit_holds WHERE ask = ?`),
    addHold: db.prepare(`INSERT INTO exit_holds (${HOLD}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`),
    removeHold: db.prepare('DELETE FROM exit_holds WHERE ask = ?'),
    ended: db.prepare(`SELECT ${HOLD} FROM exit_holds WHERE ends_at <= ? ORDER BY ends_at LIMIT ?`),
    scores: db.prepare(`SELECT exit, site, ${HEALTH} FROM exit_health
      WHERE pool = ? AND (exit, site) > (?, ?) AND used_at > ? ORDER BY exit, site LIMIT ?`),
    scoresOn: db.prepare(
      `SELECT exit, site, ${HEALTH} FROM exit_health WHERE pool = ? AND site = ? AND used_at > ? ORDER BY exit`,
    ),
    sites: db.prepare(`SELECT site, ${HEALTH} FROM exit_health WHERE pool = ? AND exit = ?`),
    forgetHealth: forget('exit_health', 'pool, exit, site'),
    forgetPace: forget('exit_pace', 'pool, exit, host'),
  }
}

/** The rows for one call: each is read once, and what was changed is written at the end. */
export class SqliteLedgerRows implements LedgerRows {
  readonly #sql: LedgerSql
  readonly #healths = new Map<string, Row<ExitHealth>>()
  readonly #paces = new Map<string, Row<ExitPace>>()

  constructor(sql: LedgerSql) {
    this.#sql = sql
  }

  hold(ask: string): Hold | undefined {
    const row = this.#sql.hold.get(ask)
    return row === undefined ? undefined : toHold(row)
  }

  addHold(hold: Hold): void {
    const { ask, pool, exit, host, site, grantedAt, endsAt, permitMs } = hold
    this.#sql.addHold.run(ask, pool, exit, host, site, grantedAt, endsAt, permitMs)
  }

  removeHold(ask: string): void {
    this.#sql.removeHold.run(ask)
  }

  ended(now: number, limit: number): readonly Hold[] {
    return this.#sql.ended.all(now, limit).map(toHold)
  }

  health(pool: string, exit: ExitId, site: string): ExitHealth {
    const name = nameOf(pool, exit, site)
    const known = this.#healths.get(name)
    if (known !== undefined) return known.state
    const row = this.#sql.health.get(pool, exit, site)
    const state = row === undefined ? FRESH_EXIT : toHealth(row)
    this.#healths.set(name, { pool, exit, place: site, state, changed: false })
    return state
  }

  setHealth(pool: string, exit: ExitId, site: string, state: ExitHealth): void {
    this.#healths.set(nameOf(pool, exit, site), { pool, exit, place: site, state, changed: true })
  }

  pace(pool: string, exit: ExitId, host: HostKey): ExitPace {
    const name = nameOf(pool, exit, host)
    const known = this.#paces.get(name)
    if (known !== undefined) return known.state
    const row = this.#sql.pace.get(pool, exit, host)
    const state = row === undefined ? FRESH_PACE : toPace(row)
    this.#paces.set(name, { pool, exit, place: host, state, changed: false })
    return state
  }

  setPace(pool: string, exit: ExitId, host: HostKey, state: ExitPace): void {
    this.#paces.set(nameOf(pool, exit, host), { pool, exit, place: host, state, changed: true })
  }

  look({ pool, host, site }: Place, exits: readonly ExitId[]): void {
    const unknown = exits.filter(
      (exit) =>
        !this.#paces.has(nameOf(pool, exit, host)) ||
        !this.#healths.has(nameOf(pool, exit, site)) ||
        !this.#healths.has(nameOf(pool, exit, WHOLE)),
    )
    if (unknown.length === 0) return
    for (const row of this.#sql.look.all(JSON.stringify(unknown), pool, pool, site, pool, host)) {
      const exit = String(row[0])
      const onSite = row.slice(1 + HEALTH_COLUMNS)
      keep(this.#healths, pool, exit, WHOLE, row[1] === null ? FRESH_EXIT : toHealth(row.slice(1)))
      keep(this.#healths, pool, exit, site, onSite[0] === null ? FRESH_EXIT : toHealth(onSite))
      const pace = onSite.slice(HEALTH_COLUMNS)
      keep(this.#paces, pool, exit, host, pace[0] === null ? FRESH_PACE : toPace(pace))
    }
  }

  write(): void {
    for (const { pool, exit, place, state, changed } of this.#healths.values()) {
      if (changed) this.#sql.putHealth.run(pool, exit, place, ...fromHealth(state), dayOf(state.usedAt))
    }
    for (const { pool, exit, place, state, changed } of this.#paces.values()) {
      const { startedAt, arrivalAt, inFlight, usedAt } = state
      if (changed) this.#sql.putPace.run(pool, exit, place, startedAt, arrivalAt, inFlight, usedAt, dayOf(usedAt))
    }
  }
}

interface Row<State> {
  readonly pool: string
  readonly exit: ExitId
  readonly place: string
  readonly state: State
  readonly changed: boolean
}

/** What this call has changed already is newer than what is stored. */
function keep<State>(rows: Map<string, Row<State>>, pool: string, exit: ExitId, place: string, state: State): void {
  const name = nameOf(pool, exit, place)
  if (!rows.has(name)) rows.set(name, { pool, exit, place, state, changed: false })
}

function nameOf(pool: string, exit: ExitId, place: string): string {
  return `${pool}\n${exit}\n${place}`
}

function dayOf(time: number): number {
  return Math.floor(time / DAY_MS)
}

/** Rows of an earlier day hold nothing that was used within a week. */
export function firstKeptDay(now: number): number {
  return dayOf(now - FORGET_MS)
}

export function toHealth(row: readonly (SqlValue | undefined)[]): ExitHealth {
  const [proved, strikes, rests, restedAt, restsUntil, inFlight, usedAt, counts] = row
  const [good = 0, neutral = 0, banned = 0, broken = 0, bytes = 0, cost = 0, ...latency] = JSON.parse(
    String(counts),
  ) as number[]
  return {
    proved: proved === 1,
    strikes: Number(strikes),
    rests: Number(rests),
    restedAt: Number(restedAt),
    restsUntil: Number(restsUntil),
    inFlight: Number(inFlight),
    usedAt: Number(usedAt),
    ...{ good, neutral, banned, broken, bytes, cost, latency },
  }
}

function fromHealth(health: ExitHealth): SqlValue[] {
  const { proved, strikes, rests, restedAt, restsUntil, inFlight, usedAt } = health
  const { good, neutral, banned, broken, bytes, cost, latency } = health
  const counts = JSON.stringify([good, neutral, banned, broken, bytes, cost, ...latency])
  return [proved ? 1 : 0, strikes, rests, restedAt, restsUntil, inFlight, usedAt, counts]
}

function toPace([startedAt, arrivalAt, inFlight, usedAt]: readonly SqlValue[]): ExitPace {
  return {
    startedAt: Number(startedAt),
    arrivalAt: Number(arrivalAt),
    inFlight: Number(inFlight),
    usedAt: Number(usedAt),
  }
}

function toHold([ask, pool, exit, host, site, grantedAt, endsAt, permitMs]: readonly SqlValue[]): Hold {
  return {
    ask: String(ask),
    pool: String(pool),
    exit: String(exit),
    host: String(host),
    site: String(site),
    grantedAt: Number(grantedAt),
    endsAt: Number(endsAt),
    permitMs: Number(permitMs),
  }
}
