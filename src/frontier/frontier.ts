import type { ErrorCode } from '../errors.js'
import type { FilteredLinks } from '../url/filter-reasons.js'
import type { Fingerprint, HostKey, Json, Link } from '../url/link.js'
import type { NamedCount } from './counts.js'

/**
 * The frontier: what to visit, when, and which worker has it. frontier/memory says the same in code, and answers what the prose leaves open.
 *
 * A link is in exactly one state at any time:
 *
 *     queued ──lease──► leased ──settle──► done | dead | skipped      (ends)
 *       ▲  ▲              │  └──settle(retry)──► delayed ──due──► queued
 *       │  └───reap───────┘
 *       └── delayed
 *
 * Duties of every driver:
 *  - A call happens completely or not at all. When the reply is lost the caller repeats the call, and the repeat changes
 *    nothing more (lease by (worker, seq), settle, release and extend by token, add by fingerprint).
 *  - No link is leased to two workers at once. A lease that ran out is worthless: settle and extend refuse it.
 *  - Politeness is decided here and nowhere else: a host's delay, rate, concurrency and blocks hold over all workers and all crawls.
 *  - Cost does not grow with the number of links queued or hosts waiting.
 *  - Counters always equal a scan: total = queued + delayed + leased + done + dead + skipped.
 *  - Finished is exact: nothing queued, delayed or leased, and every source of seeds has said that it is done.
 */
export interface Frontier {
  /** What this engine cannot do is declared here, not faked. */
  readonly can: Capabilities

  /**
   * Grows whenever the queue may have gone back in time unnoticed: its server was lost, and the one that answers next may lack the last
   * seconds. What the queue said before is then no reason to keep anything from it. Left out: it never goes back.
   */
  readonly doubts?: number

  /** Identity of the queue's data: created with the data, lost with the data. The record store turns it into `gen`. */
  identity(): Promise<string>

  /**
   * Increments the queue's mark and answers it, a whole number from 1. It is stored with the data and as durable as the data: an answer
   * that is not above every answer received before the call means that the data went back in time.
   */
  mark(): Promise<number>

  /** Creates the crawl, or opens it again as it is (the spec of a crawl that runs or is paused is replaced by the new one). */
  open(spec: CrawlSpec): Promise<CrawlInfo>

  /**
   * Adds links that are not known yet, in order. Of equal fingerprints the first wins. A finished crawl that gets a link runs again; a
   * cancelled one refuses with `crawl_ended`.
   *
   * A known link with `again` that has ended (done, dead, skipped) is queued once more, as the call describes it, with no attempts,
   * throttles and reclaims used and `bypassFresh` set; it counts as added, and maxPending and budgets may refuse it. One that is queued,
   * delayed or leased is known and stays as it is; an engine with `ended: 'counted'` that cannot check this in constant time may queue it in
   * addition to the one that waits (two visits, no loss). Repeated after the visit has ended, the call queues it another time.
   */
  add(crawl: CrawlId, links: readonly Link[]): Promise<AddResult>

  /**
   * Takes links from another queue or from the record store, each in the state it had there. One whose fingerprint is known stays as it
   * is, so that an interrupted transfer can be repeated; neither maxPending nor a budget refuses any. In a lane they keep the order of the
   * calls. The crawl must be paused (`usage` otherwise). Answers how many were not known.
   */
  restore(crawl: CrawlId, links: readonly RestoredLink[]): Promise<number>

  /** Every source of seeds is exhausted: from now on an empty queue means finished. */
  seeded(crawl: CrawlId): Promise<void>

