import { permitMs } from '../frontier/pace.js'
import type { HostKey } from '../url/link.js'
import type { ProxyId } from './proxy.js'
import type { ProxyAnswer, ProxyAsk, ProxyReport } from './proxy-ledger.js'
import {
  afterGrant,
  afterHold,
  afterVerdict,
  answerOf,
  counted,
  type Hold,
  healthNow,
  isForgotten,
  MOST_PROXIES,
  NO_COUNTS,
  obstacle,
  type ProxyCounts,
  type ProxyHealth,
  type ProxyPace,
  type ProxyState,
  paceNow,
  REAP_AT_ONCE,
  refusal,
  type SentReport,
} from './proxy-state.js'

/** The rows of a ledger that is read and written in one go: fresh ones where there are none. */
export interface LedgerRows {
  /** These will be asked for next. */
  readHolds(asks: readonly string[]): void
  hold(ask: string): Hold | undefined
  addHold(hold: Hold): void
  removeHold(ask: string): void
  /** Holds that have ended by `now`, the first of them. */
  ended(now: number, limit: number): readonly Hold[]
  health(pool: string, proxy: ProxyId, site: string): ProxyHealth
  setHealth(pool: string, proxy: ProxyId, site: string, health: ProxyHealth): void
  counts(pool: string, proxy: ProxyId, site: string): ProxyCounts
  /** Of a health that exists already. */
  setCounts(pool: string, proxy: ProxyId, site: string, counts: ProxyCounts): void
  pace(pool: string, proxy: ProxyId, host: HostKey): ProxyPace
  setPace(pool: string, proxy: ProxyId, host: HostKey, pace: ProxyPace): void
  /** These are needed next: reads them all at once. */
  read(place: Place, proxies: readonly ProxyId[]): void
}

export type Place = Pick<Hold, 'pool' | 'host' | 'site'>

/** The best are named first and usually one of them is free: few are read at first, then many. */
const FIRST_READ = 8
const NEXT_READ = 128

export function grantAll(rows: LedgerRows, asks: readonly ProxyAsk[], now: number): ProxyAnswer[] {
  endHolds(rows, now)
  rows.readHolds(asks.map(({ ask }) => ask))
  return asks.map((ask) => grant(rows, ask, now))
}

function grant(rows: LedgerRows, ask: ProxyAsk, now: number): ProxyAnswer {
  const held = rows.hold(ask.ask)
  if (held !== undefined) return answerOf(held, now)
  const { pool, host, site, limits } = ask
  const proxies = ask.proxies.slice(0, MOST_PROXIES)
  const obstacles = []
  for (const [index, proxy] of proxies.entries()) {
    if (index === 0) rows.read(ask, proxies.slice(0, FIRST_READ))
    else if (index % NEXT_READ === FIRST_READ) rows.read(ask, proxies.slice(index, index + NEXT_READ))
    const state = stateOf(rows, ask, proxy, now)
    const found = obstacle(state, limits, now)
    if (found === null) {
      const hold = {
        ...{ ask: ask.ask, pool, proxy, host, site, grantedAt: now },
        ...{ endsAt: now + ask.holdMs, permitMs: permitMs(limits) },
      }
      rows.addHold(hold)
      write(rows, ask, proxy, afterGrant(state, limits, now))
      return answerOf(hold, now)
    }
    obstacles.push(found)
  }
  return refusal(obstacles)
}

/** The hold says for which host and site. */
export type ReportOfAsk = Omit<ProxyReport, 'host' | 'site' | 'limits'>

export function reportAll(rows: LedgerRows, reports: readonly ReportOfAsk[], now: number): void {
  endHolds(rows, now)
  rows.readHolds(reports.map(({ ask }) => ask))
  for (const report of reports) {
    const hold = rows.hold(report.ask)
    if (hold === undefined || hold.pool !== report.pool || hold.proxy !== report.proxy) continue
    if (!wasSent(report)) {
      endHold(rows, hold, now)
      continue
    }
    const state = afterHold(stateOf(rows, hold, hold.proxy, now), report.elapsedMs, now)
    rows.removeHold(hold.ask)
    write(rows, hold, hold.proxy, afterVerdict(state, report, hold.grantedAt, now))
    count(rows, hold, WHOLE, report)
    count(rows, hold, hold.site, report)
  }
}

function wasSent(report: ReportOfAsk): report is ReportOfAsk & SentReport {
  return report.elapsedMs !== null
}

function count(rows: LedgerRows, { pool, proxy }: Hold, site: string, report: SentReport): void {
  rows.setCounts(pool, proxy, site, counted(rows.counts(pool, proxy, site), report))
}

/** Their workers died: nothing is known of the proxies. */
function endHolds(rows: LedgerRows, now: number): void {
  for (const hold of rows.ended(now, REAP_AT_ONCE)) endHold(rows, hold, now)
}

/** Nothing was sent, or nobody knows. */
function endHold(rows: LedgerRows, hold: Hold, now: number): void {
  rows.removeHold(hold.ask)
  write(rows, hold, hold.proxy, afterHold(stateOf(rows, hold, hold.proxy, now), null, now))
}

function stateOf(rows: LedgerRows, { pool, host, site }: Place, proxy: ProxyId, now: number): ProxyState {
  return {
    whole: healthOf(rows, pool, proxy, WHOLE, now),
    onSite: healthOf(rows, pool, proxy, site, now),
    pace: paceNow(rows.pace(pool, proxy, host), now),
  }
}

function healthOf(rows: LedgerRows, pool: string, proxy: ProxyId, site: string, now: number): ProxyHealth {
  const stored = rows.health(pool, proxy, site)
  if (stored.usedAt > 0 && isForgotten(stored, now)) rows.setCounts(pool, proxy, site, NO_COUNTS)
  return healthNow(stored, now)
}

function write(rows: LedgerRows, { pool, host, site }: Place, proxy: ProxyId, state: ProxyState): void {
  rows.setHealth(pool, proxy, WHOLE, state.whole)
  rows.setHealth(pool, proxy, site, state.onSite)
  rows.setPace(pool, proxy, host, state.pace)
}

/** In place of a site: the proxy as a whole. */
export const WHOLE = ''
