import type { Clock } from '../../clock.js'
import { isFileCrawl } from '../../coordinator/file-crawl.js'
import { addNamedCounts, type Counts, countsOf } from '../../frontier/counts.js'
import { addFiltered, type FilterCounts, filteredOf } from '../../frontier/filtered.js'
import type { CrawlId, CrawlInfo, CrawlState, CrawlStats, Frontier, HostInfo } from '../../frontier/frontier.js'
import type { Notes } from '../../notes/notes.js'
import type { ProxyLedger, ProxyScore } from '../../proxy/proxy-ledger.js'
import type { RecordStore } from '../../store/record-store.js'
import type { Alert } from '../alerts/alert.js'
import { readAlerts } from '../alerts/alert-notes.js'
import type { ScaledCrawl } from '../snapshots/fleet-room.js'
import { isListed, type WorkerState } from '../snapshots/health.js'
import { fleetReading, scaledCrawl } from '../snapshots/read-scale.js'
import { crawlSnapshotOf, ifThere, type WorkerSnapshot, workerSnapshots } from '../snapshots/snapshot.js'
import { usefulBySpider } from './scale.js'

export interface MeteredBackends {
  readonly frontier: Frontier
  readonly notes: Notes
  readonly store: Pick<RecordStore, 'visits'>
  readonly proxies: Pick<ProxyLedger, 'scoresOn'>
}

/** The source of the queue metrics: bounded, whatever the number of crawls, hosts and links. */
export interface QueueReading {
  readonly crawls: Readonly<Partial<Record<CrawlState, number>>>
  readonly crawl: readonly CrawlReading[]
  readonly workers: Readonly<Partial<Record<WorkerState, number>>>
  readonly pools: readonly { readonly pool: string; readonly proxies: readonly ProxyScore[] }[]
  /** Useful workers by spider. */
  readonly useful: ReadonlyMap<string, number>
  /** Null: no process has evaluated alerts yet. */
  readonly alerts: readonly Pick<Alert, 'rule'>[] | null
  readonly now: number
}

export interface CrawlReading {
  readonly stats: CrawlStats
  /** The busiest hosts; none for a crawl that is not running. */
  readonly hosts: readonly HostInfo[]
  readonly etaSeconds: number | null
  readonly stalledMs: number
  /** Null: it is not running. */
  readonly scaled: ScaledCrawl | null
  readonly dead: readonly { readonly code: string; readonly count: number }[]
}

/** Crawls with metrics of their own: running and paused ones first, then the newest. */
const CRAWLS_LISTED = 50
/** More unfinished crawls, summed up as one. */
const OTHERS_READ = 200
const OTHER = 'other'
/** An ended crawl changes only when someone replays or deletes it, so its counters may be this old. */
const ENDED_MS = 30_000

