import type { Clock, Random } from '../clock.js'
import type { ShoalError } from '../errors.js'
import type { ResponseCache } from '../fetch/cache/response-cache.js'
import type { Fetcher, FetchResponse } from '../fetch/fetcher.js'
import type { Frontier, Lease } from '../frontier/frontier.js'
import type { Log } from '../log.js'
import type { Tracing, VisitTrace } from '../observe/tracing/tracing.js'
import { type Clocked, type Meter, NOTHING } from '../observe/vitals/meter.js'
import type { RobotsCache } from '../politeness/robots-cache.js'
import type { Pool } from '../proxy/pool.js'
import type { ProxyId } from '../proxy/proxy.js'
import type { ProxyAllocator } from '../proxy/proxy-allocator.js'
import type { ProxyVerdict } from '../proxy/proxy-ledger.js'
import type { FieldTally } from '../quality/field-tally.js'
import type { MatchTally } from '../quality/match-tally.js'
import type { ProxyNeed, Spider } from '../spider/spider.js'
import type { BlobStore } from '../store/blob-store.js'
import type { Admitter } from '../url/admit.js'
import type { KnownLinks } from './known-links.js'
import type { LineLimit } from './line-limit.js'
import type { Outbox } from './outbox.js'
import type { Secrets } from './secrets.js'
import type { StrayErrors } from './stray-errors.js'
import type { Visitors } from './visitors.js'
import type { BodyHolder, WorkerSlots } from './worker-slots.js'

/** What a visit works with. */
export interface VisitParts {
  readonly worker: string
  readonly spider: Spider
  readonly admitter: Admitter
  readonly frontier: Pick<Frontier, 'permit' | 'setHost' | 'doubts'>
  readonly outbox: Pick<Outbox, 'write' | 'lastVisit' | 'release' | 'released' | 'settle' | 'keep' | 'crowded'>
  /** Null: the spider keeps no raw pages. */
  readonly pages: BlobStore | null
  /** Where screenshots of rendered pages that failed are kept; null: nothing is rendered. */
  readonly screenshots: BlobStore | null
  readonly fetcher: Fetcher
  /** Null or left out: every request is sent. */
  readonly cache?: ResponseCache | null
  /** Null or left out: the spider has none. */
  readonly secrets?: Secrets | null
  /** Null: the spider uses no proxies. */
  readonly proxies: SpiderProxies | null
  /** Null or left out: the spider keeps no sessions. */
  readonly visitors?: Visitors | null
  readonly robots: RobotsCache
  readonly known: KnownLinks
  /** Counts which fields the records fill. */
  readonly fields: Pick<FieldTally, 'note'>
  /** Counts what the rules and fields of the routes find. */
  readonly matches: Pick<MatchTally, 'note'>
  readonly meter: Meter
  readonly slots: Pick<WorkerSlots, 'answered'>
  /** Null or left out: visits are not traced. */
  readonly tracing?: Tracing | null
  /** Finds the page of an error that no catch can reach; null or left out: such an error ends the thread. */
  readonly strays?: StrayErrors | null
  /** Left out: every line of `page.log` is logged. */
  readonly lines?: LineLimit
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

/** How the requests of a spider choose and judge their proxies. */
export interface SpiderProxies {
  readonly allocator: ProxyAllocator
  /** Null: this worker does not have the pool. */
  poolOf(need: ProxyNeed, site: string): Pool | null
  verdictOf(response: FetchResponse): ProxyVerdict
  verdictOfError(error: ShoalError): ProxyVerdict
}

/** One visit in flight. `lost` and `stop` are set from outside: the lease ran out, or the worker stops. */
export interface Visit extends Clocked, BodyHolder {
  readonly lease: Lease
  /** Monotonic time at which the lease arrived; when it was requested, if the reply took too long. */
  readonly grantedAt: number
  /** Set to give the visit up: a StopSignal for its fetch. */
  readonly stop: { aborted: boolean }
  /** Only where visits are traced. */
  trace?: VisitTrace
  lost: boolean
  /** The permit that came with the lease is used up. */
  permitUsed: boolean
  /** The proxy that the last request went through, as pool/proxy; null: none. */
  proxy: string | null
  /** The proxy of the visitor that was redirected: it follows the redirect through the same one. */
  stay?: ProxyId | undefined
  /** Going back to the queue would repeat, in vain, what it has done already: it waits as long as the pace of its hosts demands. */
  patient?: true
  /** A request of this visit was sent: it can no longer be handed back as if nothing had happened. */
  started: boolean
  /** The page is read and its handler has ended: it only waits for our own backends now. */
  produced: boolean
  /** Its settle is in flight. */
  settling: boolean
}

export function newVisit(lease: Lease, grantedAt: number): Visit {
  return {
    lease,
    grantedAt,
    stop: { aborted: false },
    lost: false,
    permitUsed: false,
    proxy: null,
    started: false,
    produced: false,
    settling: false,
    doing: NOTHING,
    since: 0,
    bodyBytes: 0,
  }
}
