import {
  type CrawlInfo,
  type CrawlStats,
  type Frontier,
  type HostInfo,
  IDLE_MAX_MS,
  type LinkInfo,
  type WorkerInfo,
} from '../../frontier/frontier.js'

/** Health means progress, not a connection: unhealthy when links are due and nothing was leased or settled for this long. */
export const STALLED_MS = 15_000
/** A worker that was not seen for this long is missing, even if it has never said how often it beats. */
const WORKER_GONE_MS = 60_000
/** However often it beats: two late beats on a busy machine are no news. */
const MISSING_MS = 5_000
/** The busiest hosts: if nothing is due there, hardly anything is due elsewhere. */
const HOSTS_READ = 100
/** The leases that expire first: if none of them is new and nothing has ended, visits hang. */
const LEASES_READ = 200
const QUEUED_READ = 20

export interface Health {
  readonly ok: boolean
  /** Crawls with due links that no worker takes. */
  readonly stalled: readonly { readonly crawl: string; readonly spider: string; readonly forMs: number }[]
}

export interface CrawlSnapshot {
  readonly stats: CrawlStats
  readonly hosts: readonly HostInfo[]
  readonly leased: readonly LinkInfo[]
  /** Some of them. */
  readonly queued: readonly LinkInfo[]
}

/** How long links of the crawl have been due without anything being leased or settled anywhere; 0: healthy. */
export function stalledMs(snapshot: CrawlSnapshot, { progressAt, watched }: Progress, now: number): number {
  const { stats } = snapshot
  if (stats.state !== 'running' || stats.queued === 0) return 0
  const open = snapshot.hosts.filter(
    (host) => host.pending > 0 && host.set?.blocked !== true && host.inFlight < host.concurrency && slotAt(host) <= now,
  )
  if (open.length === 0) return 0
  const slotSince = watched ? Math.min(...open.map(slotAt)) : 0
  const addedSince = Math.min(...snapshot.queued.map((link) => link.addedAt), now)
  const dueSince = Math.max(slotSince, snapshot.queued.length === 0 ? 0 : addedSince, stats.createdAt)
  return Math.max(0, now - Math.max(dueSince, progressAt))
}

function slotAt(host: HostInfo): number {
  return Math.max(host.nextAt, host.blockedUntil ?? 0)
}

export interface Progress {
  /**
   * When something was last leased or settled anywhere in the queue; 0 if unknown. Not before the first worker started: what
   * waited for that worker is not its fault.
   */
  readonly progressAt: number
  /** Some worker asks for links. While none does, a queue may not update the slots of its hosts. */
  readonly watched: boolean
}

export function progressOf(workers: readonly WorkerInfo[], snapshots: readonly CrawlSnapshot[], now: number): Progress {
  const settled = workers.map((worker) => worker.progressAt ?? 0)
  const leased = snapshots.flatMap((snapshot) => snapshot.leased.map((link) => link.leasedAt ?? 0))
  return {
    progressAt: Math.max(mannedSince(workers, now), ...settled, ...leased),
    watched: workers.some((worker) => now - worker.seenAt < STALLED_MS),
  }
}

/** Since when there has always been a worker, however often one replaced another; 0: there is none now. */
function mannedSince(workers: readonly WorkerInfo[], now: number): number {
  let since = now
  for (const { startedAt, seenAt } of [...workers].sort((a, b) => b.seenAt - a.seenAt)) {
    if (seenAt + WORKER_GONE_MS <= since) return since === now ? 0 : since
    since = Math.min(since, startedAt)
  }
  return workers.length === 0 ? 0 : since
}

/**
 * `fleet`: workers are expected at any time. On one machine a crawl without workers was simply stopped and waits for its next run, which
 * is not a problem.
 */
export async function healthOf(
  frontier: Frontier,
  crawls: readonly CrawlInfo[],
  now: number,
  fleet: boolean,
): Promise<Health> {
  return healthAmong(frontier, await frontier.workers(), crawls, now, fleet)
}

/**
 * Reads as little as possible: no crawl at all while anything ends anywhere, and leases only if everything else says that no worker takes the
 * links.
 */
export async function healthAmong(
  frontier: Frontier,
  workers: readonly WorkerInfo[],
  crawls: readonly CrawlInfo[],
  now: number,
  fleet: boolean,
): Promise<Health> {
  if (!fleet && workers.every((worker) => workerState(worker, now) === 'missing')) return FINE
  if (endedLately(workers, now)) return FINE
  const running = crawls.filter(({ state }) => state === 'running')
  const snapshots = await Promise.all(running.map(({ id }) => readCrawl(frontier, id)))
  if (stalledIn(snapshots, workers, now).length === 0) return FINE
  const stalled = stalledIn(
    await Promise.all(snapshots.map((snapshot) => withLeases(frontier, snapshot))),
    workers,
    now,
  )
  return { ok: stalled.length === 0, stalled }
}

