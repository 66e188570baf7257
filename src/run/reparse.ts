import { type Clock, systemClock } from '../clock.js'
import { ShoalError } from '../errors.js'
import type { CrawlId } from '../frontier/frontier.js'
import { type LogLevel, silentLog } from '../log.js'
import type { Spider } from '../spider/spider.js'
import type { KeptPage, KeptPageCursor, KeptPageQuery } from '../store/kept-pages.js'
import type { RecordStore } from '../store/record-store.js'
import type { StorePart } from '../wire.js'
import { type JobEnd, type ReparseThread, startReparseThread } from './reparse-crew.js'
import { addReport, emptyReport, noteFailure, noteStray, type ReparseReport } from './reparse-report.js'
import type { ReparseJob } from './reparse-thread-messages.js'
import { type SpiderSource, spiderFrom } from './spider-source.js'
import { untilBack } from './until-back.js'

export interface ReparseOptions {
  readonly source: SpiderSource
  readonly results: StorePart
  readonly crawl?: CrawlId
  /** Only pages that were read for this route. */
  readonly route?: string
  /** Only pages that were read since. */
  readonly since?: number
  readonly dryRun: boolean
  /** Threads. */
  readonly workers: number
  readonly logLevel: LogLevel
  readonly writeLog: (line: string) => void
  /** Aborted by the first Ctrl-C or SIGTERM: pages in hand are finished. */
  readonly drain: AbortSignal
  readonly onStart?: (spider: string) => void
  /** About four times a second. */
  readonly onProgress?: (progress: ReparseProgress) => void
}

