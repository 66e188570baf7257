import type { Clock } from '../../clock.js'
import { ByPlace } from '../by-place.js'
import { grantAll, type LedgerRows, reportAll } from '../ledger-steps.js'
import type { ProxyId } from '../proxy.js'
import type { ProxyLedger, ProxyScore } from '../proxy-ledger.js'
import { scoreCursor } from '../proxy-ledger.js'
import {
  awake,
  FRESH_HEALTH,
  FRESH_PACE,
  type Hold,
  healthNow,
  isForgotten,
  NO_COUNTS,
  type ProxyCounts,
  type ProxyHealth,
  type ProxyPace,
  scoreOf,
} from '../proxy-state.js'

interface HealthRow {
  health: ProxyHealth
  counts: ProxyCounts
}

/** The reference model: tests, `shoal try`, `memory:`. */
export function memoryLedger({ clock }: { readonly clock: Clock }): ProxyLedger {
  const holds = new Map<string, Hold>()
  const healths = new ByPlace<HealthRow>()
  const paces = new ByPlace<ProxyPace>()
  const sweepPaces = sweeper(paces, (pace) => pace)
  const sweepHealths = sweeper(healths, ({ health }) => health)

  const rows: LedgerRows = {
    readHolds: () => {},
    hold: (ask) => holds.get(ask),
    addHold: (hold) => void holds.set(hold.ask, hold),
    removeHold: (ask) => void holds.delete(ask),
    ended: (now, limit) =>
      [...holds.values()]
        .filter((hold) => hold.endsAt <= now)
        .sort((a, b) => a.endsAt - b.endsAt)
        .slice(0, limit),
    health: (pool, proxy, site) => healths.get(pool, site, proxy)?.health ?? FRESH_HEALTH,
    setHealth(pool, proxy, site, health) {
      const row = healths.get(pool, site, proxy)
      if (row === undefined) healths.set(pool, site, proxy, { health, counts: NO_COUNTS })
      else row.health = health
    },
    counts: (pool, proxy, site) => healths.get(pool, site, proxy)?.counts ?? NO_COUNTS,
    setCounts(pool, proxy, site, counts) {
      const row = healths.get(pool, site, proxy)
      if (row !== undefined) row.counts = counts
    },
    pace: (pool, proxy, host) => paces.get(pool, host, proxy) ?? FRESH_PACE,
    setPace: (pool, proxy, host, pace) => paces.set(pool, host, proxy, pace),
    read: () => {},
  }

  const scoresOf = (pool: string): ProxyScore[] => {
    const now = clock.now()
    reportAll(rows, [], now)
    return [...healths.of(pool)]
      .filter(([, , { health }]) => !isForgotten(health, now))
      .map(([site, proxy, { health, counts }]) => scoreOf({ proxy, site }, healthNow(health, now), counts, now))
      .sort((a, b) => (scoreCursor(a) < scoreCursor(b) ? -1 : 1))
  }

  return {
    async grant(asks) {
      const now = clock.now()
      sweepPaces(now)
      sweepHealths(now)
      return grantAll(rows, asks, now)
    },
    async report(reports) {
      reportAll(rows, reports, clock.now())
    },
    async scores(pool, { limit, after }) {
      return scoresOf(pool)
        .filter((score) => after === undefined || scoreCursor(score) > after)
        .slice(0, limit)
    },
    async scoresOn(pool, site) {
      return scoresOf(pool).filter((score) => score.site === site)
    },
    async wake(pool, proxy: ProxyId) {
      for (const [, name, row] of healths.of(pool)) {
        if (name === proxy) row.health = awake(healthNow(row.health, clock.now()))
      }
    },
  }
}

const FEWEST_SWEPT = 1_000

/** Drops what was not used for long each time the rows have doubled: the cost of it does not grow with their number. */
function sweeper<Row>(rows: ByPlace<Row>, use: (row: Row) => { usedAt: number }): (now: number) => void {
  let next = FEWEST_SWEPT
  return (now) => {
    if (rows.size < next) return
    rows.removeWhere((row) => isForgotten(use(row), now))
    next = Math.max(FEWEST_SWEPT, rows.size * 2)
  }
}
