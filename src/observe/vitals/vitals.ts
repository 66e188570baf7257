import type { CrawlId, WorkerId } from '../../frontier/frontier.js'
import type { ProxyId } from '../../proxy/proxy.js'
import type { Fingerprint } from '../../url/link.js'

/**
 * How a worker is doing, told by its process every VITALS_MS: on the notes for the whole fleet, and to the metrics endpoint of its own process.
 * Counts grow from the start of the worker. Never an address, a password or a line of a page.
 */
export interface Vitals {
  readonly worker: WorkerId
  readonly machine: string
  readonly pid: number
  readonly version: string
  /** By the worker's own clock; who reads it from the notes trusts the note's age instead. */
  readonly at: number
  readonly startedAt: number
  /** Links that ended well, visits that failed, bytes of bodies as received, settlements that came too late, leases that were lost. */
  readonly pages: number
  readonly failed: number
  readonly bytes: number
  readonly stale: number
  readonly lost: number
  /** Answers by status code; `0`: there was none. */
  readonly statuses: Readonly<Record<string, number>>
  /** Failures by error code. */
  readonly errors: Readonly<Record<string, number>>
  /** How long each took: see HISTOGRAM_MS. */
  readonly took: Readonly<Record<Step, Histogram>>
  /** Visits at once, and how many are under way. */
  readonly slots: number
  readonly busy: number
  /** Milliseconds over all slots: how the slots spent their time, by what they waited for. */
  readonly spent: Readonly<Record<Spent, number>>
  readonly rssBytes: number
  readonly heapBytes: number
  /** What the heap may grow to. */
  readonly heapLimitBytes: number
  /** Of the machine or its container. */
  readonly memoryLimitBytes: number
  readonly memoryFreeBytes: number
  /** Share of one core that the worker's event loop was busy for since the last report, 0 … 1. */
  readonly loopBusy: number
  /** How late timers were since the last report. */
  readonly loopLagMs: number
  /** The same some RECENT_MS ago, for whoever wants to know how it does now and not how it did all its life; null: it has just begun. */
  readonly earlier: Earlier | null
  /** What is in hand, longest first, at most IN_FLIGHT_REPORTED of them. */
  readonly inFlight: readonly InFlight[]
}

export type Earlier = Pick<Vitals, 'at' | 'pages' | 'failed' | 'spent' | 'took'>

/** A visit's parts, as people ask about them. `store`: one batch of rows; `settle`, `lease`: one call of the queue. `leaseAge`: from the lease to the settle. */
export const STEPS = ['fetch', 'handler', 'store', 'settle', 'lease', 'leaseAge'] as const
export type Step = (typeof STEPS)[number]

/** `idle`: nothing was due. `pace`: for a permit of a host. `proxy`: for a proxy. The rest: at work on it. */
export const SPENT = ['idle', 'pace', 'proxy', 'fetch', 'handler', 'store', 'queue'] as const
export type Spent = (typeof SPENT)[number]

export interface Histogram {
  /** One more than HISTOGRAM_MS has: the last has no upper end. Not cumulative. */
  readonly counts: readonly number[]
  readonly sumMs: number
}

/** Upper ends. */
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
/** A worker that was heard of is missed after this. */
export const MISSED_MS = 10_000
export const VITALS_KEPT_MS = 60_000
export const IN_FLIGHT_REPORTED = 64
