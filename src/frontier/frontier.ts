import type { ErrorCode } from '../errors.js'
import type { Fingerprint, HostKey, Link } from '../url/link.js'

/**
 * The frontier: what to visit, when, and who holds it.
 *
 * A link is in exactly one state at any time:
 *
 *     queued ──lease──► leased ──settle──► done | dead | skipped      (ends)
 *       ▲  ▲              │  └──settle(retry)──► delayed ──due──► queued
 *       │  └───reap───────┘
 *       └── delayed
 *
 * Duties of every driver:
 *  - A call either happened whole or not at all; when the reply is lost the caller repeats the call, and the repeat changes
 *    nothing more (lease by (worker, seq), settle, release and extend by token, add by fingerprint).
 *  - No link is held by two workers at once. A lease that ran out is worth nothing: settle and extend refuse it.
 *  - Politeness is decided here and nowhere else: a host's delay, rate, concurrency and blocks hold over all workers and all crawls.
 *  - Cost does not grow with the number of links queued or hosts waiting.
 *  - Counters always equal a scan: total = queued + delayed + leased + done + dead + skipped.
 *  - Finished is exact: nothing queued, delayed or leased, and every source of seeds has said that it is done.
 */
export interface Frontier {
  /** What this engine does not do is declared here, not faked. */
  readonly can: Capabilities

  /** Identity of the queue's data: made with the data, lost with the data. The record store turns it into `gen`. */
  identity(): Promise<string>

  /** Creates the crawl, or opens it again as it is (the spec of an unfinished crawl is replaced by the new one). */
  open(spec: CrawlSpec): Promise<CrawlInfo>

  /** Adds links that are not known yet. Of equal fingerprints the first wins. */
  add(crawl: CrawlId, links: readonly Link[]): Promise<AddResult>

  /** Every source of seeds is exhausted: from now on an empty queue means finished. */
  seeded(crawl: CrawlId): Promise<void>

  /**
   * Hands out up to `want` links of running crawls, each within its host's pace, best first. Empty is not finished: `idleMs` says how
   * long to sleep before asking again. `drain` asks the worker to finish what it holds and come back empty-handed: a link that
   * killed workers before waits to be leased alone.
   */
  lease(request: LeaseRequest): Promise<LeaseReply>

  /**
   * Every request needs a permit of its host. A lease carries the first one, good for `lease.permitMs` after it was granted; for
   * robots.txt, redirect hops, repeated requests and late starts the worker asks here immediately before dispatch.
   */
  permit(lease: LeaseRef, host: HostKey): Promise<Permit>

  /**
   * The body of a request is read: frees the lease's slot on `host` and tells how the host did, at once, long before the settle.
   * Harmless for a lease that was lost.
   */
  release(releases: readonly Release[]): Promise<void>

  /** Renews leases; answers the tokens that are lost. */
  extend(worker: WorkerId, tokens: readonly string[]): Promise<string[]>

  /**
   * Ends leases: links found, acknowledgement, counters, in one step each. `false`: the lease was lost and nothing changed.
   * The caller has committed the records before.
   */
  settle(settlements: readonly Settlement[]): Promise<boolean[]>

  /** Puts links of expired leases back, at most `limit`; any process may call it at any time. Answers how many. */
  reap(limit: number): Promise<number>

  /** The worker is known to be dead: its leases are reaped now instead of when they run out. */
  forfeit(worker: WorkerId): Promise<number>

  setState(crawl: CrawlId, state: 'running' | 'paused' | 'cancelled'): Promise<void>

  /** Deletes a crawl that has ended or was cancelled, with everything known about its links. */
  remove(crawl: CrawlId): Promise<void>

  crawls(): Promise<CrawlInfo[]>
  stats(crawl: CrawlId): Promise<CrawlStats>
  hosts(crawl: CrawlId, page: { limit: number; after?: HostKey }): Promise<HostInfo[]>
  workers(): Promise<WorkerInfo[]>
  links(query: LinkQuery): Promise<LinkInfo[]>
  explain(crawl: CrawlId, fp: Fingerprint): Promise<Whereabouts>

  /** Dead letters grouped by error code, most frequent first. */
  deadByError(crawl: CrawlId): Promise<{ code: ErrorCode; count: number; sample: string }[]>
  /** Dead letters go back to the queue with no attempts used. Answers how many. */
  replay(crawl: CrawlId, filter: DeadFilter): Promise<number>
  /** Dead letters are given up for good (state skipped). Answers how many. */
  purge(crawl: CrawlId, filter: DeadFilter): Promise<number>

