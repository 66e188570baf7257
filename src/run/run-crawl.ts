import { systemClock, systemRandom } from '../clock.js'
import { gracePeriod, warnOf, withClosers } from '../closers.js'
import type { ProcessSettings } from '../config.js'
import { openCrawl } from '../coordinator/crawls.js'
import { knownProxies } from '../coordinator/proxies.js'
import { lostError } from '../coordinator/queue-watch.js'
import { seedCrawl } from '../coordinator/seeding.js'
import { asShoalError, isAway, type ShoalError } from '../errors.js'
import type { CrawlId } from '../frontier/frontier.js'
import { createLog } from '../log.js'
import { clearTrouble } from '../observe/trouble.js'
import { argsOf } from '../spider/arguments.js'
import type { Backends } from '../wire/backends.js'
import { loadAlerts } from './alerts/load-alerts.js'
import { noCrawlStarter } from './crawl-starter.js'
import { finishOutlets, startOutletDuties } from './duties/outlet-duties.js'
import { shareProxiesNow } from './duties/proxy-duties.js'
import { type Duties, startQueueDuties } from './duties/queue-duties.js'
import { openForWork, readyForPages } from './open-for-work.js'
import { poolsAtHand } from './pools-at-hand.js'
import {
  type RunProgress,
  type RunStart,
  type RunSummary,
  runProgress,
  runSummary,
  SPIDER_CHANGED,
} from './run-summary.js'
import { seedOptions } from './seeds/seed-options.js'
import { openSidecar, type Sidecar } from './sidecar.js'
import type { SpiderSource } from './spider-source.js'
import { surviveSpider } from './survive-spider.js'
import { watchPause } from './watch-pause.js'
import { createLocalWorkers } from './workers/local-workers.js'
import { startWorkers, type WorkerCount } from './workers/start-workers.js'
import { type WorkerFailures, watchWorkers } from './workers/worker-failures.js'

export interface RunOptions {
  readonly settings: ProcessSettings
  readonly source: SpiderSource
  readonly workers: WorkerCount
  /** A source of more start URLs: a file, `-` for standard input, a sitemap, a URL template. */
  readonly seeds?: string | undefined
  /** Start over instead of resuming an unfinished crawl of this spider. */
  readonly fresh: boolean
  /** Aborted by the first Ctrl-C or SIGTERM: drain. */
  readonly drain: AbortSignal
  readonly sidecar?: Sidecar | undefined
  /** Where log lines go; standard error when left out. */
  readonly writeLog?: (line: string) => void
  readonly onStart?: (start: RunStart) => void
  /** About once a second while the crawl runs, four times as often when it begins and ends. */
  readonly onProgress?: (progress: RunProgress) => void
}

