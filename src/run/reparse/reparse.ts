import { availableParallelism } from 'node:os'
import { type Clock, systemClock } from '../../clock.js'
import { ShoalError } from '../../errors.js'
import type { CrawlId } from '../../frontier/frontier.js'
import type { LogLevel } from '../../log.js'
import type { KeptPage, KeptPageCursor, KeptPageQuery } from '../../store/kept-pages.js'
import type { RecordStore } from '../../store/record-store.js'
import { pauseUntil, whileAway } from '../../while-away.js'
import type { StorePart } from '../../wire/backends.js'
import { unlessDrained } from '../open-for-work.js'
import type { SpiderSource } from '../spider-source.js'
import { emptyReport, noteStray, type ReparseReport } from './reparse-report.js'
import type { LoadedSpider } from './reparse-thread-messages.js'
import { ReparseThreads } from './reparse-threads.js'
import { type ReparseThread, startReparseThread } from './start-reparse-thread.js'

export interface ReparseOptions {
  readonly source: SpiderSource
  readonly results: StorePart
  readonly crawl?: CrawlId
  /** Only pages that were fetched for this route. */
  readonly route?: string
  /** Only pages that were fetched since then. */
  readonly since?: number
  readonly dryRun: boolean
  /** Number of threads; null: one per core, if there is enough to do. */
  readonly workers: number | null
  readonly logLevel: LogLevel
  readonly writeLog: (line: string) => void
  /** Aborted by the first Ctrl-C or SIGTERM: pages in flight are finished. */
  readonly drain: AbortSignal
  /** About four times a second. */
  readonly onProgress?: (progress: ReparseProgress) => void
}

export interface ReparseProgress {
  readonly spider: string
  readonly report: ReparseReport
  /** Number of pages; null until they are counted. */
  readonly total: number | null
  readonly seconds: number
}

export interface ReparseSummary {
  readonly spider: string
  readonly dryRun: boolean
  readonly report: ReparseReport
  readonly seconds: number
  readonly interrupted: boolean
}

const PROGRESS_MS = 250
/** Pages per query: the store checks once for all of them whether there are newer ones. */
const PART = 1000
/** Pages per write; fewer if they are large, because each thread has two jobs in memory. */
const JOB_PAGES = 64
const JOB_BYTES = 4 * 1024 * 1024
/** A new thread needs a second of CPU to load the spider and warm up: it pays off if this much is left, judging by the pages so far. */
const MUCH_SECONDS = 10
/** Before that, the first thread is still warming up. */
const WARM_SECONDS = 3
/** Added to a handler's own timeout before its thread counts as stuck. */
const STUCK_SLACK_MS = 5_000

/** Runs the spider's routes over its saved raw pages. Nothing is fetched: there is no fetcher here. */
export async function reparse(options: ReparseOptions): Promise<ReparseSummary> {
  const clock = systemClock
  const { results, dryRun, drain } = options
  const startedAt = clock.now()
  const began = clock.mono()
  const seconds = () => (clock.mono() - began) / 1000
  const report = emptyReport()
  const start = (isFirst = false) =>
    startReparseThread({
      ...{ isFirst, results, clock, dryRun, startedAt, source: options.source, slackMs: STUCK_SLACK_MS },
      ...{ logLevel: options.logLevel, writeLog: options.writeLog, drain },
      onStray: (message) => noteStray(report, message),
    })
  const first = start(true)
  const spider = await loaded(first, drain)
  const loadedAt = seconds()
  const query = queryOf(spider, options, startedAt)
  const giveUp = new AbortController()
  const isOver = () => drain.aborted || giveUp.signal.aborted
  let total: number | null = null
  // If this fails, reading the pages fails too, and reports it.
  const count = (counted: KeptPageQuery) => results.store.pages.count(counted).then(setTotal, () => {})
  const setTotal = (counted: number): void => {
    total = counted
  }
  if (options.onProgress !== undefined) void count(query)
  // Counting all saved pages is faster than counting the newest, and nobody sees the number.
  else if (options.workers === null) void count({ ...query, newestOnly: false })
  const reporting = reportProgress(clock, giveUp.signal, () =>
    options.onProgress?.({ spider: spider.name, report, total, seconds: seconds() }),
  )
  const jobs = jobsOf(partsOf(results.store, query, clock, drain))
  const threads = new ReparseThreads({ jobs, report, isOver, start, clock })
  const isMuch = () => options.workers !== null || isMuchLeft(report.pages, total, seconds() - loadedAt)
  const size = { most: options.workers ?? availableParallelism(), isMuch }
  let finished: boolean
  try {
    finished = await threads.work(first, size, () => giveUp.abort())
  } finally {
    giveUp.abort()
    await reporting
  }
  if (report.pages === 0 && finished) throw nothingKept(spider, options)
  return { spider: spider.name, dryRun, report, seconds: seconds(), interrupted: !finished }
}

