import type { Clock } from '../../clock.js'
import type { ExitLedger, ExitScore } from '../exit-ledger.js'
import {
  awake,
  type ExitHealth,
  type ExitPace,
  FORGET_MS,
  FRESH_EXIT,
  FRESH_PACE,
  type Hold,
  healthNow,
  scoreOf,
} from '../exit-state.js'
import { grantAll, type LedgerRows, reportAll } from '../ledger-steps.js'
import { scoreCursor } from '../score-cursor.js'

interface HealthRow {
  readonly pool: string
  readonly exit: string
  readonly site: string
  health: ExitHealth
}

/** The reference model: tests, `shoal try`, `memory:`. */
export function memoryLedger({ clock }: { readonly clock: Clock }): ExitLedger {
  const holds = new Map<string, Hold>()
  const healths = new Map<string, HealthRow>()
  const paces = new Map<string, ExitPace>()
  const sweepPaces = sweeper(paces, ({ usedAt }) => usedAt)
  const sweepHealths = sweeper(healths, ({ health }) => health.usedAt)

  const rows: LedgerRows = {
    hold: (ask) => holds.get(ask),
    addHold: (hold) => void holds.set(hold.ask, hold),
    removeHold: (ask) => void holds.delete(ask),
    ended: (now, limit) =>
      [...holds.values()]
        .filter((hold) => hold.endsAt <= now)
        .sort((a, b) => a.endsAt - b.endsAt)
        .slice(0, limit),
    health: (pool, exit, site) => healths.get(keyOf(pool, exit, site))?.health ?? FRESH_EXIT,
    setHealth: (pool, exit, site, health) => void healths.set(keyOf(pool, exit, site), { pool, exit, site, health }),
    pace: (pool, exit, host) => paces.get(keyOf(pool, exit, host)) ?? FRESH_PACE,
    setPace: (pool, exit, host, pace) => void paces.set(keyOf(pool, exit, host), pace),
    look: () => {},
  }

  const scoresWhere = (wanted: (row: HealthRow) => boolean): ExitScore[] => {
    const now = clock.now()
    return [...healths.values()]
      .filter((row) => wanted(row) && row.health.usedAt > now - FORGET_MS)
      .map(({ exit, site, health }) => scoreOf(exit, site, healthNow(health, now), now))
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
      reportAll(rows, [], clock.now())
      const all = scoresWhere((row) => row.pool === pool)
      return all.filter((score) => after === undefined || scoreCursor(score) > after).slice(0, limit)
    },
    async scoresOn(pool, site) {
      reportAll(rows, [], clock.now())
      return scoresWhere((row) => row.pool === pool && row.site === site)
    },
    async wake(pool, exit) {
      for (const row of healths.values()) {
        if (row.pool === pool && row.exit === exit) row.health = awake(healthNow(row.health, clock.now()))
      }
    },
  }
}

function keyOf(pool: string, exit: string, place: string): string {
  return `${pool}\n${exit}\n${place}`
}

const FEWEST_SWEPT = 1_000

/** Drops what was not used for long each time the rows have doubled: the cost of it does not grow with their number. */
function sweeper<Row>(rows: Map<string, Row>, usedAt: (row: Row) => number): (now: number) => void {
  let next = FEWEST_SWEPT
  return (now) => {
    if (rows.size < next) return
    for (const [key, row] of rows) if (usedAt(row) <= now - FORGET_MS) rows.delete(key)
    next = Math.max(FEWEST_SWEPT, rows.size * 2)
  }
}