/** Opens or resumes the crawl, seeds it, and runs workers until it has finished or is drained. */
export async function runCrawl(options: RunOptions): Promise<RunSummary> {
  const { settings, drain } = options
  const clock = systemClock
  const random = systemRandom
  const writeLog = options.writeLog ?? ((line: string) => process.stderr.write(line))
  const log = createLog(settings.logLevel, clock, writeLog)
  const sources = [options.source]
  const alerts = loadAlerts(settings.alerts, process.env)
  const grace = gracePeriod(clock, settings.graceMs)
  const localWorkers = createLocalWorkers(clock)
  const responses = () => (settings.cache === null ? null : localWorkers.responses())

  return withClosers(warnOf(log), async (closers) => {
    const { spiders, backends, direct } = await openForWork(sources, settings, drain, clock, log)
    closers.add(() => backends.close())
    closers.add(surviveSpider(log))
    const { start } = noCrawlStarter
    const closeSidecar = await openSidecar(options.sidecar, {
      ...{ backends: direct, spiders: [], start, log, localWorkers, drain },
    })
    closers.add(closeSidecar)
    const [spider] = spiders
    if (spider === undefined) throw new Error('one source gives one spider')
    const pools = poolsAtHand(settings, spiders)
    await readyForPages(spiders, backends, settings.browser)
    const outlets = await startOutletDuties(spider.outlets, {
      ...{ store: backends.store, queue: settings.queue, clock, random, log },
    })
    closers.add(() => finishOutlets(outlets, grace.leftMs(), log))
    // Before the outlets, which may take the rest of the grace period.
    closers.add(closeSidecar)

    await shareProxiesNow(backends, spiders, pools)
    const proxies = await knownProxies(backends.notes, spider)
    const unchangedOnly = options.source.kind === 'crawl'
    const opened = await openCrawl(backends, spider, { fresh: options.fresh, clock, random, proxies, unchangedOnly })
    const { crawl } = opened
    const args = argsOf(spider)
    await clearTrouble(backends.notes, crawl)
    const startedAt = clock.mono()
    const before = await backends.frontier.stats(crawl)

    const worked = await withClosers(warnOf(log), async (working) => {
      const stop = new AbortController()
      const signal = AbortSignal.any([drain, stop.signal])
      const parts = { backends, spider, crawl, pools, clock, random, log, signal, cache: settings.cache }
      const emptySources: string[] = []
      const onEmpty = (source: string) => {
        // A crawl that is resumed has read its sources before.
        if (opened.resumed) return
        emptySources.push(source)
        log.warn('seeds.empty', { crawl, source })
      }
      const seeding = seedCrawl(backends, spider, crawl, {
        clock,
        signal,
        onEmpty,
        ...seedOptions(options.seeds, parts),
      })
      // A failure is thrown by the watch, or by `first` if it comes that early.
      const seeded = seeding.all.catch(() => null)
      const stopSeeding = () => {
        stop.abort()
        return seeded
      }
      working.add(stopSeeding)
      options.onStart?.({ ...opened, spider: spider.name, args, seeds: await seeding.first })
      const about = { crawl, spider: spider.name, ...(spider.args !== null && { args }) }
      log.info(opened.resumed ? 'crawl.resumed' : 'crawl.opened', about)
      if (opened.spiderChanged) log.warn('spider.changed', { crawl, spider: spider.name, message: SPIDER_CHANGED })

      const order = { settings, sources, workers: options.workers, localWorkers }
      const workers = drain.aborted ? [] : await startWorkers(order, backends, spiders, pools, log, writeLog)
      const failures = watchWorkers(workers)
      const duties = startQueueDuties(backends, spiders, { pools, clock, log, drain, alerts }, (lost) => {
        if (lost.crawl === crawl) failures.fail(lostError(lost))
      })
      const { graceMs } = settings
      working.add(stopSeeding, () => duties.stop(), ...workers.map((worker) => () => worker.stop(graceMs)))
      working.add(grace.start)
      try {
        const workersNow = () => ({
          ...{ workersAlive: failures.alive, workersReady: localWorkers.list().length, responses: responses() },
        })
        const interrupted = await watch(options, backends, crawl, failures, workersNow, seeding.all)
        return { interrupted, duties, failures, emptySources, seeds: seeded }
      } catch (error) {
        // A queue that came back empty shows in many ways: a crawl that is missing, workers that fail.
        throw (await lostInstead(backends, duties, crawl)) ?? error
      }
    })

    const stats = await backends.frontier.stats(crawl)
    options.onProgress?.(
      await runProgress(backends, crawl, stats, { workersAlive: 0, workersReady: 0, responses: responses() }),
    )
    log.info('crawl.finished', { crawl, state: stats.state, done: stats.done })
    const seconds = (clock.mono() - startedAt) / 1000
    const { interrupted, failures, duties, emptySources } = worked
    const { drained } = failures
    const seeds = (await worked.seeds) ?? { added: 0, known: 0, refused: 0 }
    return runSummary(backends, stats, spider, {
      ...{ before, seconds, interrupted, drained, workers: localWorkers.pages() },
      ...{ responses: responses(), drift: await duties.drift() },
      ...{ resumed: opened.resumed, seeds, emptySources },
    })
  })
}

async function lostInstead(backends: Backends, duties: Duties, crawl: CrawlId): Promise<ShoalError | null> {
  try {
    await duties.checkForLoss()
    const note = (await backends.store.crawls.notes()).find((one) => one.crawl === crawl && one.state === 'lost')
    return note === undefined ? null : lostError({ crawl, spider: note.spider, why: 'gone' })
  } catch {
    return null
  }
}

/** When the queue did not answer. */
const AWAY_MS = 250

/**
 * Returns when the crawl has ended (false), or when the drain was requested or every worker was drained from outside (true). Rejects with the first
 * failure of a worker or of the seeding.
 */
async function watch(
  { drain, onProgress }: RunOptions,
  backends: Backends,
  crawl: CrawlId,
  failures: WorkerFailures,
  workersNow: () => Pick<RunProgress, 'workersAlive' | 'workersReady' | 'responses'>,
  seeding: Promise<unknown>,
): Promise<boolean> {
  seeding.catch((error: unknown) => {
    // Someone cancelled the crawl: its state says so.
    if (asShoalError(error).code !== 'crawl_ended') failures.fail(error)
  })
  const wake = AbortSignal.any([drain, failures.signal])
  const startedAt = systemClock.mono()
  for (;;) {
    let pauseMs = AWAY_MS
    if (drain.aborted) return true
    failures.check()
    if (failures.drained) return true
    try {
      const stats = await backends.frontier.stats(crawl)
      onProgress?.(await runProgress(backends, crawl, stats, workersNow()))
      if (stats.state === 'finished' || stats.state === 'cancelled') return false
      pauseMs = watchPause(stats, systemClock.mono() - startedAt)
    } catch (error) {
      // Down when the drain was requested: the workers are stopped all the same.
      if (!isAway(error) || !drain.aborted) throw error
    }
    await systemClock.sleep(pauseMs, wake)
  }
}