/** Whether more threads pay off: an estimate from the pages so far. */
export function isMuchLeft(pages: number, total: number | null, seconds: number): boolean {
  return total !== null && seconds > WARM_SECONDS && ((total - pages) * seconds) / pages > MUCH_SECONDS
}

/** Until a page is read there is nothing to finish. */
async function loaded(first: ReparseThread, drain: AbortSignal): Promise<LoadedSpider> {
  try {
    return await unlessDrained(first.ready, drain, 'a page was read')
  } catch (error) {
    await first.close()
    throw error
  }
}

function queryOf({ name }: LoadedSpider, { crawl, route, since }: ReparseOptions, startedAt: number): KeptPageQuery {
  return {
    spider: name,
    newestOnly: true,
    before: startedAt,
    ...(crawl === undefined ? {} : { crawl }),
    ...(route === undefined ? {} : { route }),
    ...(since === undefined ? {} : { since }),
  }
}

function nothingKept({ name, savePages }: LoadedSpider, { crawl, route, since }: ReparseOptions): ShoalError {
  const filtered = crawl !== undefined || route !== undefined || since !== undefined
  return new ShoalError('not_found', `spider ${name} has no saved raw pages${filtered ? ' that match' : ''}`, {
    hint: filtered
      ? 'Leave out --crawl, --route or --since.'
      : savePages
        ? 'Crawl first with `shoal run <spider>`, or name the right store with --store.'
        : 'Set `savePages: true` in the spider, then crawl: pages are saved as they are fetched.',
  })
}

async function reportProgress(clock: Clock, ended: AbortSignal, report: () => void): Promise<void> {
  while (!ended.aborted) {
    await clock.sleep(PROGRESS_MS, ended)
    report()
  }
}

/** The next part is already being read while one is processed. */
async function* partsOf(
  store: RecordStore,
  query: KeptPageQuery,
  clock: Clock,
  drain: AbortSignal,
): AsyncGenerator<readonly KeptPage[]> {
  const ask = (after: KeptPageCursor | null) => {
    const asked = whileAway(() => store.pages.part(query, after, PART), pauseUntil(drain, clock))
    asked.catch(() => {})
    return asked
  }
  let coming = ask(null)
  for (;;) {
    const { pages, next } = await coming
    if (next !== null) coming = ask(next)
    yield pages
    if (next === null) return
  }
}

async function* jobsOf(parts: AsyncIterable<readonly KeptPage[]>): AsyncGenerator<readonly KeptPage[]> {
  for await (const pages of parts) yield* cut(pages)
}

function* cut(pages: readonly KeptPage[]): Generator<readonly KeptPage[]> {
  let job: KeptPage[] = []
  let bytes = 0
  for (const page of pages) {
    job.push(page)
    bytes += page.bytes
    if (job.length < JOB_PAGES && bytes < JOB_BYTES) continue
    yield job
    job = []
    bytes = 0
  }
  if (job.length > 0) yield job
}
