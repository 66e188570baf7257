import { systemClock, systemRandom } from '../clock.js'
import type { TurnTaken } from '../coordinator/schedule.js'
import { asShoalError, isAway } from '../errors.js'
import type { CrawlInfo, Frontier } from '../frontier/frontier.js'
import { createLog, type Log } from '../log.js'
import { type AlertsOrder, loadAlerts } from './alerts/load-alerts.js'
import { beginCrawls } from './begin-crawls.js'
import { finishOutlets, type OutletDuties, startOutletDuties } from './duties/outlet-duties.js'
import { type Duties, startQueueDuties } from './duties/queue-duties.js'
import { startScheduleDuties } from './duties/schedule-duties.js'
import { openForWork, readyForPages, refuseMemoryQueue } from './open-for-work.js'
import { poolsAtHand } from './pools-at-hand.js'
import { refuseUnscheduled } from './schedules.js'
import { closeSidecar, type Sidecar } from './sidecar.js'
import { spiderNotices } from './spider-notices.js'
import { createLocalWorkers } from './workers/local-workers.js'
import type { RunningWorker } from './workers/start-worker.js'
import { startWorkers, type WorkersOrder } from './workers/start-workers.js'
import { type WorkerFailures, watchWorkers } from './workers/worker-failures.js'

export interface ServeOptions extends WorkersOrder, AlertsOrder {
  /** End when no crawl of these spiders has anything left. */
  readonly exitWhenIdle: boolean
  /** Also begin crawls at the times of their schedules. */
  readonly schedule: boolean
  /** Aborted by the first Ctrl-C or SIGTERM. */
  readonly drain: AbortSignal
  readonly writeLog: (line: string) => void
  /** Goes on as long as it serves. */
  readonly beside?: Sidecar | undefined
  readonly onStart?: (spiders: readonly string[]) => void
  readonly onTurn?: (spider: string, taken: TurnTaken) => void
}

export interface Served {
  readonly spiders: readonly string[]
  readonly seconds: number
  /** What ended it. */
  readonly endedBy: 'signal' | 'idle' | 'drained'
}

/** How soon a crawl of an unknown spider is named, and how soon an idle worker that is to leave leaves. */
const NOTICE_MS = 5_000
const IDLE_LOOK_MS = 1_000
/** A crawl whose start URLs are still being added may be empty for a moment. */
const SEEDING_IDLE_MS = 5_000

/** Workers for every crawl of their spiders, whoever started it, until told to stop. */
export async function serveCrawls(options: ServeOptions): Promise<Served> {
  refuseMemoryQueue(options)
  const { drain, graceMs, writeLog } = options
  const clock = systemClock
  const log = createLog(options.logLevel, clock, writeLog)
  const startedAt = clock.mono()
  const alerts = loadAlerts(options.alerts ?? null, process.env)
  const opened = await openForWork(options.sources, options, drain, clock, log)
  const { spiders, backends, direct } = opened
  let workers: RunningWorker[] = []
  let duties: Duties | null = null
  let outlets: OutletDuties | null = null
  let schedules: Promise<void> | null = null
  let endSidecar: (() => Promise<void>) | undefined
  const beginner = beginCrawls(opened, { ...options, clock, log })
  const localWorkers = createLocalWorkers(clock)
  const stopSchedules = new AbortController()
  try {
    endSidecar = await options.beside?.({ backends: direct, spiders, begin: beginner.begin, log, localWorkers, drain })
    if (options.schedule) refuseUnscheduled(spiders)
    await readyForPages(spiders, backends, options)
    outlets = await startOutletDuties(
      spiders.flatMap((spider) => spider.outlets),
      { store: backends.store, queue: options.queue, clock, random: systemRandom, log },
    )
    const names = spiders.map(({ name }) => name)
    const pools = poolsAtHand(options, spiders)
    workers = await startWorkers({ ...options, localWorkers }, backends, spiders, pools, log, writeLog)
    duties = startQueueDuties(backends, spiders, { pools, clock, log, drain, alerts }, () => {})
    const { onTurn } = options
    const parts = {
      ...(onTurn && { onTurn }),
      clock,
      random: systemRandom,
      log,
      pools,
      signal: AbortSignal.any([drain, stopSchedules.signal]),
    }
    if (options.schedule) schedules = startScheduleDuties(backends, spiders, parts)
    options.onStart?.(names)
    const look = crawlWatch(spiders, options.exitWhenIdle, backends.frontier, log)
    const endedBy = await untilOver(watchWorkers(workers), drain, look, options.exitWhenIdle ? IDLE_LOOK_MS : NOTICE_MS)
    return { spiders: names, seconds: Math.round(clock.mono() - startedAt) / 1000, endedBy }
  } finally {
    const endBy = clock.mono() + graceMs
    stopSchedules.abort()
    await closeSidecar(endSidecar, log)
    await Promise.all([beginner.stop(), schedules, duties?.stop(), ...workers.map((worker) => worker.stop(graceMs))])
    await finishOutlets(outlets, endBy - clock.mono(), log)
    await backends.close()
  }
}

async function untilOver(
  failures: WorkerFailures,
  drain: AbortSignal,
  idle: () => Promise<boolean>,
  everyMs: number,
): Promise<Served['endedBy']> {
  const nap = AbortSignal.any([drain, failures.signal])
  for (;;) {
    if (drain.aborted) return 'signal'
    failures.check()
    if (failures.drained) return 'drained'
    try {
      if (await idle()) return 'idle'
    } catch (error) {
      // One that was deleted between two questions is no reason to end.
      if (!isAway(error) && asShoalError(error).code !== 'not_found') throw error
    }
    await systemClock.sleep(everyMs, nap)
  }
}

/** Tells about crawls that cannot be served as they were begun; answers whether it is time to go. */
function crawlWatch(
  spiders: Parameters<typeof spiderNotices>[0],
  exitWhenIdle: boolean,
  frontier: Frontier,
  log: Log,
): () => Promise<boolean> {
  const notices = spiderNotices(spiders)
  const names = new Set(spiders.map(({ name }) => name))
  let idleSince: number | null = null
  return async () => {
    const crawls = await frontier.crawls()
    for (const { event, crawl, spider } of notices(crawls)) log.warn(event, { crawl, spider })
    if (!exitWhenIdle) return false
    const ours = crawls.filter(({ spider, state }) => state === 'running' && names.has(spider))
    if (ours.length === 0) return true
    if (!(await allEmpty(frontier, ours))) {
      idleSince = null
      return false
    }
    idleSince ??= systemClock.mono()
    return systemClock.mono() - idleSince >= SEEDING_IDLE_MS
  }
}

async function allEmpty(frontier: Frontier, crawls: readonly CrawlInfo[]): Promise<boolean> {
  for (const { id } of crawls) {
    const { queued, delayed, leased } = await frontier.stats(id)
    if (queued + delayed + leased > 0) return false
  }
  return true
}
