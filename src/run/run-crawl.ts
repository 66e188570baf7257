import { systemClock, systemRandom } from '../clock.js'
import { openCrawl } from '../coordinator/crawls.js'
import { knownExits } from '../coordinator/proxies.js'
import { lostError } from '../coordinator/queue-watch.js'
import { seedCrawl } from '../coordinator/seeding.js'
import { asShoalError, isAway, type ShoalError } from '../errors.js'
import type { CrawlId, CrawlInfo, CrawlState, CrawlStats, HostInfo } from '../frontier/frontier.js'
import { createLog, type LogLevel } from '../log.js'
import { clearTrouble } from '../observe/trouble.js'
import type { Alert } from '../quality/drift-alert.js'
import type { VisitCounts } from '../store/visits.js'
import type { Plant } from '../wire/backends.js'
import { noBeginner } from './begin-crawls.js'
import { type Beside, endedBeside } from './sidecar.js'
import type { BrowserOrder } from './browser-order.js'
import { createCrew } from './workers/local-workers.js'
import { type AlertsOrder, loadAlerts } from './alerts/load-alerts.js'
import { openForWork, readyForPages } from './open-for-work.js'
import type { TraceOrder } from './open-tracing.js'
import { type ProxyOrder, poolsAtHand } from './pools-at-hand.js'
import { seedOptions } from './seeds/seed-options.js'
import type { SpiderSource } from './spider-source.js'
import { startWorkers } from './workers/start-workers.js'
import { shareExitsNow } from './duties/proxy-duties.js'
import { finishOutlets, type OutletTending, tendOutlets } from './duties/outlet-duties.js'
import { type Tending, tendQueue } from './duties/queue-duties.js'
import { type WorkerFailures, watchWorkers } from './workers/worker-failures.js'

export type { SpiderSource } from './spider-source.js'

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
  readonly beside?: Beside | undefined
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
  const { spiders, plant, direct } = await openForWork(sources, options, options.drain, clock, log)
  let outlets: OutletTending | null = null
  let endBy = 0
  let endBeside: (() => Promise<void>) | undefined
  const crew = createCrew(clock)
  try {
    const [spider] = spiders
    const { drain } = options
    endBeside = await options.beside?.({ plant: direct, spiders: [], begin: noBeginner.begin, log, crew, drain })
    if (spider === undefined) throw new Error('one source gives one spider')
    const pools = poolsAtHand(options, spiders)
    await readyForPages(spiders, plant, options)
    outlets = await tendOutlets(spider.outlets, {
      ...{ store: plant.store, queue: options.queue, clock, random: systemRandom, log },
    })
    await shareExitsNow(plant, spiders, pools)
    const begun = await openCrawl(plant, spider, {
      ...{ fresh: options.fresh, clock, random: systemRandom },
      exits: await knownExits(plant.board, spider),
    })
    const { crawl } = begun
    await clearTrouble(plant.board, crawl)
    const startedAt = clock.mono()
    const before = await plant.frontier.stats(crawl)
    const stopSeeding = new AbortController()
    const seedUntil = AbortSignal.any([options.drain, stopSeeding.signal])
    const seeding = seedCrawl(plant, spider, crawl, {
      clock,
      signal: seedUntil,
      ...seedOptions(options.seeds, {
        plant,
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

    const order = { ...options, sources, crew }
    const workers = options.drain.aborted ? [] : await startWorkers(order, plant, spiders, pools, log, writeLog)
    const failures = watchWorkers(workers)
    const tending = tendQueue(plant, spiders, { pools, clock, log, drain: options.drain, alerts }, (lost) => {
      if (lost.crawl === crawl) failures.fail(lostError(lost))
    })
    let interrupted = false
    try {
      interrupted = await watch(options, plant, crawl, failures, seeding.all)
    } catch (error) {
      // A queue that came back empty shows in many ways: a crawl that is not there, workers that fail.
      throw (await lostInstead(plant, tending, crawl)) ?? error
    } finally {
      endBy = clock.mono() + options.graceMs
      stopSeeding.abort()
      await Promise.all([
        seeding.all.catch(() => {}),
        tending.stop(),
        ...workers.map((worker) => worker.stop(options.graceMs)),
      ])
    }
    const stats = await plant.frontier.stats(crawl)
    options.onProgress?.(await progress(plant, crawl, stats, 0))
    log.info('crawl.finished', { crawl, state: stats.state, done: stats.done })
    const seconds = (clock.mono() - startedAt) / 1000
    return await summary(plant, stats, seconds, interrupted, failures.drained, before, await tending.drift())
  } finally {
    await endedBeside(endBeside, log)
    await finishOutlets(outlets, endBy - clock.mono(), log)
    await plant.close()
  }
}

async function lostInstead(plant: Plant, tending: Tending, crawl: CrawlId): Promise<ShoalError | null> {
  try {
    await tending.look()
    const note = (await plant.store.crawlNotes()).find((one) => one.crawl === crawl && one.state === 'lost')
    return note === undefined ? null : lostError({ crawl, spider: note.spider, why: 'gone' })
  } catch {
    return null
  }
}

/** Until the crawl has ended, the drain is asked for or every worker was drained from outside (true). Rejects with the first failure of a worker or of the seeding. */
async function watch(
  options: RunOptions,
  plant: Plant,
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
      const stats = await plant.frontier.stats(crawl)
      options.onProgress?.(await progress(plant, crawl, stats, failures.alive))
      if (stats.state === 'finished' || stats.state === 'cancelled') return false
    } catch (error) {
      // Away when the drain was asked for: the workers are stopped all the same.
      if (!isAway(error) || !options.drain.aborted) throw error
    }
    await systemClock.sleep(PROGRESS_MS, nap)
  }
}

async function progress(plant: Plant, crawl: CrawlId, stats: CrawlStats, workersAlive: number): Promise<RunProgress> {
  const hosts = await plant.frontier.hosts(crawl, { limit: HOSTS_SHOWN, busiest: true })
  const { records, rejected } = await recordTotals(plant, crawl)
  return { stats, hosts, records, rejected, workersAlive }
}

async function recordTotals(plant: Plant, crawl: CrawlId): Promise<{ records: number; rejected: number }> {
  const kinds = await plant.store.counts({ crawl })
  return {
    records: kinds.reduce((sum, kind) => sum + kind.records, 0),
    rejected: kinds.reduce((sum, kind) => sum + kind.rejected, 0),
  }
}

async function summary(
  plant: Plant,
  stats: CrawlStats,
  seconds: number,
  interrupted: boolean,
  drained: boolean,
  before: CrawlStats,
  drift: readonly Alert[],
): Promise<RunSummary> {
  const { records, rejected } = await recordTotals(plant, stats.id)
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
    visits: await plant.store.visitCounts(stats.id),
    drift,
  }
}
