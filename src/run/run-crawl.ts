import { systemClock, systemRandom } from '../clock.js'
import { openCrawl, seedCrawl } from '../coordinator/crawls.js'
import { ShoalError } from '../errors.js'
import type { CrawlId, CrawlInfo, CrawlState, CrawlStats, HostInfo } from '../frontier/frontier.js'
import { createLog, type LogLevel } from '../log.js'
import { openPlant, type Plant } from '../wire.js'
import { forfeitDeadWorkers } from './dead-workers.js'
import { type SpiderSource, spiderFrom } from './spider-source.js'
import type { RunningWorker } from './start-worker.js'
import { startWorkers } from './start-workers.js'
import { patientFrontier } from './until-back.js'

export type { SpiderSource } from './spider-source.js'

export interface RunOptions {
  readonly source: SpiderSource
  /** Engine addresses: `sqlite:<file>`, `memory:`, or for the queue `redis://…`. */
  readonly queue: string
  readonly store: string
  /** Worker processes. One worker runs inside this process. */
  readonly workers: number
  /** Visits at once per worker. */
  readonly concurrency: number
  /** Start anew instead of resuming an unfinished crawl of this spider. */
  readonly fresh: boolean
  readonly logLevel: LogLevel
  /** How long a drain may take before the rest is handed back. */
  readonly graceMs: number
  /** Aborted by the first Ctrl-C or SIGTERM: drain. */
  readonly drain: AbortSignal
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
  /** True when the drain signal ended it before the crawl did. */
  readonly interrupted: boolean
}

const PROGRESS_MS = 250
/** The hosts with most work left: enough for an ETA. */
const HOSTS_SHOWN = 100

/** Opens or resumes the crawl, seeds it, runs the workers until it is finished or drained. */
export async function runCrawl(options: RunOptions): Promise<RunSummary> {
  const clock = systemClock
  const spider = await unlessDrained(spiderFrom(options.source), options.drain)
  const opening = openPlant(options)
  const opened = await unlessDrained(opening, options.drain).catch((error: unknown) => {
    opening.then((late) => late.close()).catch(() => {})
    throw error
  })
  const plant = { ...opened, frontier: patientFrontier(opened.frontier, clock, options.drain) }
  const writeLog = options.writeLog ?? ((line: string) => process.stderr.write(line))
  const log = createLog(options.logLevel, clock, writeLog)
  for (const message of plant.warnings) log.warn('plant.warning', { message })
  try {
    await forfeitDeadWorkers(plant.frontier, clock)
    const begun = await openCrawl(plant, spider, { fresh: options.fresh, clock, random: systemRandom })
    const { crawl } = begun
    const startedAt = clock.mono()
    const before = await plant.frontier.stats(crawl)
    const stopSeeding = new AbortController()
    const seedUntil = AbortSignal.any([options.drain, stopSeeding.signal])
    const seeding = seedCrawl(plant.frontier, spider, crawl, clock, seedUntil)
    options.onStart?.({ ...begun, spider: spider.name, seeds: await seeding.first })
    log.info(begun.resumed ? 'crawl.resumed' : 'crawl.opened', { crawl, spider: spider.name })
    if (begun.spiderChanged) log.warn('spider.changed', { crawl, spider: spider.name })

    const order = { ...options, sources: [options.source] }
    const workers = options.drain.aborted ? [] : await startWorkers(order, plant, [spider], log, writeLog)
    let interrupted = false
    try {
      interrupted = await watch(options, plant, crawl, workers, seeding.all)
    } finally {
      stopSeeding.abort()
      await Promise.all([seeding.all.catch(() => {}), ...workers.map((worker) => worker.stop(options.graceMs))])
    }
    const stats = await plant.frontier.stats(crawl)
    options.onProgress?.(await progress(plant, crawl, stats, 0))
    log.info('crawl.finished', { crawl, state: stats.state, done: stats.done })
    return await summary(plant, stats, (clock.mono() - startedAt) / 1000, interrupted, before)
  } finally {
    await plant.close()
  }
}

/** As long as nothing is begun there is nothing to drain: a spider file or a locked database that takes its time is not waited for. */
async function unlessDrained<Result>(work: Promise<Result>, drain: AbortSignal): Promise<Result> {
  const drained = new Promise<never>((_, reject) => {
    const stop = () => reject(new ShoalError('interrupted', 'stopped before the crawl was opened'))
    if (drain.aborted) stop()
    else drain.addEventListener('abort', stop, { once: true })
  })
  return Promise.race([work, drained])
}

/** Until the crawl has ended or the drain is asked for (true). Rejects with the first failure of a worker or of the seeding. */
async function watch(
  options: RunOptions,
  plant: Plant,
  crawl: CrawlId,
  workers: readonly RunningWorker[],
  seeding: Promise<unknown>,
): Promise<boolean> {
  let failure: { error: unknown } | null = null
  let alive = workers.length
  const nap = new AbortController()
  const fail = (error: unknown) => {
    failure ??= { error }
    nap.abort()
  }
  seeding.catch(fail)
  for (const worker of workers) {
    worker.ended
      .finally(() => alive--)
      .then(() => {
        // Nobody is left to visit a page, and nobody comes.
        if (alive === 0) throw new ShoalError('internal', 'every worker has ended, though the crawl goes on')
      })
      .catch(fail)
  }
  options.drain.addEventListener('abort', () => nap.abort())
  for (;;) {
    if (options.drain.aborted) return true
    if (failure !== null) throw (failure as { error: unknown }).error
    const stats = await plant.frontier.stats(crawl)
    options.onProgress?.(await progress(plant, crawl, stats, alive))
    if (stats.state === 'finished' || stats.state === 'cancelled') return false
    await systemClock.sleep(PROGRESS_MS, nap.signal)
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
  before: CrawlStats,
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
  }
}
