import type { CrawlInfo, CrawlStats, Frontier, HostInfo, LinkInfo, WorkerInfo } from '../../frontier/frontier.js'

/** Health is progress, not a connection: with work due and nothing leased or settled for this long it is red. */
export const STALLED_MS = 15_000
/** A worker that was not heard of for this long has lost its links or is about to. */
const WORKER_SILENT_MS = 60_000
/** Those with most work left: where nothing is due among them, hardly anything is. */
const HOSTS_READ = 100
/** Those that end first: where none of them is new and nothing has ended, visits hang. */
const LEASES_READ = 200
const QUEUED_READ = 20

export interface Health {
  readonly ok: boolean
  /** Crawls with work that is due and that nobody takes. */
  readonly stalled: readonly { readonly crawl: string; readonly spider: string; readonly forMs: number }[]
}

export interface CrawlSnapshot {
  readonly stats: CrawlStats
  readonly hosts: readonly HostInfo[]
  readonly leased: readonly LinkInfo[]
  /** Some of them. */
  readonly queued: readonly LinkInfo[]
}

/** For how long work of the crawl has been due without anything being leased or settled anywhere; 0: all is well. */
export function stalledMs(look: CrawlSnapshot, { progressAt, watched }: Progress, now: number): number {
  const { stats } = look
  if (stats.state !== 'running' || stats.queued === 0) return 0
  const open = look.hosts.filter(
    (host) => host.pending > 0 && host.set?.blocked !== true && host.inFlight < host.concurrency && slotAt(host) <= now,
  )
  if (open.length === 0) return 0
  const slotSince = watched ? Math.min(...open.map(slotAt)) : 0
  const addedSince = Math.min(...look.queued.map((link) => link.addedAt), now)
  const dueSince = Math.max(slotSince, look.queued.length === 0 ? 0 : addedSince, stats.createdAt)
  return Math.max(0, now - Math.max(dueSince, progressAt))
}

function slotAt(host: HostInfo): number {
  return Math.max(host.nextAt, host.blockedUntil ?? 0)
}

export interface Progress {
  /**
   * When something was last leased or settled, anywhere in the queue; 0 when nothing is known of it. Not before somebody was there to do it: what
   * waited for the first worker is no fault of its.
   */
  readonly progressAt: number
  /** Some worker asks. While nobody does, the time of a queue may stand still, and with it the slots of its hosts. */
  readonly watched: boolean
}

export function progressOf(workers: readonly WorkerInfo[], looks: readonly CrawlSnapshot[], now: number): Progress {
  const settled = workers.map((worker) => worker.progressAt ?? 0)
  const leased = looks.flatMap((look) => look.leased.map((link) => link.leasedAt ?? 0))
  return {
    progressAt: Math.max(mannedSince(workers, now), ...settled, ...leased),
    watched: workers.some((worker) => now - worker.seenAt < STALLED_MS),
  }
}

/** Since when there has been a worker at any time, however often one took the place of another; 0: there is none now. */
function mannedSince(workers: readonly WorkerInfo[], now: number): number {
  let since = now
  for (const { startedAt, seenAt } of [...workers].sort((a, b) => b.seenAt - a.seenAt)) {
    if (seenAt + WORKER_SILENT_MS <= since) return since === now ? 0 : since
    since = Math.min(since, startedAt)
  }
  return workers.length === 0 ? 0 : since
}

/**
 * `fleet`: workers are expected to be there at any time. On one machine a crawl without workers was stopped and waits for its next run, which
 * is no fault.
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
 * Asks as little as will do: nothing of any crawl while something ends anywhere, and for leases only where all else says that nobody takes the
 * work.
 */
export async function healthAmong(
  frontier: Frontier,
  workers: readonly WorkerInfo[],
  crawls: readonly CrawlInfo[],
  now: number,
  fleet: boolean,
): Promise<Health> {
  if (!fleet && workers.every((worker) => workerState(worker, now) === 'silent')) return FINE
  if (endedLately(workers, now)) return FINE
  const running = crawls.filter(({ state }) => state === 'running')
  const looks = await Promise.all(running.map(({ id }) => lookAt(frontier, id)))
  if (stalledIn(looks, workers, now).length === 0) return FINE
  const stalled = stalledIn(await Promise.all(looks.map((look) => withLeases(frontier, look))), workers, now)
  return { ok: stalled.length === 0, stalled }
}

/** Something ended anywhere in the queue, or the first worker has just come: nothing can be called stalled, and no crawl need be asked. */
export function endedLately(workers: readonly WorkerInfo[], now: number): boolean {
  return now - progressOf(workers, [], now).progressAt <= STALLED_MS
}

const FINE: Health = { ok: true, stalled: [] }

function stalledIn(looks: readonly CrawlSnapshot[], workers: readonly WorkerInfo[], now: number): Health['stalled'] {
  const progress = progressOf(workers, looks, now)
  return looks.flatMap((look) => {
    const forMs = stalledMs(look, progress, now)
    return forMs > STALLED_MS ? [{ crawl: look.stats.id, spider: look.stats.spider, forMs }] : []
  })
}

async function lookAt(frontier: Frontier, crawl: string): Promise<CrawlSnapshot> {
  const stats = await frontier.stats(crawl)
  if (stats.queued === 0) return { stats, hosts: [], leased: [], queued: [] }
  const [hosts, queued] = await Promise.all([
    frontier.hosts(crawl, { limit: HOSTS_READ, busiest: true }),
    frontier.links({ crawl, state: 'queued', limit: QUEUED_READ }),
  ])
  return { stats, hosts, leased: [], queued }
}

async function withLeases(frontier: Frontier, look: CrawlSnapshot): Promise<CrawlSnapshot> {
  const { id, leased } = look.stats
  return leased === 0
    ? look
    : { ...look, leased: await frontier.links({ crawl: id, state: 'leased', limit: LEASES_READ }) }
}

/** `missing`: it told how it does, and has stopped telling. `silent`: not heard of for a minute. `draining`: asked to leave. */
export type WorkerState = 'working' | 'idle' | 'draining' | 'missing' | 'silent'

export function workerState(worker: WorkerInfo, now: number): WorkerState {
  if (now - worker.seenAt >= WORKER_SILENT_MS) return 'silent'
  return worker.inFlight > 0 ? 'working' : 'idle'
}

/** Links ended per second since it started. */
export function workerRate(worker: WorkerInfo, now: number): number {
  return (worker.done * 1000) / Math.max(1_000, now - worker.startedAt)
}

/** Workers alive that have another version of the spider than its crawl was begun with, and whether any has it at all. */
export interface SpiderHolders {
  readonly holders: number
  readonly otherVersion: readonly string[]
}

export function spiderHolders(crawl: CrawlInfo, alive: readonly WorkerInfo[]): SpiderHolders {
  const hashes = alive.map(({ worker, about }) => ({ worker, hash: about?.spiders?.[crawl.spider] }))
  return {
    // One that does not say what it has may have it.
    holders: alive.filter(({ about }) => about?.spiders === undefined || crawl.spider in about.spiders).length,
    otherVersion: hashes.flatMap(({ worker, hash }) =>
      hash === undefined || hash === crawl.spiderHash ? [] : [worker],
    ),
  }
}

/** Visits at once that the fleet can make for the crawl; null when a worker does not say. */
export function fleetSlots(crawl: CrawlInfo, alive: readonly WorkerInfo[]): number | null {
  let slots = 0
  for (const { about } of alive) {
    if (about?.spiders === undefined || about.concurrency === undefined) return null
    if (crawl.spider in about.spiders) slots += about.concurrency
  }
  return slots
}