  /**
   * Leases up to `want` links of running crawls, each within its host's pace, best first. Empty is not finished: `idleMs` says how long
   * to sleep before asking again (1 … 1000). `drain` asks the worker to finish what it has and come back with nothing leased: a link that
   * killed workers before waits to be leased alone.
   *
   * Links wait in lanes: (crawl, host), and (crawl, host, route) for routes with limits of their own; the lane is chosen when the link is
   * added. One link at a time is taken from the lane with the smallest `laneScore` (pace.ts) among those whose host and route are
   * open; equal scores: the lane that was created first. The head of a lane is, of its links that are due:
   *   priority   the highest priority, then first in
   *   fifo, lifo first in, last in; the priority is ignored, in the score too (0)
   *
   * Reclaims: a link whose leases ran out SOLO_AFTER times is solo. It is leased only to a worker that has nothing else, as the
   * only lease of its batch, and that worker gets nothing more until it is settled (`drain`). While it heads its lane and the worker has
   * something, the lane is skipped and `drain` is true. After `maxReclaims` more it is dead with the code `poison`.
   *
   * Scarce work is shared (turns.ts): of workers that ask for the same spiders, state how many pages they fetch (`busy`) and get less than they want, those
   * that used more slots lately leave links to the one that used the least, until they are even, for 50 ms at most each time. Nothing
   * is held back from a worker while the others get all that they want, or for one that does not ask. A worker that can do less wants less, and gets it.
   *
   * A repeat of the last (worker, seq) answers the leases of that batch that have not ended and leases nothing new; what is left
   * of permit and lease is counted from the first answer. An older seq leases nothing: a network delivers late what a worker has long given up.
   *
   * A crawl over its budget of bytes or time gets no leases; with its last lease settled it is finished, `endedBy` says why, and its
   * links stay queued.
   */
  lease(request: LeaseRequest): Promise<LeaseReply>

  /**
   * Every request needs a permit for its host. A lease carries the first one, valid for `lease.permitMs` after it was granted; for
   * robots.txt, redirect hops, repeated requests and late starts the worker asks here immediately before dispatch.
   * While the lease holds a slot of `host` only time matters; otherwise a free slot is needed too, which it then holds until
   * release or settle. On the link's own host the limits of its route count as well.
   */
  permit(lease: LeaseRef, host: HostKey): Promise<Permit>

  /**
   * The body of a request is read: frees the lease's slot on `host` and reports how the host did, at once, long before the settle.
   * Harmless for a lease that was lost, and when repeated: only the release that frees the slot is counted.
   */
  release(releases: readonly Release[]): Promise<void>

  /** Renews leases; answers the tokens that are lost. */
  extend(worker: WorkerId, tokens: readonly string[]): Promise<string[]>

  /**
   * The worker is alive: its keeper says so a few times in every `lostAfterMs`, off the event loop that runs the handlers. After `lostAfterMs` without a
   * beat the worker is lost, and `reap` takes back what it holds without waiting for its leases to run out. Only time during which the queue is watched
   * counts: after more than WATCH_GAP_MS without a `reap` (the queue was down, the machine slept, the clock jumped) everybody's time starts again. A worker
   * that never beats is never lost: its leases run out. False: this is its first beat, or it was lost, and what it held is gone.
   */
  beat(worker: WorkerId, lostAfterMs: number): Promise<boolean>

  /**
   * Ends leases: links found, acknowledgement, counters, in one step each. `false`: the lease was lost and nothing changed.
   * The caller has committed the records before. Links found are added by the rules of `add`; those of a cancelled crawl are not.
   * Slots that were not released are freed, without a report. The same token again answers `true` and changes nothing (remembered for
   * five minutes at least). What the filter did to the links of a page (`filtered`), and what the spider's
   * code counted (`counts`), is added with the settlement, so each page counts once.
   *
   * Place in the lane: a retry that counts as an attempt returns `retryPriorityStep` lower and behind its equals; one that does not, `back`,
   * a reclaim and a replay keep priority and place.
   */
  settle(settlements: readonly Settlement[]): Promise<boolean[]>

  /**
   * Returns links to the queue, at most `limit`: those of expired leases, oldest first, then those of lost workers (see `beat`), longest lost
   * first, whose slots are freed with them. Any process may call it at any time, and those with workers do about once a second. Answers how many.
   */
  reap(limit: number): Promise<number>

