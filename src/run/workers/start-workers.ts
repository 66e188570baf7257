import { systemClock, systemRandom } from '../../clock.js'
import type { Log, LogLevel } from '../../log.js'
import type { Vitals } from '../../observe/vitals/vitals.js'
import type { Spider } from '../../spider/spider.js'
import type { BackendAddresses, Backends } from '../../wire/backends.js'
import { BROWSER_PAGES, type BrowserOrder } from '../browser-order.js'
import { openTracing, type TraceOrder } from '../open-tracing.js'
import type { PoolsAtHand, ProxyOrder } from '../pools-at-hand.js'
import type { SpiderSource } from '../spider-source.js'
import { drainable } from './drain-watch.js'
import { forkWorker } from './fork-worker.js'
import type { LocalWorkers } from './local-workers.js'
import { postVitals } from './post-vitals.js'
import type { RunningWorker } from './start-worker.js'
import { superviseWorker } from './supervise.js'
import { workerIds } from './worker-ids.js'

export interface WorkersOrder extends BackendAddresses, ProxyOrder, BrowserOrder, TraceOrder {
  readonly sources: readonly SpiderSource[]
  /** Worker processes. One worker runs inside this process. */
  readonly workers: number
  /** Visits at once per worker. */
  readonly concurrency: number
  readonly logLevel: LogLevel
  /** How long a drain may take before the rest is handed back. */
  readonly graceMs: number
  /** Hears of all of them. */
  readonly localWorkers?: LocalWorkers
}

/** Beyond a handler's own deadline before its worker counts as stuck. */
const STUCK_SLACK_MS = 5_000

export async function startWorkers(
  options: WorkersOrder,
  backends: Backends,
  spiders: readonly Spider[],
  pools: PoolsAtHand,
  log: Log,
  writeLog: (line: string) => void,
): Promise<RunningWorker[]> {
  const { sources, queue, store, pages = null, workers, concurrency, logLevel, graceMs } = options
  const { proxies = null, pool = null, country = null, localWorkers } = options
  const clock = systemClock
  const handlers = spiders.flatMap(({ routes }) => [...routes.values()].map((route) => route.handlerTimeoutMs))
  const stuckMs = Math.max(0, ...handlers) + STUCK_SLACK_MS
  const { browser = null, browserPages = BROWSER_PAGES, traces = false } = options
  const way = { proxies, pool, country, browser, browserPages, traces }
  if (queue === 'memory:') {
    // Only here: the main thread of every other run does without the fetcher.
    const { startWorker } = await import('./start-worker.js')
    const id = workerIds()()
    const notes = postVitals(backends.notes, clock)
    const onVitals = (vitals: Vitals) => {
      notes.post(vitals)
      localWorkers?.heard(vitals)
    }
    const random = systemRandom
    const tracing = await openTracing(options, log)
    const parts = { ...way, id, backends, spiders, pools, concurrency, clock, random, log, onVitals, tracing }
    const worker = startWorker(parts)
    return [drainable(worker, id, backends, clock, log, graceMs)]
  }
  if (workers === 1) {
    const newId = workerIds()
    const told = localWorkers && { onVitals: localWorkers.heard, onGone: localWorkers.gone }
    const parts = { backends, sources, concurrency, logLevel, log, clock, stuckMs, writeLog, newId, graceMs }
    return [superviseWorker({ ...way, ...parts, ...told })]
  }
  const order = { ...way, sources, queue, store, pages, concurrency, logLevel, stuckMs, graceMs }
  return Array.from({ length: workers }, () =>
    forkWorker(order, { frontier: backends.frontier, clock, log, ...(localWorkers && { localWorkers }) }),
  )
}
