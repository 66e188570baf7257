import { permitMs } from '../frontier/pace.js'
import type { HostKey } from '../url/link.js'
import type { ExitId } from './proxy.js'
import type { ExitAnswer, ExitAsk, ExitReport } from './proxy-ledger.js'
import {
  afterGrant,
  afterHold,
  afterVerdict,
  answerOf,
  counted,
  type ExitCounts,
  type ExitHealth,
  type ExitPace,
  type ExitState,
  type Hold,
  healthNow,
  isForgotten,
  MOST_EXITS,
  NO_COUNTS,
  obstacle,
  paceNow,
  REAP_AT_ONCE,
  refusal,
  type Told,
} from './proxy-state.js'

/** The rows of a ledger that is read and written in one go: fresh ones where there are none. */
export interface LedgerRows {
  /** These will be asked for next. */
  lookForHolds(asks: readonly string[]): void
  hold(ask: string): Hold | undefined
  addHold(hold: Hold): void
  removeHold(ask: string): void
  /** Holds that have ended by `now`, the first of them. */
  ended(now: number, limit: number): readonly Hold[]
  health(pool: string, exit: ExitId, site: string): ExitHealth
  setHealth(pool: string, exit: ExitId, site: string, health: ExitHealth): void
  counts(pool: string, exit: ExitId, site: string): ExitCounts
  /** Of a health that stands already. */
  setCounts(pool: string, exit: ExitId, site: string, counts: ExitCounts): void
  pace(pool: string, exit: ExitId, host: HostKey): ExitPace
  setPace(pool: string, exit: ExitId, host: HostKey, pace: ExitPace): void
  /** These will be asked for next: read them all at once. */
  look(place: Place, exits: readonly ExitId[]): void
}

export type Place = Pick<Hold, 'pool' | 'host' | 'site'>

/** The best are named first and mostly one of them is free: few are read at first, and then many. */
const FIRST_LOOK = 8
const NEXT_LOOK = 128

export function grantAll(rows: LedgerRows, asks: readonly ExitAsk[], now: number): ExitAnswer[] {
  endHolds(rows, now)
  rows.lookForHolds(asks.map(({ ask }) => ask))
  return asks.map((ask) => grant(rows, ask, now))
}

function grant(rows: LedgerRows, ask: ExitAsk, now: number): ExitAnswer {
  const held = rows.hold(ask.ask)
  if (held !== undefined) return answerOf(held, now)
  const { pool, host, site, limits } = ask
  const exits = ask.exits.slice(0, MOST_EXITS)
  const obstacles = []
  for (const [index, exit] of exits.entries()) {
    if (index === 0) rows.look(ask, exits.slice(0, FIRST_LOOK))
    else if (index % NEXT_LOOK === FIRST_LOOK) rows.look(ask, exits.slice(index, index + NEXT_LOOK))
    const state = stateOf(rows, ask, exit, now)
    const stands = obstacle(state, limits, now)
    if (stands === null) {
      const hold = {
        ...{ ask: ask.ask, pool, exit, host, site, grantedAt: now },
        ...{ endsAt: now + ask.holdMs, permitMs: permitMs(limits) },
      }
      rows.addHold(hold)
      write(rows, ask, exit, afterGrant(state, limits, now))
      return answerOf(hold, now)
    }
    obstacles.push(stands)
  }
  return refusal(obstacles)
}

/** Where it was made stands in the hold. */
export type ReportOfAsk = Omit<ExitReport, 'host' | 'site' | 'limits'>

export function reportAll(rows: LedgerRows, reports: readonly ReportOfAsk[], now: number): void {
  endHolds(rows, now)
  rows.lookForHolds(reports.map(({ ask }) => ask))
  for (const report of reports) {
    const hold = rows.hold(report.ask)
    if (hold === undefined || hold.pool !== report.pool || hold.exit !== report.exit) continue
    if (!wasSent(report)) {
      endHold(rows, hold, now)
      continue
    }
    const state = afterHold(stateOf(rows, hold, hold.exit, now), report.elapsedMs, now)
    rows.removeHold(hold.ask)
    write(rows, hold, hold.exit, afterVerdict(state, report, hold.grantedAt, now))
    count(rows, hold, WHOLE, report)
    count(rows, hold, hold.site, report)
  }
}

function wasSent(report: ReportOfAsk): report is ReportOfAsk & Told {
  return report.elapsedMs !== null
}

function count(rows: LedgerRows, { pool, exit }: Hold, site: string, told: Told): void {
  rows.setCounts(pool, exit, site, counted(rows.counts(pool, exit, site), told))
}

/** Their workers died: nothing is known of the exits. */
function endHolds(rows: LedgerRows, now: number): void {
  for (const hold of rows.ended(now, REAP_AT_ONCE)) endHold(rows, hold, now)
}

/** Nothing was sent, or nobody knows. */
function endHold(rows: LedgerRows, hold: Hold, now: number): void {
  rows.removeHold(hold.ask)
  write(rows, hold, hold.exit, afterHold(stateOf(rows, hold, hold.exit, now), null, now))
}

function stateOf(rows: LedgerRows, { pool, host, site }: Place, exit: ExitId, now: number): ExitState {
  return {
    whole: healthOf(rows, pool, exit, WHOLE, now),
    onSite: healthOf(rows, pool, exit, site, now),
    pace: paceNow(rows.pace(pool, exit, host), now),
  }
}

function healthOf(rows: LedgerRows, pool: string, exit: ExitId, site: string, now: number): ExitHealth {
  const stored = rows.health(pool, exit, site)
  if (stored.usedAt > 0 && isForgotten(stored, now)) rows.setCounts(pool, exit, site, NO_COUNTS)
  return healthNow(stored, now)
}

function write(rows: LedgerRows, { pool, host, site }: Place, exit: ExitId, state: ExitState): void {
  rows.setHealth(pool, exit, WHOLE, state.whole)
  rows.setHealth(pool, exit, site, state.onSite)
  rows.setPace(pool, exit, host, state.pace)
}

/** In place of a site: the exit as a whole. */
export const WHOLE = ''
