import { systemClock, systemRandom } from '../clock.js'
import { gracePeriod, warnOf, withClosers } from '../closers.js'
import type { TurnTaken } from '../coordinator/schedule.js'
import { asShoalError, isAway } from '../errors.js'
import type { CrawlInfo, Frontier } from '../frontier/frontier.js'
import { createLog, type Log } from '../log.js'
import type { Spider } from '../spider/spider.js'
import { loadAlerts } from './alerts/load-alerts.js'
import { createCrawlStarter } from './crawl-starter.js'
import { finishOutlets, startOutletDuties } from './duties/outlet-duties.js'
import { startQueueDuties } from './duties/queue-duties.js'
import { startScheduleDuties } from './duties/schedule-duties.js'
import { idleWatch, type SpiderWork } from './idle-watch.js'
import { openForWork, readyForPages, refuseMemoryQueue } from './open-for-work.js'
import { SERVICE_WAIT_MS } from './open-patiently.js'
import { poolsAtHand } from './pools-at-hand.js'
import { refuseUnscheduled } from './schedules.js'
import { openSidecar, type Sidecar } from './sidecar.js'
import { spiderNotices } from './spider-notices.js'
import { surviveSpider } from './survive-spider.js'
import { createLocalWorkers } from './workers/local-workers.js'
import { startWorkers, type WorkersOrder } from './workers/start-workers.js'
import { type WorkerFailures, watchWorkers } from './workers/worker-failures.js'

export interface ServeOptions extends WorkersOrder {
  /** End when no crawl of these spiders has anything left. */
  readonly exitWhenIdle: boolean
  /** Also start crawls at the times of their schedules. */
  readonly schedule: boolean
  /** Aborted by the first Ctrl-C or SIGTERM. */
  readonly drain: AbortSignal
  readonly writeLog: (line: string) => void
  readonly sidecar?: Sidecar | undefined
  readonly onStart?: (spiders: readonly string[]) => void
  readonly onTurn?: (spider: string, taken: TurnTaken) => void
}

export interface Served {
  readonly spiders: readonly string[]
  readonly seconds: number
  readonly endedBy: 'signal' | 'idle' | 'drained'
}

/** How soon a crawl of an unknown spider is reported, and how soon an idle worker that should leave does. */
const NOTICE_MS = 5_000
const IDLE_CHECK_MS = 1_000
const CACHE_IGNORED = 'SHOAL_CACHE is ignored: the development cache is for `run`, `crawl`, `try` and `shell`'

/** Runs workers for every crawl of their spiders, whoever started it, until it is asked to stop. */
export async function serveCrawls(options: ServeOptions): Promise<Served> {
  const { drain, writeLog, onTurn } = options
  // A fleet collects the data of today: pages from the folder of one of its machines would be mixed with those of the others.
  const settings = { ...options.settings, cache: null }
  refuseMemoryQueue(settings)
  const clock = systemClock
  const random = systemRandom
  const log = createLog(settings.logLevel, clock, writeLog)
  if (options.settings.cache !== null) log.warn('backend.warning', { message: CACHE_IGNORED })
  const startedAt = clock.mono()
  const alerts = loadAlerts(settings.alerts, process.env)
  const grace = gracePeriod(clock, settings.graceMs)
  const localWorkers = createLocalWorkers(clock)

  return withClosers(warnOf(log), async (closers) => {
    const opened = await openForWork(options.sources, settings, drain, clock, log, SERVICE_WAIT_MS)
    const { spiders, backends, direct } = opened
    closers.add(() => backends.close())
    closers.add(surviveSpider(log))
    const starter = createCrawlStarter(opened, { settings, clock, log })
    closers.add(starter.stop)
    const { start } = starter
    const closeSidecar = await openSidecar(options.sidecar, {
      ...{ backends: direct, spiders, start, log, localWorkers, drain },
    })
    closers.add(closeSidecar)
    if (options.schedule) refuseUnscheduled(spiders)
    await readyForPages(spiders, backends, settings.browser)
    const outlets = await startOutletDuties(
      spiders.flatMap((spider) => spider.outlets),
      { store: backends.store, queue: settings.queue, clock, random, log },
    )
    closers.add(() => finishOutlets(outlets, grace.leftMs(), log))
    closers.add(grace.start)
    const pools = poolsAtHand(settings, spiders)
    const workers = await startWorkers({ ...options, settings, localWorkers }, backends, spiders, pools, log, writeLog)
    const duties = startQueueDuties(backends, spiders, { pools, clock, log, drain, alerts }, () => {})
    const over = new AbortController()
    const signal = AbortSignal.any([drain, over.signal])
    const schedules = options.schedule
      ? startScheduleDuties(backends, spiders, { clock, random, log, pools, signal, ...(onTurn && { onTurn }) })
      : null
    const { graceMs } = settings
    closers.add(
      () => schedules,
      () => duties.stop(),
      ...workers.map((worker) => () => worker.stop(graceMs)),
      starter.stop,
    )
    // Before the workers: no one may start a crawl from the dashboard of a process that is leaving.
    closers.add(closeSidecar)
    closers.add(grace.start, () => over.abort())

    const names = spiders.map(({ name }) => name)
    options.onStart?.(names)
    const isIdle = crawlWatch(spiders, options.exitWhenIdle, backends.frontier, log)
    const everyMs = options.exitWhenIdle ? IDLE_CHECK_MS : NOTICE_MS
    const endedBy = await untilOver(watchWorkers(workers), drain, isIdle, everyMs)
    return { spiders: names, seconds: Math.round(clock.mono() - startedAt) / 1000, endedBy }
  })
}

async function untilOver(
  failures: WorkerFailures,
  drain: AbortSignal,
  isIdle: () => Promise<boolean>,
  everyMs: number,
): Promise<Served['endedBy']> {
  const wake = AbortSignal.any([drain, failures.signal])
  for (;;) {
    if (drain.aborted) return 'signal'
    failures.check()
    if (failures.drained) return 'drained'
    try {
      if (await isIdle()) return 'idle'
    } catch (error) {
      // A crawl that was deleted between two calls is no reason to end.
      if (!isAway(error) && asShoalError(error).code !== 'not_found') throw error
    }
    await systemClock.sleep(everyMs, wake)
  }
}

/** Reports crawls that cannot be served as they were started; answers whether everything is done. */
function crawlWatch(
  spiders: readonly Spider[],
  exitWhenIdle: boolean,
  frontier: Frontier,
  log: Log,
): () => Promise<boolean> {
  const notices = spiderNotices(spiders)
  const isIdle = idleWatch(spiders, systemClock.mono())
  return async () => {
    const crawls = await frontier.crawls()
    for (const { event, crawl, spider } of notices(crawls)) log.warn(event, { crawl, spider })
    if (!exitWhenIdle) return false
    const work = new Map<string, SpiderWork>()
    for (const { name } of spiders) work.set(name, await workOf(frontier, crawls, name))
    return isIdle((spider) => work.get(spider) ?? NO_WORK, systemClock.mono())
  }
}

const NO_WORK: SpiderWork = { running: 0, pending: 0, seen: 0 }

async function workOf(frontier: Frontier, crawls: readonly CrawlInfo[], spider: string): Promise<SpiderWork> {
  const running = crawls.filter((crawl) => crawl.spider === spider && crawl.state === 'running')
  let { pending, seen } = NO_WORK
  for (const { id } of running) {
    const { queued, delayed, leased, total, done } = await frontier.stats(id)
    pending += queued + delayed + leased
    seen += total + done
  }
  return { running: running.length, pending, seen }
}
