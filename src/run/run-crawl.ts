import { systemClock, systemRandom } from '../clock.js'
import { openCrawl } from '../coordinator/crawls.js'
import { knownProxies } from '../coordinator/proxies.js'
import { lostError } from '../coordinator/queue-watch.js'
import { seedCrawl } from '../coordinator/seeding.js'
import { asShoalError, isAway, type ShoalError } from '../errors.js'
import type { CrawlId, CrawlInfo, CrawlState, CrawlStats, HostInfo } from '../frontier/frontier.js'
import { createLog, type LogLevel } from '../log.js'
import { clearTrouble } from '../observe/trouble.js'
import type { Alert } from '../quality/drift-alert.js'
import type { VisitCounts } from '../store/visits.js'
import type { Backends } from '../wire/backends.js'
import { type AlertsOrder, loadAlerts } from './alerts/load-alerts.js'
import { noBeginner } from './begin-crawls.js'
import type { BrowserOrder } from './browser-order.js'
import { finishOutlets, type OutletDuties, startOutletDuties } from './duties/outlet-duties.js'
import { shareProxiesNow } from './duties/proxy-duties.js'
import { type Duties, startQueueDuties } from './duties/queue-duties.js'
import { openForWork, readyForPages } from './open-for-work.js'
import type { TraceOrder } from './open-tracing.js'
import { type ProxyOrder, poolsAtHand } from './pools-at-hand.js'
import { seedOptions } from './seeds/seed-options.js'
import { closeSidecar, type Sidecar } from './sidecar.js'
import type { SpiderSource } from './spider-source.js'
import { createLocalWorkers } from './workers/local-workers.js'
import { startWorkers } from './workers/start-workers.js'
import { type WorkerFailures, watchWorkers } from './workers/worker-failures.js'

export interface RunOptions extends ProxyOrder, BrowserOrder, AlertsOrder, TraceOrder {
  readonly source: SpiderSource
  /** Engine addresses: `sqlite:<file>`, `memory:`, or for the queue `redis://…`. */
  readonly queue: string
  readonly store: string
  readonly pages?: string | null
  /** Worker processes. One worker runs inside this process. */
  readonly workers: number
  /** Visits at once per worker. */
  readonly concurrency: number
  /** A source of further seeds: a file, `-` for standard input, a sitemap, a template of URLs. */
  readonly seeds?: string | undefined
  /** Start anew instead of resuming an unfinished crawl of this spider. */
  readonly fresh: boolean
  readonly logLevel: LogLevel
  /** How long a drain may take before the rest is handed back. */
  readonly graceMs: number
  /** Aborted by the first Ctrl-C or SIGTERM: drain. */
  readonly drain: AbortSignal
  /** Goes on as long as the run. */
  readonly beside?: Sidecar | undefined
  /** Log lines go here; stderr unless given. */
  readonly writeLog?: (line: string) => void
  readonly onStart?: (start: RunStart) => void
  /** About four times a second while the crawl runs. */
  readonly onProgress?: (progress: RunProgress) => void
}

export interface RunStart {
  readonly crawl: CrawlId
  readonly spider: string
  readonly resumed: boolean
  /** The unfinished crawl that --fresh cancelled. */
  readonly setAside: CrawlInfo | null
  readonly spiderChanged: boolean
  readonly seeds: { readonly added: number; readonly known: number }
}

export interface RunProgress {
  readonly stats: CrawlStats
  /** The hosts with most work left, at most 100: enough for an ETA. */
  readonly hosts: readonly HostInfo[]
  readonly records: number
  readonly rejected: number
  readonly workersAlive: number
}

export interface RunSummary {
  readonly crawl: CrawlId
  readonly state: CrawlState
  readonly endedBy: CrawlInfo['endedBy']
  /** Pages of the crawl so far, and those of this run alone. */
  readonly pages: number
  readonly pagesNow: number
  readonly records: number
  readonly rejected: number
  readonly failed: number
  readonly dead: number
  readonly retried: number
  readonly skipped: number
  readonly seconds: number
  /** True when the drain signal ended it before the crawl did, or the last of its workers was drained from outside. */
  readonly interrupted: boolean
  readonly drained: boolean
  /** Of a spider that recrawls: how its pages compare with the crawl before. */
  readonly visits: VisitCounts | null
  /** Fields that used to be filled and are not any more. */
  readonly drift: readonly Alert[]
}

const PROGRESS_MS = 250
/** The hosts with most work left: enough for an ETA. */
const HOSTS_SHOWN = 100