  /**
   * The worker is known to be dead: its leases are reaped now instead of when they run out. `cause`: what ended it, for the dead letter that a link
   * becomes which was leased alone and ended its worker once too often.
   */
  forfeit(worker: WorkerId, cause?: string): Promise<number>

  /** A crawl that has ended refuses with `crawl_ended` (cancelling twice is harmless). What is leased may still be settled. */
  setState(crawl: CrawlId, state: 'running' | 'paused' | 'cancelled'): Promise<void>

  /** Deletes a crawl that has ended or was cancelled (`usage` otherwise), with everything known about its links. */
  remove(crawl: CrawlId): Promise<void>

  crawls(): Promise<CrawlInfo[]>
  stats(crawl: CrawlId): Promise<CrawlStats>
  /** Hosts of the crawl's links, by name, or those with most pending links first. The pace is the current one, over all crawls. */
  hosts(crawl: CrawlId, page: HostPage): Promise<HostInfo[]>
  /** By name. Forfeited workers are forgotten. */
  workers(): Promise<WorkerInfo[]>
  /** In the order in which they were added, or as `can.ended` says; of the queued ones alone, lane after lane in the order in which they are leased. */
  links(query: LinkQuery): Promise<LinkInfo[]>
  /** With the link's host an engine need not search the queues of all hosts. */
  explain(crawl: CrawlId, fp: Fingerprint, host?: HostKey): Promise<Whereabouts>

  /** Dead letters grouped by error code, most frequent first. */
  deadByError(crawl: CrawlId): Promise<{ code: ErrorCode; count: number; sample: string }[]>
  /** Dead letters go back to the queue with no attempts, throttles and reclaims used. A finished crawl runs again. Answers how many. */
  replay(crawl: CrawlId, filter: DeadFilter): Promise<number>
  /** Dead letters are given up for good (state skipped). Answers how many. */
  purge(crawl: CrawlId, filter: DeadFilter): Promise<number>

  /**
   * One link, by hand; `host` is its pace key. An engine that searches the queue of the link's host stops after POSITION_CAP links (`too_far`).
   *   promote  Queued or delayed: due now, and the next of its lane, until one is added or promoted that comes before it. By priority it gets the highest
   *            there is and comes before its equals, so that its lane comes first among hosts too; `fifo`: before all others; `lifo`: as if it were the last
   *            in. It keeps its attempts. A dead letter has ended: it is retried first.
   *   retry    Delayed: due now, in its place. Queued: stays as it is. A dead letter is replayed; a finished crawl runs again.
   *   remove   Queued, delayed or dead: skipped, with the failure `removed`. The last open link ends the crawl. For `laneScore` its lane was served.
   * A repeated call changes nothing more, or answers `ended`. A leased link is in flight and stays as it is. A paused crawl is steered like a
   * running one; a cancelled one refuses all but `remove` with `crawl_ended`, as `replay` does.
   */
  steer(crawl: CrawlId, fp: Fingerprint, host: HostKey, order: LinkSteer): Promise<LinkSteered>

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
  /**
   * `kept`: every link is listed and explained for ever, in the order in which it was added. `counted`: a link that is done is a
   * fingerprint and a number, no more; the others are listed in an order of the engine's own that stays the same from page to page.
   */
  readonly ended: 'kept' | 'counted'
  /** Ways of remembering what was seen, in addition to the exact one of each crawl. */
  readonly seen: readonly SeenMode[]
  /** It knows `LeaseRequest.withoutPermit`. Otherwise such a request is one like any other. */
  readonly leasesWithoutPermit: boolean
}

export type SeenMode = 'exact' | 'bloom' | 'set'

/** What "seen" means for a crawl. Default: exact, this crawl's own, for ever. */
export interface Seen {
  /** exact: compact integer sets. bloom: a few bits, and one link in `1 / errorRate` wrongly taken for known. set: a plain set that other tools can read. */
  readonly mode: SeenMode
  /** Shared with: nobody, the other crawls of the spider, every crawl of the queue. */
  readonly scope: 'crawl' | 'spider' | 'site'
  /** Forgotten this long after it was seen at the earliest, twice as long at the latest; null: never. */
  readonly ttlMs: number | null
  /** For bloom. */
  readonly errorRate: number
}

