import { availableParallelism, hostname } from 'node:os'
import type { Clock, Random } from '../../clock.js'
import { CONFIG, type ProcessSettings } from '../../config.js'
import { eventLoop } from '../../event-loop.js'
import { createBrowserFetcher, withBrowser } from '../../fetch/browser/browser-fetcher.js'
import type { Fetcher } from '../../fetch/fetcher.js'
import { createHttpFetcher } from '../../fetch/http/http-fetcher.js'
import type { WorkerId } from '../../frontier/frontier.js'
import { LOST_AFTER_MS } from '../../frontier/liveness.js'
import type { Log } from '../../log.js'
import type { Tracing } from '../../observe/tracing/tracing.js'
import { createMeter } from '../../observe/vitals/meter.js'
import type { Vitals } from '../../observe/vitals/vitals.js'
import { createProxyAllocator } from '../../proxy/proxy-allocator.js'
import { FieldTally } from '../../quality/field-tally.js'
import { MatchTally } from '../../quality/match-tally.js'
import { rendersPages, type Spider } from '../../spider/spider.js'
import { version } from '../../version.js'
import { BackendWatch } from '../../while-away.js'
import type { Backends, Kept } from '../../wire/backends.js'
import type { LineLimit } from '../../worker/line-limit.js'
import { Outbox } from '../../worker/outbox.js'
import { retryWaits } from '../../worker/retry-waits.js'
import type { StrayErrors } from '../../worker/stray-errors.js'
import { CrawlWorker, MOST_COMMITTING } from '../../worker/worker.js'
import { WorkerSlots } from '../../worker/worker-slots.js'
import { openCache } from '../open-cache.js'
import { isServed, type PoolsAtHand } from '../pools-at-hand.js'
import { partsOfCrawls } from './crawl-parts.js'
import { flushed, flushTallies } from './flush-tallies.js'
import { watchMemory } from './memory-use.js'
import { spiderProxies } from './spider-proxies.js'
import { reportVitals } from './worker-vitals.js'

/** A worker as its owner sees it, whether it runs in this thread, another one or another process. */
export interface RunningWorker {
  /** Finishes what is in flight within `graceMs` and returns the rest to the queue. */
  stop(graceMs: number): Promise<void>
  /** Resolves when it has stopped; rejects when a backend cannot be used. */
  readonly ended: Promise<void>
  /** It left because of a drain request from outside (observe/drain.ts), so it is not replaced. */
  readonly drained?: boolean
  /** How many processes it consists of; 1 if left out. */
  readonly alive?: number
}

/** Added to all timeouts of a visit: a worker that holds a lease longer than that is not coming back. */
const HOLD_SLACK_MS = 60_000
/** Two heartbeats may be late or lost before a lease is. */
const BEATS_IN_A_LEASE = 3
const SLOWEST_BEAT_MS = 10_000
/** How long the traces of the last visits may take to be sent. */
const FLUSH_MS = 3_000

interface WorkerParts extends Partial<Pick<ProcessSettings, 'browser' | 'browserPages' | 'cache' | 'lostAfterMs'>> {
  readonly id: WorkerId
  readonly backends: Backends
  readonly spiders: readonly Spider[]
  /** None when left out. */
  readonly pools?: PoolsAtHand
  readonly concurrency: number
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** Null or left out: visits are not traced. */
  readonly tracing?: Tracing | null
  /** Null or left out: an error of the spider that no catch can reach ends the thread. */
  readonly strays?: StrayErrors | null
  /** Limits what spider code logs; left out: nothing does. */
  readonly lines?: LineLimit
  /** Called every few seconds with the state of the worker. */
  readonly onVitals?: (vitals: Vitals) => void
  /** Wraps the HTTP fetcher. */
  readonly spooling?: (fetcher: Fetcher) => Fetcher
}