  /** Pace of a host set by hand or by robots.txt; fields left out stay as they are, null takes the setting back. */
  setHost(host: HostKey, settings: HostSettings): Promise<void>

  close(): Promise<void>
}

export interface Capabilities {
  /** How exact the ordering by priority is over hosts. */
  readonly priorities: 'exact' | 'approximate'
  /** Several processes may share it. */
  readonly shared: boolean
  /** Survives the end of the process. */
  readonly durable: boolean
}

export type CrawlId = string
export type WorkerId = string
export type CrawlState = 'running' | 'paused' | 'cancelled' | 'finished'
export type LinkState = 'queued' | 'delayed' | 'leased' | 'done' | 'dead' | 'skipped'

/** At most `concurrency` requests at once, `delayMs` between starts, `rate` on average. */
export interface Limits {
  readonly delayMs: number
  readonly concurrency: number
  readonly rate?: { readonly count: number; readonly perMs: number; readonly burst: number }
}

export interface CrawlSpec {
  readonly id: CrawlId
  readonly spider: string
  /** Hash of the spider file: a change in mid-crawl is noted, and new code is for new leases. */
  readonly spiderHash: string
  /** Higher priority first (default), or plain first-in, or last-in first. */
  readonly order: 'priority' | 'fifo' | 'lifo'
  /** For each host. Where several crawls have work for a host, the strictest limits hold. */
  readonly limits: Limits
  /** For each host and route: routes named here have a lane of their own beside the host's limits. */
  readonly routeLimits: Readonly<Record<string, Limits>>
  readonly visibilityMs: number
  /** A retry that counts as an attempt returns this much lower. */
  readonly retryPriorityStep: number
  /** One point of priority is worth this much waiting: no host starves. */
  readonly agingMs: number
  /** Leases that may run out on a link, with the link alone in its worker, before it is dead as `poison`. */
  readonly maxReclaims: number
  /** Links found above this many pending ones are refused and counted (`overflow: 'refuse'`) or kept (`'keep'`). Seeds wait instead. */
  readonly maxPending: number
  readonly overflow: 'refuse' | 'keep'
  readonly budget: Budget
  /** From the record store: grows when the queue's data went back or was replaced. */
  readonly gen: number
}

export interface Budget {
  /** Links admitted to the crawl at most. */
  readonly pages?: number
  readonly pagesPerHost?: number
  readonly bytes?: number
  readonly ms?: number
}

export interface AddResult {
  readonly added: number
  readonly known: number
  /** Over maxPending or over a budget: not remembered as seen, counted. */
  readonly refused: number
  /** Queued + delayed afterwards: sources of seeds stop above the high-water mark. */
  readonly pending: number
}

export interface LeaseRequest {
  readonly worker: WorkerId
  /** Grows by one with each lease call of this worker; the same number again returns the same batch. */
  readonly seq: number
  readonly want: number
  /** Only crawls of these spiders. */
  readonly spiders: readonly string[]
}

export interface LeaseReply {
  readonly leases: Lease[]
  readonly idleMs: number
  readonly drain: boolean
}

/** What identifies a lease to the queue. */
export interface LeaseRef {
  readonly crawl: CrawlId
  readonly token: string
}

export interface Lease extends LeaseRef {
  readonly link: Link
  /** 1 for the first fetch. */
  readonly attempt: number
  /** How often the host asked for time on this link; costs no attempt. */
  readonly throttles: number
  readonly gen: number
  /** Decimal digits; grows over all leases of the queue. Compare as numbers of equal meaning: by length, then as text. */
  readonly epoch: string
  /** The permit that came with the lease is good for this long. */
  readonly permitMs: number
  /** The lease runs out after this long unless extended. */
  readonly visibilityMs: number
  /** Dead letters that were replayed, and `--fresh`: the record store's freshness window does not apply. */
  readonly bypassFresh: boolean
}

export type Permit = { readonly ok: true } | { readonly ok: false; readonly waitMs: number }

export interface Release {
  readonly lease: LeaseRef
  readonly host: HostKey
  /** Milliseconds from dispatch to the end of the body: the next start is counted from the real dispatch. */
  readonly elapsedMs: number
  readonly report: HostReport
}

/** How the host did. `throttled` blocks it for the whole fleet; N of them from requests in flight together count once. */
export type HostReport =
  | { readonly kind: 'ok' }
  | { readonly kind: 'failed' }
  | { readonly kind: 'throttled'; readonly retryAfterMs: number | null }