export type CrawlId = string
export type WorkerId = string
export type CrawlState = 'running' | 'paused' | 'cancelled' | 'finished'
export type LinkState = 'queued' | 'delayed' | 'leased' | 'done' | 'dead' | 'skipped'
export type LinkCounts = Readonly<Record<LinkState, number>>

/** At most `concurrency` requests at once, `delayMs` between starts, `rate` on average. */
export interface Limits {
  readonly delayMs: number
  readonly concurrency: number
  readonly rate?: { readonly count: number; readonly perMs: number; readonly burst: number }
  /**
   * For a host that answers slowly or with errors: as if about `target` requests were under way all the time, the delay grows to its mean duration
   * ÷ `target`, up to `maxDelayMs`. A route's limits have none.
   */
  readonly adaptive?: { readonly target: number; readonly maxDelayMs: number }
}

/** The arguments that a crawl was started with, as they were given: strings from the command line, JSON from a program. */
export type CrawlArgs = Readonly<Record<string, Json>>

export interface CrawlSpec {
  readonly id: CrawlId
  readonly spider: string
  /** Left out: none. */
  readonly args?: CrawlArgs
  /** Hash of the spider file: a change in mid-crawl is counted, and new code applies to new leases. */
  readonly spiderHash: string
  /** Higher priority first (default), or plain first-in, or last-in first. */
  readonly order: 'priority' | 'fifo' | 'lifo'
  /** For each host. Where several running crawls have links queued, delayed or leased on a host, the strictest limits hold. */
  readonly limits: Limits
  /** For each host and route: routes named here have a lane of their own, within the host's limits. */
  readonly routeLimits: Readonly<Record<string, Limits>>
  /** For these pace keys these limits replace `limits`. */
  readonly keyLimits?: Readonly<Record<HostKey, Limits>>
  readonly visibilityMs: number
  /** A retry that counts as an attempt returns this much lower. */
  readonly retryPriorityStep: number
  /** One point of priority is worth this much waiting: no host starves. */
  readonly agingMs: number
  /** So many leases may run out on a solo link (see `lease`); with the last of them it is dead as `poison`. */
  readonly maxReclaims: number
  /** Links found above this many pending ones are refused and counted (`overflow: 'refuse'`) or kept (`'keep'`). Seeds wait instead. */
  readonly maxPending: number
  readonly overflow: 'refuse' | 'keep'
  readonly budget: Budget
  readonly seen?: Seen
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

/** Pending (queued, or delayed when `link.delayMs` is above 0), dead or skipped with its history; done with what its crawl still needs of it. */
export type RestoredLink =
  | {
      readonly state: 'pending' | 'dead' | 'skipped'
      /** With the priority it has now. */
      readonly link: Link
      readonly attempts: number
      readonly throttles: number
      readonly reclaims: number
      /** Newest last, at most twenty. Of a dead letter the last one is what it is listed under; it has one at least. */
      readonly failures: readonly (Failure & { readonly at: number })[]
    }
  | { readonly state: 'done'; readonly link: Link }

export interface LeaseRequest {
  readonly worker: WorkerId
  /** Grows by one with each lease call of this worker; the same number again returns the same batch. */
  readonly seq: number
  readonly want: number
  /** Only crawls of these spiders. */
  readonly spiders: readonly string[]
  /** Pages that it fetches now, those that only wait for their commit not included. Left out: it takes no part in the sharing of scarce work. */
  readonly busy?: number
  /** Where the worker runs, for people; the newest is kept. */
  readonly about?: WorkerAbout
  /**
   * It has most pages already (the development cache) and sends few requests. The links of an open host are then leased as if each were the only one: no start
   * is counted, no slot is held, and `permitMs` is 0. For what it does send it asks for permits, which keep the pace as always.
   */
  readonly withoutPermit?: true
}

export interface WorkerAbout {
  readonly machine: string
  readonly pid: number
  readonly version: string
  /** Its spiders, each with the hash of its file: a version other than the crawl's is reported. */
  readonly spiders?: Readonly<Record<string, string>>
  /** Visits at once. */
  readonly concurrency?: number
  /** Cores of the machine that its process may use. */
  readonly cores?: number
  /** The waits before each retry of a link, in milliseconds, by spider: when a link that fails again and again is given up. */
  readonly retries?: Readonly<Record<string, readonly number[]>>
  /** Pools of proxies that it has. */
  readonly pools?: readonly string[]
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
  /** The permit that came with the lease is valid for this long. */
  readonly permitMs: number
  /** The lease runs out after this long unless extended. */
  readonly visibilityMs: number
  /** A dead letter that was replayed, until it ends again: the record store's freshness window does not apply. */
  readonly bypassFresh: boolean
}

/** `lost`: the lease ran out, waiting is of no use. */
export type Permit =
  | { readonly ok: true /** Valid for this long. */; readonly permitMs: number }
  | { readonly ok: false; readonly waitMs: number; readonly lost: boolean }

export interface Release {
  readonly lease: LeaseRef
  readonly host: HostKey
  /** Milliseconds from dispatch to the end of the body: the next start is counted from the real dispatch. */
  readonly elapsedMs: number
  /**
   * How long the host took, without the time that the response waited for our own event loop: only this counts for its mean latency. Left out:
   * `elapsedMs`.
   */
  readonly latencyMs?: number
  readonly report: HostReport
}

/**
 * How the host did. `throttled` blocks it for the whole fleet; N of them from requests in flight together count once. `wait`: nothing was
 * sent, because the host cannot be reached for so long (all proxies rest); it is closed for everybody, and nothing else is counted.
 */
export type HostReport =
  | { readonly kind: 'ok' }
  | { readonly kind: 'failed' }
  | { readonly kind: 'throttled'; readonly retryAfterMs: number | null }
  | { readonly kind: 'wait'; readonly ms: number }

export interface Failure {
  readonly code: ErrorCode
  readonly message: string
}

export type Outcome =
  | {
      readonly kind: 'done'
      readonly links: readonly Link[]
      readonly bytes: number
      /** Links of the page that the filter changed or rejected, one entry for each reason. */
      readonly filtered?: readonly FilteredLinks[]
      /** What the spider's code counted on the page; names are short and clean (`countName`), numbers positive. */
      readonly counts?: readonly NamedCount[]
    }
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
  /** Left out: none. */
  readonly args?: CrawlArgs
  readonly state: CrawlState
  /** Why it ended before its links did: a budget. */
  readonly endedBy: 'budget_bytes' | 'budget_time' | null
  readonly spiderHash: string
  /** How often the spider file changed since the crawl was opened. */
  readonly spiderChanges: number
  readonly createdAt: number
  /** The first lease; the time budget counts from here. */
  readonly startedAt: number | null
  /** Finished or cancelled. */
  readonly finishedAt: number | null
  readonly seeding: boolean
}

