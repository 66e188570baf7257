import type { Clock, Random } from '../clock.js'
import type { Fetcher } from '../fetch/fetcher.js'
import type { Frontier, Lease } from '../frontier/frontier.js'
import type { Log } from '../log.js'
import type { Tracing, VisitTrace } from '../observe/tracing/tracing.js'
import type { Clocked, Meter } from '../observe/vitals/meter.js'
import type { RobotsCache } from '../politeness/robots-cache.js'
import type { ProxyId } from '../proxy/proxy.js'
import type { FieldTally } from '../quality/field-tally.js'
import type { Spider } from '../spider/spider.js'
import type { BlobStore } from '../store/blob-store.js'
import type { Admitter } from '../url/admit.js'
import type { KnownLinks } from './known-links.js'
import type { Outbox } from './outbox.js'
import type { SpiderProxies } from './spider-proxies.js'
import type { Visitors } from './visitors.js'

/** What a visit works with. */
export interface VisitParts {
  readonly worker: string
  readonly spider: Spider
  readonly admitter: Admitter
  readonly frontier: Pick<Frontier, 'permit' | 'setHost' | 'doubts'>
  readonly outbox: Pick<Outbox, 'write' | 'lastVisit' | 'release' | 'released' | 'settle' | 'keep' | 'crowded'>
  /** Null: the spider keeps no raw pages. */
  readonly pages: BlobStore | null
  /** Where pictures of rendered pages that failed are kept; null: nothing is rendered. */
  readonly screenshots: BlobStore | null
  readonly fetcher: Fetcher
  /** Null: the spider takes no proxies. */
  readonly ways: SpiderProxies | null
  /** Null or left out: the spider keeps no sessions. */
  readonly visitors?: Visitors | null
  readonly robots: RobotsCache
  readonly known: KnownLinks
  /** Counts what records give for their fields. */
  readonly fields: Pick<FieldTally, 'note'>
  readonly meter: Meter
  /** Null or left out: nobody traces visits. */
  readonly tracing?: Tracing | null
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

/** One visit in hand. `lost` and the signal are set from outside: the lease ran out, or the worker stops. */
export interface Visit extends Clocked {
  readonly lease: Lease
  /** Monotonic time at which the lease arrived, or long before when it was under way for too long. */
  readonly grantedAt: number
  /** Set to give the visit up: a StopSignal for its fetch. */
  readonly stop: { aborted: boolean }
  /** Where somebody traces it. */
  trace?: VisitTrace
  lost: boolean
  /** The permit that came with the lease is spent. */
  permitUsed: boolean
  /** The proxy that the last request went through, as pool/proxy; null: none. */
  proxy: string | null
  /** The proxy of the visitor that was redirected: it goes on there. */
  stay?: ProxyId | undefined
  /** What it has done already would be done again, and again in vain: it waits out the pace of its hosts instead of going back to the queue. */
  patient?: true
  /** A request of this visit was sent: it can no longer be handed back as if nothing had happened. */
  started: boolean
  /** The page is read and its handler has ended: what it waits for now is our own backends. */
  produced: boolean
  /** Its settle is under way. */
  settling: boolean
}
