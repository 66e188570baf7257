import { isFileCrawl } from '../../coordinator/file-crawl.js'
import { reportedProxies } from '../../coordinator/proxies.js'
import { asShoalError, isAway } from '../../errors.js'
import type { CrawlId, CrawlInfo, CrawlStats } from '../../frontier/frontier.js'
import type { Log } from '../../log.js'
import type { Alert } from '../../observe/alerts/alert.js'
import type { PoolSnapshot, WatchedCrawl, WatchSnapshot } from '../../observe/alerts/rules/rule.js'
import { type FetchCounts, sampleOf, type Totals, totalsOf } from '../../observe/series/sampling.js'
import { type Sample, SPANS, type Span } from '../../observe/series/series.js'
import { seriesBook } from '../../observe/series/series-notes.js'
import {
  type Capacity,
  type CrawlSnapshot,
  crawlSnapshotOf,
  isAlive,
  type WorkerSnapshot,
  workerSnapshots,
} from '../../observe/snapshots/snapshot.js'
import type { DriftAlert } from '../../quality/drift.js'
import type { Backends } from '../../wire/backends.js'

/** With more crawls than this, those with an active alert are watched, then the newest. */
const MOST_CRAWLS = 50
const MOST_POOLS = 20
/** Hosts and estimates of a crawl cost the queue more than its counters, and change more slowly. */
const SNAPSHOT_EVERY_MS = 15_000
/** Snapshots take at most a fiftieth of the time, but one is due every two minutes: a queue of many links must not slow down. */
const SNAPSHOT_SHARE = 50
const LONGEST_MS = 120_000
const POOLS_EVERY_MS = 60_000
const CAPACITY_EVERY_MS = 30_000
const WATCHED_MS = 30 * 60_000

export interface WatchSnapshots {
  /** Takes a snapshot of everything and stores a sample of each crawl. */
  take(active: readonly Alert[], drifts: ReadonlyMap<string, readonly DriftAlert[]>): Promise<WatchSnapshot>
}

interface Tracked {
  samples: Sample[]
  readonly totals: Map<Span, Totals>
  snapshot: CrawlSnapshot
  nextSnapshotAt: number
}

type Parts = Pick<Backends, 'frontier' | 'queueClock' | 'notes' | 'store' | 'proxies' | 'capacity'>