export interface Failure {
  readonly code: ErrorCode
  readonly message: string
}

export type Outcome =
  | { readonly kind: 'done'; readonly links: readonly Link[]; readonly bytes: number }
  | { readonly kind: 'retry'; readonly afterMs: number; readonly failure: Failure; readonly countsAsAttempt: boolean }
  | { readonly kind: 'dead'; readonly failure: Failure }
  | { readonly kind: 'skipped'; readonly failure: Failure }
  /** Not started: back as it was, same priority, no attempt, due after `afterMs`. */
  | { readonly kind: 'back'; readonly afterMs: number }

export interface Settlement {
  readonly lease: LeaseRef
  readonly outcome: Outcome
}

export interface CrawlInfo {
  readonly id: CrawlId
  readonly spider: string
  readonly state: CrawlState
  /** Why it ended before its links did: a budget. */
  readonly endedBy: 'budget_bytes' | 'budget_time' | null
  readonly spiderHash: string
  /** How often the spider file changed since the crawl was opened. */
  readonly spiderChanges: number
  readonly createdAt: number
  readonly startedAt: number | null
  readonly finishedAt: number | null
  readonly seeding: boolean
}

export interface CrawlStats extends CrawlInfo {
  readonly total: number
  readonly queued: number
  readonly delayed: number
  readonly leased: number
  readonly done: number
  readonly dead: number
  readonly skipped: number
  /** Visits that failed and cost an attempt, whether or not they were tried again. */
  readonly failed: number
  readonly retried: number
  readonly throttled: number
  /** Leases that ran out. */
  readonly reclaimed: number
  /** Settlements refused because the lease was lost. */
  readonly stale: number
  /** Links refused by maxPending or a budget. */
  readonly refused: number
  readonly bytes: number
  /** Links that ended (done, dead, skipped) within the last minute or since the start if that is shorter, per second. */
  readonly rate: number
}

export interface HostInfo {
  readonly host: HostKey
  readonly pending: number
  readonly inFlight: number
  readonly done: number
  readonly failed: number
  readonly dead: number
  readonly delayMs: number
  readonly concurrency: number
  readonly ratePerSecond: number | null
  /** No request may start before. */
  readonly nextAt: number
  readonly blockedUntil: number | null
  /** Mean of recent request durations; null before the first. */
  readonly latencyMs: number | null
}

export interface WorkerInfo {
  readonly worker: WorkerId
  readonly inHand: number
  readonly done: number
  readonly failed: number
  readonly startedAt: number
  readonly seenAt: number
}

export interface LinkQuery {
  readonly crawl: CrawlId
  readonly state?: LinkState
  /** Dead letters of one error. */
  readonly code?: ErrorCode
  readonly host?: HostKey
  readonly limit: number
  /** The `cursor` of the last link of the page before. */
  readonly after?: string
}

/** A link as people see it (S7). */
export interface LinkInfo {
  readonly cursor: string
  readonly fp: Fingerprint
  readonly url: string
  readonly host: HostKey
  readonly route: string
  readonly state: LinkState
  readonly depth: number
  readonly priority: number
  /** Fetches that cost an attempt so far. */
  readonly attempts: number
  readonly throttles: number
  readonly reclaims: number
  readonly addedAt: number
  readonly dueAt: number | null
  readonly worker: WorkerId | null
  readonly leasedAt: number | null
  readonly endedAt: number | null
  /** Newest last, at most twenty. */
  readonly failures: readonly (Failure & { readonly at: number })[]
  readonly data?: Link['data']
  readonly request?: Link['request']
}

export type Whereabouts =
  | { readonly state: 'unknown' }
  | {
      readonly state: LinkState
      readonly link: LinkInfo
      readonly host: HostInfo
      /** Links of the same lane that come first; null unless queued; the search stops at 10,000 and says so with `10000`. */
      readonly position: number | null
      readonly crawlState: CrawlState
    }

export interface DeadFilter {
  readonly fp?: Fingerprint
  readonly code?: ErrorCode
  readonly host?: HostKey
}

export interface HostSettings {
  /** Set by hand; wins over the spider's. */
  readonly delayMs?: number | null
  readonly concurrency?: number | null
  /** Crawl-delay of robots.txt: never faster than this. */
  readonly floorMs?: number | null
}

/** Errors kept with a link. */
export const FAILURES_KEPT = 20
/** `explain` looks no further than this into a host's queue. */
export const POSITION_CAP = 10_000
/** A permit that came with a lease is good for at most this long (a frozen worker asks again). */
export const PERMIT_MAX_MS = 2_000