/** A worker on this event loop, for the crawls of its spiders. */
export function startWorker(parts: WorkerParts): RunningWorker & { wake(): void } {
  const {
    id,
    backends,
    spiders,
    pools = new Map(),
    concurrency,
    clock,
    random,
    log,
    tracing = null,
    strays = null,
  } = parts
  const { frontier, store } = backends
  const http = (parts.spooling ?? ((plain) => plain))(createHttpFetcher({ clock }))
  const { browser: executable = null, browserPages: maxPages = CONFIG.browserPages.default } = parts
  // With other arguments a spider may render pages, even if it does not with those that it was loaded with.
  const fetcher = spiders.some((spider) => spider.args !== null || rendersPages(spider))
    ? withBrowser(http, createBrowserFetcher({ clock, executable, maxPages }))
    : http
  const allocator = createProxyAllocator({ ledger: backends.proxies, clock, random, worker: id })
  const fields = new FieldTally()
  const matches = new MatchTally()
  const slots = new WorkerSlots({
    ...{ most: concurrency, mostCommitting: MOST_COMMITTING, clock, loop: eventLoop, ...watchMemory(clock) },
    onChange({ slots: now, because }) {
      meter.resize(now)
      if (log.verbose) log.debug('worker.slots', { worker: id, slots: now, most: concurrency, because })
    },
  })
  const meter = createMeter(slots.now, clock)
  const hashes = Object.fromEntries(spiders.map(({ name, hash }) => [name, hash]))
  const watch = new BackendWatch(log, clock)
  const outbox = new Outbox({
    ...{ frontier, store, clock, meter, backends: watch },
    inFlight: () => worker.inFlight,
    isShort: () => worker.isShort,
    // In the same tick as the calls of the outbox, so that reports about proxies and the next lease travel with them.
    onFlush() {
      allocator.goAlong()
      worker.wake()
    },
    onFailure: (error) => worker.fail(error),
  })
  const cache = parts.cache ? openCache(parts.cache, clock, log) : null
  const shared = {
    ...{ worker: id, frontier, outbox, fetcher, cache, fields, matches, meter, slots },
    ...{ tracing, strays, clock, random, log },
    ...(parts.lines !== undefined && { lines: parts.lines }),
  }
  const worker = new CrawlWorker({
    ...{ id, slots, frontier, outbox, backends: watch, clock, log, meter },
    // Spiders of which it cannot fetch a single page are left to other workers.
    spiders: spiders.filter((spider) => isServed(spider, pools)).map(({ name }) => name),
    about: {
      ...{ machine: hostname(), pid: process.pid, version, spiders: hashes, concurrency },
      cores: availableParallelism(),
      retries: Object.fromEntries(spiders.map(({ name, routes }) => [name, retryWaits(routes.values())])),
      ...(pools.size > 0 && { pools: [...pools.keys()] }),
    },
    // With permits where nearly everything is sent: 64 visits that each ask for a slot of one host would get theirs later than one by one.
    ...(cache !== null && { withoutPermit: () => !cache.isCold }),
    partsOf: partsOfCrawls(spiders, backends, (spider) => spiderProxies(spider, allocator, pools), shared),
  })
  const kept = keepLeases(backends, worker, spiders, { id, lostAfterMs: parts.lostAfterMs ?? LOST_AFTER_MS, clock })
  const flushing = flushTallies([flushed(fields, store.fields), flushed(matches, store.matches)], clock)
  const reporting = reportVitals(id, worker, clock, parts.onVitals ?? (() => {}))
  const ended = kept.ready
    .then(() => worker.run())
    .finally(async () => {
      reporting.stop()
      kept.stop()
      await flushing.stop()
      await allocator.close()
      await fetcher.close()
      if (tracing !== null) await sentTraces(tracing, clock)
    })
  return { stop: (graceMs) => worker.stop(graceMs), wake: () => worker.wake(), ended }
}

/** The trace collector may be down: a worker that ends does not wait long for it. */
function sentTraces(tracing: Tracing, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const forget = clock.after(FLUSH_MS, resolve)
    void tracing
      .flush()
      .catch(() => {})
      .finally(() => {
        forget()
        resolve()
      })
  })
}

/**
 * Leases are renewed off this event loop where the backend supports that; a queue in memory has no other thread. There the worker does not beat either: an event
 * loop that is busy is not dead, and nobody else could take over.
 */
function keepLeases(
  backends: Backends,
  worker: CrawlWorker,
  spiders: readonly Spider[],
  { id, lostAfterMs, clock }: Pick<WorkerParts, 'id' | 'clock'> & { readonly lostAfterMs: number },
): Kept {
  const heartbeatMs = Math.min(SLOWEST_BEAT_MS, ...spiders.map(beatOf))
  const onLost = (tokens: readonly string[]) => worker.lost(tokens)
  if (backends.keep !== null) {
    const holdMs = Math.max(...spiders.map(holdMsOf))
    return backends.keep({ worker: id, lostAfterMs, heartbeatMs, holdMs, held: () => worker.holdings, onLost })
  }
  let cancel = () => {}
  const beat = () => {
    void backends.frontier
      .extend(
        id,
        worker.held.map(({ token }) => token),
      )
      .then(onLost)
    void backends.frontier.reap(100)
    cancel = clock.after(heartbeatMs, beat)
  }
  cancel = clock.after(heartbeatMs, beat)
  return { ready: Promise.resolve(), stop: () => cancel() }
}

function beatOf({ heartbeatMs, visibilityMs }: Spider): number {
  return Math.min(heartbeatMs, visibilityMs / BEATS_IN_A_LEASE)
}

function holdMsOf(spider: Spider): number {
  const handlers = [...spider.routes.values()].map((route) => route.handlerTimeoutMs)
  return spider.fetch.totalMs * (spider.fetch.maxRedirects + 1) + Math.max(0, ...handlers) + HOLD_SLACK_MS
}