/** `fleet`: see crawlSnapshotOf. */
export function watchSnapshots(
  backends: Parts,
  { author, fleet, log }: { readonly author: string; readonly fleet: boolean; readonly log: Log },
): WatchSnapshots {
  const { frontier, notes, queueClock: clock } = backends
  const book = seriesBook(notes, author)
  const tracked = new Map<CrawlId, Tracked>()
  let saidTooMany = false
  const pools = seldom(POOLS_EVERY_MS, (now: number, workers: readonly WorkerSnapshot[]) =>
    poolSnapshots(backends, workers, now),
  )
  const capacity = seldom(CAPACITY_EVERY_MS, async () => knownCapacity(backends))

  const track = async (crawl: CrawlInfo, workers: readonly WorkerSnapshot[], now: number): Promise<Tracked> => {
    const known = tracked.get(crawl.id)
    if (known !== undefined && now < known.nextSnapshotAt) {
      known.snapshot = { ...known.snapshot, stats: await frontier.stats(crawl.id), now }
      return known
    }
    const began = clock.mono()
    const snapshot = await crawlSnapshotOf(backends, crawl, workers, now, fleet)
    const tookMs = clock.mono() - began
    const kept = known ?? (await resumed(crawl.id, snapshot))
    kept.snapshot = snapshot
    kept.nextSnapshotAt = now + Math.min(LONGEST_MS, Math.max(SNAPSHOT_EVERY_MS, tookMs * SNAPSHOT_SHARE))
    tracked.set(crawl.id, kept)
    return kept
  }

  /** Resumes from the samples of the previous watcher. */
  const resumed = async (crawl: CrawlId, snapshot: CrawlSnapshot): Promise<Tracked> => {
    const totals = new Map<Span, Totals>()
    const last = await book.resume(crawl, '30m')
    const minutes = await book.resume(crawl, '24h')
    if (last.totals !== null) totals.set('30m', last.totals)
    if (minutes.totals !== null) totals.set('24h', minutes.totals)
    return { samples: last.samples, totals, snapshot, nextSnapshotAt: 0 }
  }

  const sample = async (one: Tracked, stats: CrawlStats, workers: readonly WorkerSnapshot[], now: number) => {
    const holders = workers.filter((worker) => isAlive(worker) && hasSpider(worker, stats.spider))
    const current = totalsOf(stats, fetchCounts(holders), now)
    for (const span of Object.keys(SPANS) as Span[]) {
      const last = one.totals.get(span) ?? null
      // The queue's clock stepped back: samples from its future mean nothing.
      const before = last !== null && last.at > now ? null : last
      // Rounds are not exact: half a round early counts as in time.
      if (before !== null && now - before.at < SPANS[span] - SPANS['30m'] / 2) continue
      const taken = sampleOf(before, current, stats, holders.length)
      one.totals.set(span, current)
      if (span === '30m') one.samples = [...one.samples.filter(({ at }) => at > now - WATCHED_MS), taken]
      await book.add(stats.id, span, taken, current)
    }
  }

  /** The last sample of a crawl that is no longer running: how it ended. */
  const leave = async (one: Tracked, workers: readonly WorkerSnapshot[], now: number) => {
    const { id } = one.snapshot.stats
    tracked.delete(id)
    try {
      await sample(one, await frontier.stats(id), workers, now)
    } finally {
      book.forget(id)
    }
  }

  return {
    async take(active, drifts) {
      const now = clock.now()
      const [crawls, workers] = await Promise.all([frontier.crawls(), workerSnapshots(backends, now)])
      const all = crawls.filter((crawl) => crawl.state === 'running' && !isFileCrawl(crawl))
      const alarming = new Set(active.map(({ crawl }) => crawl))
      const running = all
        .sort((a, b) => Number(alarming.has(b.id)) - Number(alarming.has(a.id)) || b.createdAt - a.createdAt)
        .slice(0, MOST_CRAWLS)
      if (all.length > MOST_CRAWLS && !saidTooMany) {
        saidTooMany = true
        const message = `${all.length} crawls are running and ${MOST_CRAWLS} of them are watched: the others have no alerts and no history`
        log.warn('backend.warning', { message })
      }
      const watched: WatchedCrawl[] = []
      for (const crawl of running) {
        await unlessDeleted(async () => {
          const one = await track(crawl, workers, now)
          await sample(one, one.snapshot.stats, workers, now)
          watched.push({ snapshot: one.snapshot, samples: one.samples })
        })
      }
      for (const one of [...tracked.values()]) {
        const { id } = one.snapshot.stats
        if (!running.some((crawl) => crawl.id === id)) await unlessDeleted(() => leave(one, workers, now))
      }
      return {
        ...{ now, crawls: watched, workers, drifts, active },
        pools: await pools(now, workers),
        capacity: await capacity(now),
      }
    },
  }
}

/** A server or disk that does not report its capacity: it is unknown, and everything else is still watched. */
async function knownCapacity({ capacity }: Pick<Parts, 'capacity'>): Promise<Capacity | null> {
  try {
    return await capacity()
  } catch (error) {
    if (isAway(error)) throw error
    return null
  }
}

/** A crawl may be deleted between two queries. */
async function unlessDeleted(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (asShoalError(error).code !== 'not_found') throw error
  }
}

function hasSpider({ about }: WorkerSnapshot, spider: string): boolean {
  return about?.spiders === undefined || spider in about.spiders
}

function fetchCounts(workers: readonly WorkerSnapshot[]): Map<string, FetchCounts> {
  return new Map(
    workers.flatMap(({ worker, startedAt, vitals }) =>
      vitals === null ? [] : [[worker, { startedAt, counts: vitals.took.fetch.counts }] as const],
    ),
  )
}

async function poolSnapshots(
  { proxies, notes }: Pick<Parts, 'proxies' | 'notes'>,
  workers: readonly WorkerSnapshot[],
  now: number,
): Promise<PoolSnapshot[]> {
  const names = [...new Set(workers.filter(isAlive).flatMap(({ about }) => about?.pools ?? []))].slice(0, MOST_POOLS)
  return Promise.all(
    names.map(async (pool) => {
      const [scores, reported] = await Promise.all([proxies.scoresOn(pool, ''), reportedProxies(notes, pool)])
      const back = scores.flatMap(({ restsUntil }) => (restsUntil !== null && restsUntil > now ? [restsUntil] : []))
      return {
        ...{ pool, proxies: reported > 0 ? reported : scores.length, resting: back.length },
        firstBackAt: back.length === 0 ? null : Math.min(...back),
      }
    }),
  )
}

/** Caches the answer for a while. */
function seldom<Args extends unknown[], Answer>(everyMs: number, ask: (now: number, ...args: Args) => Promise<Answer>) {
  let last: { readonly at: number; readonly answer: Answer } | null = null
  return async (now: number, ...args: Args): Promise<Answer> => {
    if (last === null || now - last.at >= everyMs) last = { at: now, answer: await ask(now, ...args) }
    return last.answer
  }
}
