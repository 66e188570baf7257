import type { Clock } from '../../clock.js'
import type { CrawlId, CrawlInfo, CrawlStats } from '../../frontier/frontier.js'
import type { Alert } from '../../observe/alerts/alert.js'
import { readAlerts } from '../../observe/alerts/alert-notes.js'
import { readSeries } from '../../observe/series/series-notes.js'
import type { Advice } from '../../observe/snapshots/advice.js'
import {
  type CrawlSnapshot,
  crawlSnapshotOf,
  type SnapshotBackends,
  type WorkerSnapshot,
  workerSnapshots,
} from '../../observe/snapshots/snapshot.js'
import { crawlsNewestFirst, hasEnded } from '../crawl-choice.js'
import { ended } from '../views/progress-view.js'

/** What the screen shows at one moment. */
export interface TopSnapshot {
  readonly now: number
  /** Unfinished crawls first, then the newest. */
  readonly crawls: readonly TopCrawl[]
  readonly workers: readonly WorkerSnapshot[]
  readonly alerts: readonly Alert[]
}

export interface TopCrawl {
  readonly stats: CrawlStats
  /** Null: it has ended, or too many are running. */
  readonly snapshot: CrawlSnapshot | null
  readonly advice: Advice | null
  /** Links ended per second, oldest first. */
  readonly rates: readonly number[]
}

const CRAWLS_SHOWN = 50
/** A full snapshot reads hosts and links: with more crawls than this, the others show only their counters. */
const FULL_SNAPSHOTS = 8
const RATES_KEPT = 240

export interface Snapshots {
  take(): Promise<TopSnapshot>
}

/** Takes snapshots, and remembers what a single one cannot show: rates. */
export function createSnapshots(
  backends: SnapshotBackends,
  { clock, fleet }: { clock: Clock; fleet: boolean },
): Snapshots {
  const rates = new Map<CrawlId, { readonly values: number[]; at: number; over: number }>()
  const endedStats = new Map<CrawlId, CrawlStats>()

  const statsOf = async (crawl: CrawlInfo): Promise<CrawlStats> => {
    const known = endedStats.get(crawl.id)
    if (known !== undefined && hasEnded(crawl)) return known
    const stats = await backends.frontier.stats(crawl.id)
    if (hasEnded(stats)) endedStats.set(crawl.id, stats)
    else endedStats.delete(crawl.id)
    return stats
  }

  const ratesOf = async (stats: CrawlStats, now: number): Promise<readonly number[]> => {
    const over = ended(stats)
    const known = rates.get(stats.id)
    if (known === undefined) {
      const values = (await readSeries(backends.notes, stats.id, '30m')).map((sample) => sample.pagesPerSecond)
      rates.set(stats.id, { values, at: now, over })
      return values
    }
    if (now <= known.at || stats.state !== 'running') return known.values
    known.values.push(Math.max(0, ((over - known.over) * 1000) / (now - known.at)))
    if (known.values.length > RATES_KEPT) known.values.shift()
    Object.assign(known, { at: now, over })
    return known.values
  }

  return {
    async take() {
      const now = clock.now()
      const [all, workers, alerts] = await Promise.all([
        crawlsNewestFirst(backends.frontier),
        workerSnapshots(backends, now),
        readAlerts(backends.notes),
      ])
      const shown = [...all.filter((crawl) => !hasEnded(crawl)), ...all.filter(hasEnded)].slice(0, CRAWLS_SHOWN)
      const crawls = await Promise.all(
        shown.map(async (crawl, index): Promise<TopCrawl> => {
          if (hasEnded(crawl) || index >= FULL_SNAPSHOTS) {
            const stats = await statsOf(crawl)
            return { stats, snapshot: null, advice: null, rates: await ratesOf(stats, now) }
          }
          const snapshot = await crawlSnapshotOf(backends, crawl, workers, now, fleet)
          return { stats: snapshot.stats, snapshot, advice: snapshot.advice, rates: await ratesOf(snapshot.stats, now) }
        }),
      )
      return { now, crawls, workers, alerts: alerts.active }
    },
  }
}