export interface CrawlStats extends CrawlInfo, LinkCounts {
  readonly total: number
  /** Visits that failed and cost an attempt, whether or not they were tried again. */
  readonly failed: number
  /** Those that were tried again. */
  readonly retried: number
  /** Retries that cost no attempt. */
  readonly throttled: number
  /** Leases that ran out. */
  readonly reclaimed: number
  /** Settlements refused because the lease was lost. */
  readonly stale: number
  /** Links refused by maxPending or a budget. */
  readonly refused: number
  /**
   * Links that the filter changed or rejected before they reached the queue, most frequent reason first. Every link of every page that is done counts,
   * also one that many pages have.
   */
  readonly filtered: readonly FilteredLinks[]
  /** What the spider's code counted (`page.count`) on pages that are done, largest first: MAX_COUNT_NAMES names, and the rest as one. */
  readonly counts: readonly NamedCount[]
  readonly bytes: number
  /** Links that ended (done, dead, skipped) per second, over the last ten seconds of running time: see `rateOf` (rate.ts). */
  readonly rate: number
}

export interface HostInfo {
  readonly host: HostKey
  readonly pending: number
  readonly inFlight: number
  readonly done: number
  readonly failed: number
  readonly dead: number
  /** The one that holds now. */
  readonly delayMs: number
  /** What it would be if the host answered faster; null when its answers change nothing. */
  readonly slowedFromMs: number | null
  readonly concurrency: number
  readonly ratePerSecond: number | null
  /** No request may start before. */
  readonly nextAt: number
  readonly blockedUntil: number | null
  /** How often in a row it asked for time; 0 once it has answered again. */
  readonly throttles: number
  /** Mean of recent request durations, where failures count for more than they took (pace.ts); null before the first. */
  readonly latencyMs: number | null
  /** What was set for it, by hand and by robots.txt (`floorMs`); null: nothing. */
  readonly set: HostSettings | null
}