/** `fleet`: workers are expected at any time. */
export function queueReader(backends: MeteredBackends, clock: Clock, fleet: boolean): () => Promise<QueueReading> {
  const { frontier, notes, proxies } = backends
  const ended = new Map<CrawlId, { readonly stats: CrawlStats; readonly at: number }>()
  const deadOf = new Map<CrawlId, { readonly count: number; readonly groups: CrawlReading['dead'] }>()

  const endedStats = async (id: CrawlId): Promise<CrawlStats> => {
    const known = ended.get(id)
    if (known !== undefined && clock.mono() - known.at < ENDED_MS) return known.stats
    const stats = await frontier.stats(id)
    ended.set(id, { stats, at: clock.mono() })
    return stats
  }
  const deadLetters = async ({ id, dead }: CrawlStats): Promise<CrawlReading['dead']> => {
    if (dead === 0) return []
    const known = deadOf.get(id)
    if (known?.count === dead) return known.groups
    const groups = await frontier.deadByError(id)
    deadOf.set(id, { count: dead, groups })
    return groups
  }
  const readCrawl = async (
    crawl: CrawlInfo,
    workers: readonly WorkerSnapshot[],
    now: number,
  ): Promise<CrawlReading> => {
    if (crawl.state !== 'running') {
      const stats = hasEnded(crawl) ? await endedStats(crawl.id) : await frontier.stats(crawl.id)
      return { stats, hosts: [], etaSeconds: null, stalledMs: 0, scaled: null, dead: await deadLetters(stats) }
    }
    const snapshot = await crawlSnapshotOf(backends, crawl, workers, now, fleet)
    const { stats, hosts, estimate, stalledMs } = snapshot
    const scaled = await scaledCrawl(frontier, snapshot, now)
    return { stats, hosts, etaSeconds: estimate.etaSeconds, stalledMs, scaled, dead: await deadLetters(stats) }
  }

  return async () => {
    const now = clock.now()
    const [all, workers, alerts] = await Promise.all([
      frontier.crawls(),
      workerSnapshots(backends, now),
      readAlerts(notes),
    ])
    const crawls = all.filter((crawl) => !isFileCrawl(crawl)).sort(unendedAndNewestFirst)
    const listed = crawls.slice(0, CRAWLS_LISTED)
    const others = crawls.slice(CRAWLS_LISTED, CRAWLS_LISTED + OTHERS_READ).filter((crawl) => !hasEnded(crawl))
    for (const cache of [ended, deadOf])
      for (const id of [...cache.keys()]) if (!listed.some((crawl) => crawl.id === id)) cache.delete(id)
    const pools = [...new Set(workers.flatMap(({ about }) => about?.pools ?? []))].sort()
    const [read, rest, scores] = await Promise.all([
      Promise.all(listed.map((crawl) => ifThere(readCrawl(crawl, workers, now)))),
      Promise.all(others.map(({ id }) => ifThere(frontier.stats(id)))),
      Promise.all(pools.map(async (pool) => ({ pool, proxies: await proxies.scoresOn(pool, '') }))),
    ])
    const scaled = read.flatMap((one) => (one?.scaled == null ? [] : [one.scaled]))
    const other = together(rest.filter((stats) => stats !== null))
    return {
      crawls: counted(crawls.map(({ state }) => state)),
      crawl: [...read.filter((one) => one !== null), ...(other === null ? [] : [other])],
      workers: counted(workers.filter((worker) => isListed(worker, now)).map(({ state }) => state)),
      pools: scores,
      useful: usefulBySpider(fleetReading(all, workers, scaled, now)),
      alerts: alerts.evaluatedMs === null ? null : alerts.active,
      now,
    }
  }
}

function hasEnded({ state }: Pick<CrawlInfo, 'state'>): boolean {
  return state === 'finished' || state === 'cancelled'
}

function unendedAndNewestFirst(a: CrawlInfo, b: CrawlInfo): number {
  return Number(hasEnded(a)) - Number(hasEnded(b)) || b.createdAt - a.createdAt
}

function counted<Key extends string>(keys: readonly Key[]): Partial<Record<Key, number>> {
  const counts: Partial<Record<Key, number>> = {}
  for (const key of keys) counts[key] = (counts[key] ?? 0) + 1
  return counts
}

const SUMMED = [
  ...['total', 'queued', 'delayed', 'leased', 'done', 'dead', 'skipped', 'failed', 'retried', 'throttled'],
  ...['reclaimed', 'stale', 'refused', 'bytes', 'rate'],
] as readonly (keyof CrawlStats)[]

/** Sums up crawls as one. */
function together(all: readonly CrawlStats[]): CrawlReading | null {
  const [first, ...rest] = all
  if (first === undefined) return null
  const sums = Object.fromEntries(
    SUMMED.map((key) => [key, rest.reduce((sum, one) => sum + Number(one[key]), Number(first[key]))]),
  )
  const filtered: FilterCounts = new Map()
  for (const one of all) addFiltered(filtered, one.filtered)
  const counts: Counts = new Map()
  for (const one of all) addNamedCounts(counts, one.counts)
  const added = { filtered: filteredOf(filtered), counts: countsOf(counts) }
  const stats: CrawlStats = { ...first, ...sums, ...added, id: OTHER, spider: OTHER }
  return { stats, hosts: [], etaSeconds: null, stalledMs: 0, scaled: null, dead: [] }
}
