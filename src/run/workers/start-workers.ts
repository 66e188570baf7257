import { systemClock, systemRandom } from '../../clock.js'
import { type ProcessSettings, processSettings } from '../../config.js'
import type { Log } from '../../log.js'
import { readFleet } from '../../observe/snapshots/read-scale.js'
import type { Vitals } from '../../observe/vitals/vitals.js'
import type { Spider } from '../../spider/spider.js'
import { catchUncaught } from '../../uncaught.js'
import type { Backends } from '../../wire/backends.js'
import { LineLimit } from '../../worker/line-limit.js'
import { StrayErrors } from '../../worker/stray-errors.js'
import { openTracing } from '../open-tracing.js'
import type { PoolsAtHand } from '../pools-at-hand.js'
import { refuseToEndForSpider } from '../refuse-to-end.js'
import type { SpiderSource } from '../spider-source.js'
import { autoWorkers } from './auto-workers.js'
import { drainable } from './drain-watch.js'
import { forkWorker } from './fork-worker.js'
import { createLocalWorkers, type LocalWorkers } from './local-workers.js'
import { machineCpu } from './machine-cpu.js'
import { postVitals } from './post-vitals.js'
import { cpuRule, queuedOf, usefulRule } from './process-rules.js'
import type { RunningWorker } from './start-worker.js'
import { superviseWorker } from './supervise.js'
import { type FleetShare, fleetShare } from './useful-count.js'
import { workerIds } from './worker-ids.js'

/** Number of worker processes (1 runs in this process). `auto`: one at first, more while CPU is the bottleneck and a core is idle. */
export type WorkerCount = number | 'auto'

export interface WorkersOrder {
  readonly settings: ProcessSettings
  readonly sources: readonly SpiderSource[]
  readonly workers: WorkerCount
  /** With `auto`: as many as are useful in the whole fleet, at most this many here. Left out: CPU alone decides. */
  readonly max?: number | undefined
  /** Receives the vitals of all of them. */
  readonly localWorkers?: LocalWorkers
}

/** How long the other processes wait at most for the first one to be ready. */
const HEAD_START_MS = 2_000
/** Added to a handler's own timeout before its worker counts as stuck. */
const STUCK_SLACK_MS = 5_000

export async function startWorkers(
  { settings, sources, workers, max, localWorkers = createLocalWorkers(systemClock) }: WorkersOrder,
  backends: Backends,
  spiders: readonly Spider[],
  pools: PoolsAtHand,
  log: Log,
  writeLog: (line: string) => void,
): Promise<RunningWorker[]> {
  const clock = systemClock
  const handlers = spiders.flatMap(({ routes }) => [...routes.values()].map((route) => route.handlerTimeoutMs))
  const stuckMs = Math.max(0, ...handlers) + STUCK_SLACK_MS
  if (settings.queue === 'memory:') {
    // Loaded only here: the main thread of every other run does without the fetcher.
    const { startWorker } = await import('./start-worker.js')
    const id = workerIds()()
    const notes = postVitals(backends.notes, clock)
    const onVitals = (vitals: Vitals) => {
      notes.post(vitals)
      localWorkers.received(vitals)
    }
    const tracing = await openTracing(settings.traces, log)
    const lines = new LineLimit({ clock, log })
    // There is no thread that could be replaced.
    const strays = new StrayErrors({ clock, log })
    const forget = catchUncaught((thrown) => strays.caught(thrown))
    const allowExit = refuseToEndForSpider()
    const { browser, browserPages, cache, concurrency } = settings
    const worker = startWorker({
      ...{ id, backends, spiders, pools, browser, browserPages, cache, concurrency },
      ...{ clock, random: systemRandom, log, onVitals, tracing, strays, lines },
    })
    void worker.ended
      .finally(forget)
      .finally(allowExit)
      .catch(() => {})
    return [drainable(worker, id, backends, clock, log, settings.graceMs)]
  }
  const order = { settings: processSettings(settings), sources, stuckMs }
  const parts = { frontier: backends.frontier, clock, log, writeLog, localWorkers }
  if (workers === 1 || workers === 'auto') {
    const report = { onVitals: localWorkers.received, onGone: localWorkers.gone }
    const newId = workerIds()
    const first = superviseWorker({ ...order, backends, log, clock, writeLog, newId, ...report })
    if (workers === 1) return [first]
    const names = new Set(spiders.map(({ name }) => name))
    const auto = autoWorkers({
      ...{ first, localWorkers, clock, log, graceMs: settings.graceMs, cpu: machineCpu(clock) },
      startProcess: () => forkWorker(order, parts),
      rule:
        max === undefined
          ? cpuRule(() => queuedOf(backends.frontier, names))
          : usefulRule({ max, read: () => readShare(backends, names, localWorkers) }),
    })
    return [auto]
  }
  // Four processes that load their modules at once on two cores kept the first page waiting for 4 to 9 s: the first one has the cores to itself.
  const first = forkWorker(order, parts)
  const startAfter = Promise.race([first.ready, clock.sleep(HEAD_START_MS)])
  return [first, ...Array.from({ length: workers - 1 }, () => forkWorker(order, { ...parts, startAfter }))]
}

async function readShare(
  backends: Backends,
  spiders: ReadonlySet<string>,
  localWorkers: LocalWorkers,
): Promise<FleetShare> {
  const reading = await readFleet(backends, backends.queueClock.now())
  return fleetShare(reading, spiders, new Set(localWorkers.list().map(({ vitals }) => vitals.worker)))
}
