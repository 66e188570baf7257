import type { CrawlId, WorkerId } from '../../frontier/frontier.js'
import type { ProxyId } from '../../proxy/proxy.js'
import type { Fingerprint } from '../../url/link.js'

/**
 * The state of a worker, reported by its process every VITALS_MS: in the shared notes for the whole fleet, and to the metrics endpoint of its own process.
 * Counts grow from the start of the worker. Never an address, a password or a line of a page.
 */
export interface Vitals {
  readonly worker: WorkerId
  readonly machine: string
  readonly pid: number
  readonly version: string
  /** By the worker's own clock; readers of the shared notes use the note's age instead. */
  readonly at: number
  readonly startedAt: number
  /** Links that ended successfully, failed visits, bytes of bodies as received, settlements that came too late, lost leases. */
  readonly pages: number
  readonly failed: number
  readonly bytes: number
  /** Responses from the development cache, which are not among `statuses` and `bytes`. */
  readonly cached: number
  readonly stale: number
  readonly lost: number
  /** Responses by status code; `0`: none. */
  readonly statuses: Readonly<Record<string, number>>
  /** Failures by error code. */
  readonly errors: Readonly<Record<string, number>>
  /** Durations by step: see HISTOGRAM_MS. */
  readonly took: Readonly<Record<Step, Histogram>>
  /** Concurrent visits that it allows itself at the moment, its ceiling, why it has no more, and how many are in flight. */
  readonly slots: number
  readonly most: number
  readonly because: SlotLimit
  readonly busy: number
  /** Milliseconds of all slots, by activity or what they waited for. */
  readonly spent: Readonly<Record<Spent, number>>
  readonly rssBytes: number
  readonly heapBytes: number
  /** Limit of the heap. */
  readonly heapLimitBytes: number
  /** Of the machine or its container. */
  readonly memoryLimitBytes: number
  readonly memoryFreeBytes: number
  /** Share of one core that the worker's event loop was busy for since the last report, 0 … 1. */
  readonly loopBusy: number
  /** How late timers were since the last report. */
  readonly loopLagMs: number
  /** The counters RECENT_MS ago, for current rates instead of averages since the start; null: it has just started. */
  readonly earlier: Earlier | null
  /** Visits in flight, longest first, at most IN_FLIGHT_REPORTED of them. */
  readonly inFlight: readonly InFlight[]
}

export type Earlier = Pick<Vitals, 'at' | 'pages' | 'failed' | 'spent' | 'took'>

/** The measured steps of a visit. `store`: one batch of rows; `settle`, `lease`: one call to the queue. `leaseAge`: from the lease to the settle. */
export const STEPS = ['fetch', 'handler', 'store', 'settle', 'lease', 'leaseAge'] as const
export type Step = (typeof STEPS)[number]

/** `idle`: nothing was due. `pace`: waiting for a host's slot. `proxy`: waiting for a proxy. The rest: working on it. */
export const SPENT = ['idle', 'pace', 'proxy', 'fetch', 'handler', 'store', 'queue'] as const
export type Spent = (typeof SPENT)[number]

/**
 * Why a worker has no more slots than it has.
 *   growing   it has just started, or its load has changed: it is trying
 *   most      its ceiling, `--concurrency`
 *   work      the queue has no more links for it at the moment
 *   cpu       pages wait for its event loop
 *   memory    its heap, or the memory of the machine or container, is nearly full
 *   bodies    too many bytes of pages wait for handlers
 *   outbox    too many pages wait for their commit
 */
export const SLOT_LIMITS = ['growing', 'most', 'work', 'cpu', 'memory', 'bodies', 'outbox'] as const
export type SlotLimit = (typeof SLOT_LIMITS)[number]

export interface Histogram {
  /** One more than HISTOGRAM_MS: the last bucket has no upper bound. Not cumulative. */
  readonly counts: readonly number[]
  readonly sumMs: number
}

/** Upper bounds. */
export const HISTOGRAM_MS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000] as const

export interface InFlight {
  readonly crawl: CrawlId
  readonly fp: Fingerprint
  /** Pool and proxy; null: no proxy. */
  readonly proxy: { readonly pool: string; readonly proxy: ProxyId } | null
  readonly forMs: number
}

export const VITALS_MS = 3_000
/** Five reports. */
export const RECENT_MS = 15_000
/** A worker that has reported once counts as missing after this. */
export const MISSED_MS = 10_000
export const VITALS_KEPT_MS = 60_000
export const IN_FLIGHT_REPORTED = 64
