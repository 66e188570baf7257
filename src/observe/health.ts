import type { CrawlInfo, CrawlStats, Frontier, HostInfo, LinkInfo, WorkerInfo } from '../frontier/frontier.js'

/** Health is progress, not a connection: with work due and nothing leased or settled for this long it is red. */
export const STALLED_MS = 15_000
/** A worker that was not heard of for this long has lost its links or is about to. */
export const WORKER_SILENT_MS = 60_000
/** Those with most work left: where nothing is due among them, hardly anything is. */
const HOSTS_READ = 100
const LEASES_READ = 1_000
const QUEUED_READ = 20

export interface Health {
  readonly ok: boolean
  /** Crawls with work that is due and that nobody takes. */
  readonly stalled: readonly { readonly crawl: string; readonly spider: string; readonly forMs: number }[]
}

export interface CrawlLook {
  readonly stats: CrawlStats
  readonly hosts: readonly HostInfo[]
  readonly leased: readonly LinkInfo[]
  /** Some of them. */
  readonly queued: readonly LinkInfo[]
}

/** For how long work of the crawl has been due without anything being leased or settled anywhere; 0: all is well. */
export function stalledMs(look: CrawlLook, { progressAt, watched }: Progress, now: number): number {
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
  /** When something was last leased or settled, anywhere in the queue; 0 when nothing is known of it. */
  readonly progressAt: number
  /** Some worker asks. While nobody does, the time of a queue may stand still, and with it the slots of its hosts. */
  readonly watched: boolean
}

export function progressOf(workers: readonly WorkerInfo[], looks: readonly CrawlLook[], now: number): Progress {
  const settled = workers.map((worker) => worker.progressAt ?? 0)
  const leased = looks.flatMap((look) => look.leased.map((link) => link.leasedAt ?? 0))
  return {
    progressAt: Math.max(0, ...settled, ...leased),
    watched: workers.some((worker) => now - worker.seenAt < STALLED_MS),
  }
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
  const workers = await frontier.workers()
  if (!fleet && workers.every((worker) => workerState(worker, now) === 'silent')) return { ok: true, stalled: [] }
  const running = crawls.filter(({ state }) => state === 'running')
  const looks = await Promise.all(running.map(({ id }) => lookAt(frontier, id)))
  const progress = progressOf(workers, looks, now)
  const stalled = looks.flatMap((look) => {
    const forMs = stalledMs(look, progress, now)
    return forMs > STALLED_MS ? [{ crawl: look.stats.id, spider: look.stats.spider, forMs }] : []
  })
  return { ok: stalled.length === 0, stalled }
}

async function lookAt(frontier: Frontier, crawl: string): Promise<CrawlLook> {
  const [stats, hosts, leased, queued] = await Promise.all([
    frontier.stats(crawl),
    frontier.hosts(crawl, { limit: HOSTS_READ, busiest: true }),
    frontier.links({ crawl, state: 'leased', limit: LEASES_READ }),
    frontier.links({ crawl, state: 'queued', limit: QUEUED_READ }),
  ])
  return { stats, hosts, leased, queued }
}

/** `missing`: it told how it does, and has stopped telling. `silent`: not heard of for a minute. `draining`: asked to leave. */
export type WorkerState = 'working' | 'idle' | 'draining' | 'missing' | 'silent'

export function workerState(worker: WorkerInfo, now: number): WorkerState {
  if (now - worker.seenAt >= WORKER_SILENT_MS) return 'silent'
  return worker.inHand > 0 ? 'working' : 'idle'
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
