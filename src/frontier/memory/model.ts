import type { Fingerprint, HostKey, Link } from '../../url/link.js'
import type { Counts } from '../counts.js'
import type { FilterCounts } from '../filtered.js'
import type {
  CrawlInfo,
  CrawlSpec,
  DeadFilter,
  Failure,
  HostSettings,
  LinkState,
  WorkerAbout,
  WorkerId,
} from '../frontier.js'
import type { HostPace } from '../pace.js'
import type { Usage } from '../turns.js'

/** Whatever has a pace: a host, or a lane whose route has limits. */
export interface Paced {
  pace: HostPace
}

export interface Host extends Paced {
  settings: HostSettings
  latencyMs: number | null
}

export interface Crawl {
  spec: CrawlSpec
  state: CrawlInfo['state']
  endedBy: CrawlInfo['endedBy']
  spiderChanges: number
  readonly createdAt: number
  startedAt: number | null
  /** After a pause; null: it was never paused. */
  resumedAt: number | null
  finishedAt: number | null
  seeding: boolean
  /** In the order in which they were added. */
  readonly entries: Entry[]
  readonly byFp: Map<Fingerprint, Entry>
  readonly failedByHost: Map<HostKey, number>
  retried: number
  throttled: number
  reclaimed: number
  stale: number
  refused: number
  bytes: number
  readonly filtered: FilterCounts
  readonly counts: Counts
}

export interface Lane extends Paced {
  readonly crawl: Crawl
  readonly host: HostKey
  /** '' unless the route has limits of its own. */
  readonly route: string
  servedAt: number
}

/** A link and all that happened to it. */
export interface Entry {
  readonly id: number
  /** With the priority it has now. */
  link: Link
  lane: Lane
  /** Ties of priority: smaller first. */
  place: number
  /** `pending` is queued or delayed: the time decides which. */
  state: 'pending' | 'leased' | 'done' | 'dead' | 'skipped'
  dueAt: number
  attempts: number
  throttles: number
  reclaims: number
  bypassFresh: boolean
  readonly addedAt: number
  endedAt: number | null
  failures: (Failure & { at: number })[]
}

/** A lease as the queue remembers it; kept after its end, to answer repeated calls. */
export interface Hold {
  readonly entry: Entry
  readonly worker: WorkerId
  readonly seq: number
  readonly token: string
  readonly epoch: string
  readonly attempt: number
  readonly leasedAt: number
  readonly permitMs: number
  readonly solo: boolean
  expiresAt: number
  state: 'held' | 'settled' | 'lost'
  /** Hosts on which it has a request under way, with the time of the last permit. */
  readonly slots: Map<HostKey, number>
}

export interface Worker {
  readonly startedAt: number
  seenAt: number
  progressAt: number | null
  about: WorkerAbout | null
  lastSeq: number | null
  usage: Usage | null
  done: number
  failed: number
}

export function stateOf(entry: Entry, now: number): LinkState {
  if (entry.state !== 'pending') return entry.state
  return entry.dueAt > now ? 'delayed' : 'queued'
}

/** Negative when `a` comes before `b` in their lane. */
function compareEntries(a: Entry, b: Entry, order: CrawlSpec['order']): number {
  if (order === 'lifo') return b.place - a.place
  if (order === 'fifo') return a.place - b.place
  return b.link.priority - a.link.priority || a.place - b.place
}

/** The budget that stops the leasing, if one does. */
export function budgetSpent(crawl: Crawl, now: number): CrawlInfo['endedBy'] {
  const { bytes, ms } = crawl.spec.budget
  if (bytes !== undefined && crawl.bytes >= bytes) return 'budget_bytes'
  if (ms !== undefined && crawl.startedAt !== null && now - crawl.startedAt >= ms) return 'budget_time'
  return null
}

export function givesLeases(crawl: Crawl, now: number): boolean {
  return crawl.state === 'running' && budgetSpent(crawl, now) === null
}

export function pendingOf(crawl: Crawl): number {
  return crawl.entries.filter((entry) => entry.state === 'pending').length
}

export function isFull(crawl: Crawl, host: HostKey): boolean {
  const { maxPending, overflow, budget } = crawl.spec
  if (overflow === 'refuse' && pendingOf(crawl) >= maxPending) return true
  if (budget.pages !== undefined && crawl.entries.length >= budget.pages) return true
  if (budget.pagesPerHost === undefined) return false
  return crawl.entries.filter((entry) => entry.link.host === host).length >= budget.pagesPerHost
}

export function lastCode(entry: Entry): Failure['code'] | undefined {
  return entry.failures.at(-1)?.code
}

/** The lane's links that are due, best first. */
export function queueOf(lane: Lane, now: number): Entry[] {
  return lane.crawl.entries
    .filter((entry) => entry.lane === lane && stateOf(entry, now) === 'queued')
    .sort((a, b) => compareEntries(a, b, lane.crawl.spec.order))
}

export function deadOf(crawl: Crawl, filter: DeadFilter): Entry[] {
  return crawl.entries.filter(
    (entry) =>
      entry.state === 'dead' &&
      (filter.fp === undefined || entry.link.fp === filter.fp) &&
      (filter.host === undefined || entry.link.host === filter.host) &&
      (filter.code === undefined || lastCode(entry) === filter.code),
  )
}