/** Something ended anywhere in the queue, or the first worker has just started: nothing can be stalled, and no crawl needs to be read. */
export function endedLately(workers: readonly WorkerInfo[], now: number): boolean {
  return now - progressOf(workers, [], now).progressAt <= STALLED_MS
}

const FINE: Health = { ok: true, stalled: [] }

function stalledIn(
  snapshots: readonly CrawlSnapshot[],
  workers: readonly WorkerInfo[],
  now: number,
): Health['stalled'] {
  const progress = progressOf(workers, snapshots, now)
  return snapshots.flatMap((snapshot) => {
    const forMs = stalledMs(snapshot, progress, now)
    return forMs > STALLED_MS ? [{ crawl: snapshot.stats.id, spider: snapshot.stats.spider, forMs }] : []
  })
}

async function readCrawl(frontier: Frontier, crawl: string): Promise<CrawlSnapshot> {
  const stats = await frontier.stats(crawl)
  if (stats.queued === 0) return { stats, hosts: [], leased: [], queued: [] }
  const [hosts, queued] = await Promise.all([
    frontier.hosts(crawl, { limit: HOSTS_READ, busiest: true }),
    frontier.links({ crawl, state: 'queued', limit: QUEUED_READ }),
  ])
  return { stats, hosts, leased: [], queued }
}

async function withLeases(frontier: Frontier, snapshot: CrawlSnapshot): Promise<CrawlSnapshot> {
  const { id, leased } = snapshot.stats
  return leased === 0
    ? snapshot
    : { ...snapshot, leased: await frontier.links({ crawl: id, state: 'leased', limit: LEASES_READ }) }
}

/** `missing`: its beats are overdue, and it did not shut down. `draining`: asked to stop. */
export type WorkerState = 'working' | 'idle' | 'draining' | 'missing'

export function workerState(worker: WorkerInfo, now: number): WorkerState {
  if (isMissing(worker, now)) return 'missing'
  return worker.inFlight > 0 ? 'working' : 'idle'
}

export function lastSeenAt({ seenAt, beatAt }: WorkerInfo): number {
  return Math.max(seenAt, beatAt ?? 0)
}

/**
 * Half of the time after which its links are handed out again has passed without a beat: two of them are overdue. When it is lost the queue forgets its beats and
 * what it held. It then looks like a worker that never beats and has nothing to do; but such a worker asks for links every second.
 */
export function isMissing(worker: WorkerInfo, now: number): boolean {
  const { beatAt, lostAt, inFlight } = worker
  const withoutBeats = inFlight > 0 ? WORKER_GONE_MS : MISSING_MS + IDLE_MAX_MS
  const halfLost = beatAt === null || lostAt === null ? withoutBeats : (lostAt - beatAt) / 2
  return now - lastSeenAt(worker) >= Math.min(WORKER_GONE_MS, Math.max(MISSING_MS, halfLost))
}

/** One that is alive, or that somebody may still look for: it went missing a moment ago, or holds links. */
export function isListed(worker: WorkerInfo, now: number): boolean {
  return worker.inFlight > 0 || now - lastSeenAt(worker) < WORKER_GONE_MS
}

/** Links ended per second since it started. */
export function workerRate(worker: WorkerInfo, now: number): number {
  return (worker.done * 1000) / Math.max(1_000, now - worker.startedAt)
}

/** How many live workers have the spider of a crawl, and which of them have another version of it. */
export interface SpiderHolders {
  readonly holders: number
  readonly otherVersion: readonly string[]
}

export function spiderHolders(crawl: CrawlInfo, alive: readonly WorkerInfo[]): SpiderHolders {
  const hashes = alive.map(({ worker, about }) => ({ worker, hash: about?.spiders?.[crawl.spider] }))
  return {
    // A worker that does not report its spiders may have it.
    holders: alive.filter(({ about }) => about?.spiders === undefined || crawl.spider in about.spiders).length,
    otherVersion: hashes.flatMap(({ worker, hash }) =>
      hash === undefined || hash === crawl.spiderHash ? [] : [worker],
    ),
  }
}

/** One that reports has said how many slots it has now; otherwise its ceiling is all that is known. */
interface SlottedWorker extends WorkerInfo {
  readonly vitals?: { readonly slots: number } | null
}

/** Concurrent visits that the fleet can make for the crawl; null if a worker does not report it. */
export function fleetSlots(crawl: CrawlInfo, alive: readonly SlottedWorker[]): number | null {
  let slots = 0
  for (const { about, vitals } of alive) {
    if (about?.spiders === undefined || about.concurrency === undefined) return null
    if (crawl.spider in about.spiders) slots += vitals?.slots ?? about.concurrency
  }
  return slots
}