export interface HostPage {
  readonly limit: number
  /** By name, those behind this one. */
  readonly after?: HostKey
  readonly busiest?: boolean
  /** Only those whose name begins with this; by name. */
  readonly begins?: string
}

export interface WorkerInfo {
  readonly worker: WorkerId
  readonly inFlight: number
  readonly done: number
  readonly failed: number
  readonly startedAt: number
  readonly seenAt: number
  /** The last time that a link ended here; null before the first. */
  readonly progressAt: number | null
  /** Its last beat (see `beat`); null: it has never beaten, or was given up as lost. */
  readonly beatAt: number | null
  /** When its links return to the queue unless it beats before; null as above. A worker that is well is always seconds ahead of it. */
  readonly lostAt: number | null
  readonly about: WorkerAbout | null
}

export interface LinkQuery {
  readonly crawl: CrawlId
  readonly state?: LinkState
  /** Dead letters of one error: the code of the newest failure. */
  readonly code?: ErrorCode
  readonly host?: HostKey
  readonly limit: number
  /** The `cursor` of the last link of the page before. */
  readonly after?: string
}

/** A link as people see it. Delayed links that fell due may be shown as delayed until somebody leases. */
export interface LinkInfo {
  readonly cursor: string
  readonly fp: Fingerprint
  readonly url: string
  readonly host: HostKey
  readonly route: string
  readonly state: LinkState
  readonly depth: number
  readonly priority: number
  /** Visits that cost an attempt so far, the one that ended it (done or dead) included. */
  readonly attempts: number
  readonly throttles: number
  /** Leases that ran out, solo or not. */
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
  /** Seen and in no other state, which is all that an engine knows that only counts what is done. */
  | { readonly state: 'done'; readonly link: null; readonly crawlState: CrawlState }
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
  /** Closed by hand: nothing is handed out or permitted until it is opened again (false or null). What is under way ends as usual. */
  readonly blocked?: boolean | null
}

export type LinkSteer = 'promote' | 'retry' | 'remove'
/** `ended`: it is done, skipped, or dead where that makes no sense. */
export type LinkSteered = 'ok' | 'in_flight' | 'ended' | 'too_far' | 'unknown'

export const REMOVED: Failure = { code: 'removed', message: 'removed from the queue by hand' }

/** A link whose leases ran out this often is leased alone. Two, because one dead worker takes innocent links with it. */
export const SOLO_AFTER = 2
/** Errors kept with a link. */
export const FAILURES_KEPT = 20
/** `explain` and `steer` search no further than this in a host's queue. */
export const POSITION_CAP = 10_000
/** A permit that came with a lease is valid for at most this long (a frozen worker asks again). */
export const PERMIT_MAX_MS = 2_000
/** A worker that got nothing asks again after this long at the latest. */
export const IDLE_MAX_MS = 1_000
/** Nobody knows when a slot will be free: ask again after this long. */
export const SLOT_WAIT_MS = 100