export interface ReparseProgress {
  readonly spider: string
  readonly report: ReparseReport
  /** Pages there are; null while they are counted. */
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
/** Pages asked for at a time: the store looks once for all of them whether there are newer ones. */
const PART = 1000
/** Pages of one write. Fewer if they are large: two jobs of each thread are in memory. */
const JOB_PAGES = 64
const JOB_BYTES = 4 * 1024 * 1024
/** While one is written the other is read. */
const JOBS_OF_A_THREAD = 2
/** Beyond a handler's own deadline before its thread counts as stuck. */
const STUCK_SLACK_MS = 5_000
/** Jobs whose thread died and no page could be blamed. */
const MOST_DEATHS = 3

/** Runs the spider's routes over the raw pages that were kept. Nothing is fetched: there is nothing here that could. */
export async function reparse(options: ReparseOptions): Promise<ReparseSummary> {
  const clock = systemClock
  const { results, dryRun, drain } = options
  const spider = await spiderFrom(options.source)
  const startedAt = clock.now()
  const began = clock.mono()
  const query = queryOf(spider, options, startedAt)
  options.onStart?.(spider.name)
  const report = emptyReport()
  const giveUp = new AbortController()
  const isOver = () => drain.aborted || giveUp.signal.aborted
  let total: number | null = null
  if (options.onProgress !== undefined) {
    // What goes wrong here, whoever reads the pages hears as well.
    results.store.countKeptPages(query).then(
      (count) => {
        total = count
      },
      () => {},
    )
  }
  const seconds = () => (clock.mono() - began) / 1000
  const telling = tellProgress(clock, giveUp.signal, () =>
    options.onProgress?.({ spider: spider.name, report, total, seconds: seconds() }),
  )
  const crew = new Crew(jobsOf(partsOf(results.store, query, clock, drain)), report, isOver, () =>
    startReparseThread({
      ...{ results, clock, dryRun, startedAt, source: options.source, stuckMs: stuckMs(spider) },
      ...{ logLevel: options.logLevel, writeLog: options.writeLog, drain },
      onStray: (message) => noteStray(report, message),
    }),
  )
  let finished: boolean
  try {
    finished = await crew.work(options.workers, () => giveUp.abort())
  } finally {
    giveUp.abort()
    await telling
  }
  if (report.pages === 0 && finished) throw nothingKept(spider, options)
  return { spider: spider.name, dryRun, report, seconds: seconds(), interrupted: !finished }
}

function queryOf({ name }: Spider, { crawl, route, since }: ReparseOptions, startedAt: number): KeptPageQuery {
  return {
    spider: name,
    newestOnly: true,
    before: startedAt,
    ...(crawl === undefined ? {} : { crawl }),
    ...(route === undefined ? {} : { route }),
    ...(since === undefined ? {} : { since }),
  }
}

function nothingKept({ name, savePages }: Spider, { crawl, route, since }: ReparseOptions): ShoalError {
  const filtered = crawl !== undefined || route !== undefined || since !== undefined
  return new ShoalError('not_found', `no raw page of the spider ${name} was kept${filtered ? ' that fits' : ''}`, {
    hint: filtered
      ? 'Leave out --crawl, --route or --since.'
      : savePages
        ? 'Crawl first: `shoal run <spider>`; and name its store with --store.'
        : 'Pages are kept as they are fetched, by a spider with `savePages: true`.',
  })
}

function stuckMs({ routes }: Spider): number {
  return Math.max(0, ...[...routes.values()].map((route) => route.handlerTimeoutMs)) + STUCK_SLACK_MS
}

async function tellProgress(clock: Clock, ended: AbortSignal, tell: () => void): Promise<void> {
  while (!ended.aborted) {
    await clock.sleep(PROGRESS_MS, ended)
    tell()
  }
}

/** The next part is on its way while one is handed out. */
async function* partsOf(
  store: RecordStore,
  query: KeptPageQuery,
  clock: Clock,
  drain: AbortSignal,
): AsyncGenerator<readonly KeptPage[]> {
  const ask = (after: KeptPageCursor | null) => {
    const asked = untilBack(() => store.keptPages(query, after, PART), clock, drain, silentLog, 'store')
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

/** Threads that share the jobs. One that dies is replaced, and what it had in hand is done again without the page it died of. */
class Crew {
  readonly #jobs: AsyncGenerator<readonly KeptPage[]>
  readonly #report: ReparseReport
  readonly #isOver: () => boolean
  readonly #start: () => ReparseThread
  readonly #again: (readonly KeptPage[])[] = []
  #nextId = 1
  #deaths = 0
  #allTaken = false

  constructor(
    jobs: AsyncGenerator<readonly KeptPage[]>,
    report: ReparseReport,
    isOver: () => boolean,
    start: () => ReparseThread,
  ) {
    this.#jobs = jobs
    this.#report = report
    this.#isOver = isOver
    this.#start = start
  }

  /** True when there was nothing left. Rejects with the first failure of a thread, of which the others hear by `giveUp`. */
  async work(threads: number, giveUp: () => void): Promise<boolean> {
    // A thread for each of the first jobs only: a few pages do not need every core.
    const members: Promise<void>[] = []
    let failed: unknown = null
    for (let n = 0; n < threads; n++) {
      const first = await this.#take()
      if (first === null) break
      members.push(
        this.#serve(first).catch((error: unknown) => {
          failed ??= error
          giveUp()
        }),
      )
    }
    await Promise.all(members)
    if (failed !== null) throw failed
    return this.#allTaken && this.#again.length === 0
  }

  async #serve(first: readonly KeptPage[]): Promise<void> {
    let begin: readonly KeptPage[] | null = first
    while (begin !== null) {
      const thread = this.#start()
      try {
        const firsts: (readonly KeptPage[] | null)[] = [begin]
        await Promise.all(Array.from({ length: JOBS_OF_A_THREAD }, () => this.#goOn(thread, firsts.shift() ?? null)))
      } finally {
        await thread.close()
      }
      begin = this.#isOver() ? null : (this.#again.shift() ?? null)
    }
  }

  async #goOn(thread: ReparseThread, first: readonly KeptPage[] | null): Promise<void> {
    for (let pages = first ?? (await this.#take()); pages !== null; pages = await this.#take()) {
      const job: ReparseJob = { id: this.#nextId++, pages }
      const end = await thread.reparse(job)
      if (end.kind === 'died') return this.#putBack(pages, end)
      addReport(this.#report, end.report)
      if (end.report.pages < pages.length) this.#again.push(pages.slice(end.report.pages))
    }
  }

  #putBack(pages: readonly KeptPage[], { code, message, page, blamed }: Extract<JobEnd, { kind: 'died' }>): void {
    const guilty = page === null ? undefined : pages[page]
    if (guilty !== undefined) {
      this.#report.pages += 1
      noteFailure(this.#report, { code, message, url: guilty.link?.url ?? guilty.url })
    } else if (!blamed && ++this.#deaths > MOST_DEATHS)
      throw new ShoalError('poison', `threads of the reparse died again and again: ${message}`)
    const rest = pages.filter((_, index) => index !== page)
    if (rest.length > 0) this.#again.push(rest)
  }

  async #take(): Promise<readonly KeptPage[] | null> {
    if (this.#isOver()) return null
    const again = this.#again.shift()
    if (again !== undefined) return again
    const { done, value } = await this.#jobs.next()
    if (done !== true) return value
    this.#allTaken = true
    return null
  }
}