/** Opens or resumes the crawl, seeds it, runs the workers until it is finished or drained. */
export async function runCrawl(options: RunOptions): Promise<RunSummary> {
  const clock = systemClock
  const writeLog = options.writeLog ?? ((line: string) => process.stderr.write(line))
  const log = createLog(options.logLevel, clock, writeLog)
  const sources = [options.source]
  const alerts = loadAlerts(options.alerts ?? null, process.env)
  const { spiders, backends, direct } = await openForWork(sources, options, options.drain, clock, log)
  let outlets: OutletDuties | null = null
  let endBy = 0
  let endSidecar: (() => Promise<void>) | undefined
  const localWorkers = createLocalWorkers(clock)
  try {
    const [spider] = spiders
    const { drain } = options
    endSidecar = await options.beside?.({
      backends: direct,
      spiders: [],
      begin: noBeginner.begin,
      log,
      localWorkers,
      drain,
    })
    if (spider === undefined) throw new Error('one source gives one spider')
    const pools = poolsAtHand(options, spiders)
    await readyForPages(spiders, backends, options)
    outlets = await startOutletDuties(spider.outlets, {
      ...{ store: backends.store, queue: options.queue, clock, random: systemRandom, log },
    })
    await shareProxiesNow(backends, spiders, pools)
    const begun = await openCrawl(backends, spider, {
      ...{ fresh: options.fresh, clock, random: systemRandom },
      proxies: await knownProxies(backends.notes, spider),
    })
    const { crawl } = begun
    await clearTrouble(backends.notes, crawl)
    const startedAt = clock.mono()
    const before = await backends.frontier.stats(crawl)
    const stopSeeding = new AbortController()
    const seedUntil = AbortSignal.any([options.drain, stopSeeding.signal])
    const seeding = seedCrawl(backends, spider, crawl, {
      clock,
      signal: seedUntil,
      ...seedOptions(options.seeds, {
        backends,
        spider,
        crawl,
        pools,
        clock,
        random: systemRandom,
        log,
        signal: seedUntil,
      }),
    })
    // Told by the watch, or by `first`, whichever is there to hear it.
    seeding.all.catch(() => {})
    options.onStart?.({ ...begun, spider: spider.name, seeds: await seeding.first })
    log.info(begun.resumed ? 'crawl.resumed' : 'crawl.opened', { crawl, spider: spider.name })
    if (begun.spiderChanged) log.warn('spider.changed', { crawl, spider: spider.name })

    const order = { ...options, sources, localWorkers }
    const workers = options.drain.aborted ? [] : await startWorkers(order, backends, spiders, pools, log, writeLog)
    const failures = watchWorkers(workers)
    const duties = startQueueDuties(backends, spiders, { pools, clock, log, drain: options.drain, alerts }, (lost) => {
      if (lost.crawl === crawl) failures.fail(lostError(lost))
    })
    let interrupted = false
    try {
      interrupted = await watch(options, backends, crawl, failures, seeding.all)
    } catch (error) {
      // A queue that came back empty shows in many ways: a crawl that is not there, workers that fail.
      throw (await lostInstead(backends, duties, crawl)) ?? error
    } finally {
      endBy = clock.mono() + options.graceMs
      stopSeeding.abort()
      await Promise.all([
        seeding.all.catch(() => {}),
        duties.stop(),
        ...workers.map((worker) => worker.stop(options.graceMs)),
      ])
    }
    const stats = await backends.frontier.stats(crawl)
    options.onProgress?.(await progress(backends, crawl, stats, 0))
    log.info('crawl.finished', { crawl, state: stats.state, done: stats.done })
    const seconds = (clock.mono() - startedAt) / 1000
    return await summary(backends, stats, seconds, interrupted, failures.drained, before, await duties.drift())
  } finally {
    await closeSidecar(endSidecar, log)
    await finishOutlets(outlets, endBy - clock.mono(), log)
    await backends.close()
  }
}

async function lostInstead(backends: Backends, duties: Duties, crawl: CrawlId): Promise<ShoalError | null> {
  try {
    await duties.look()
    const note = (await backends.store.crawlNotes()).find((one) => one.crawl === crawl && one.state === 'lost')
    return note === undefined ? null : lostError({ crawl, spider: note.spider, why: 'gone' })
  } catch {
    return null
  }
}

/** Until the crawl has ended, the drain is asked for or every worker was drained from outside (true). Rejects with the first failure of a worker or of the seeding. */
async function watch(
  options: RunOptions,
  backends: Backends,
  crawl: CrawlId,
  failures: WorkerFailures,
  seeding: Promise<unknown>,
): Promise<boolean> {
  seeding.catch((error: unknown) => {
    // Cancelled by somebody: its state says so.
    if (asShoalError(error).code !== 'crawl_ended') failures.fail(error)
  })
  const nap = AbortSignal.any([options.drain, failures.signal])
  for (;;) {
    if (options.drain.aborted) return true
    failures.check()
    if (failures.drained) return true
    try {
      const stats = await backends.frontier.stats(crawl)
      options.onProgress?.(await progress(backends, crawl, stats, failures.alive))
      if (stats.state === 'finished' || stats.state === 'cancelled') return false
    } catch (error) {
      // Away when the drain was asked for: the workers are stopped all the same.
      if (!isAway(error) || !options.drain.aborted) throw error
    }
    await systemClock.sleep(PROGRESS_MS, nap)
  }
}

async function progress(
  backends: Backends,
  crawl: CrawlId,
  stats: CrawlStats,
  workersAlive: number,
): Promise<RunProgress> {
  const hosts = await backends.frontier.hosts(crawl, { limit: HOSTS_SHOWN, busiest: true })
  const { records, rejected } = await recordTotals(backends, crawl)
  return { stats, hosts, records, rejected, workersAlive }
}

async function recordTotals(backends: Backends, crawl: CrawlId): Promise<{ records: number; rejected: number }> {
  const kinds = await backends.store.counts({ crawl })
  return {
    records: kinds.reduce((sum, kind) => sum + kind.records, 0),
    rejected: kinds.reduce((sum, kind) => sum + kind.rejected, 0),
  }
}

async function summary(
  backends: Backends,
  stats: CrawlStats,
  seconds: number,
  interrupted: boolean,
  drained: boolean,
  before: CrawlStats,
  drift: readonly Alert[],
): Promise<RunSummary> {
  const { records, rejected } = await recordTotals(backends, stats.id)
  return {
    crawl: stats.id,
    state: stats.state,
    endedBy: stats.endedBy,
    pages: stats.done,
    pagesNow: stats.done - before.done,
    records,
    rejected,
    failed: stats.failed,
    dead: stats.dead,
    retried: stats.retried,
    skipped: stats.skipped,
    seconds: Math.round(seconds * 1000) / 1000,
    interrupted: interrupted && stats.state !== 'finished',
    drained: drained && stats.state !== 'finished',
    visits: await backends.store.visitCounts(stats.id),
    drift,
  }
}
