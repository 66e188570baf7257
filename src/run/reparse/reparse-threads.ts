import type { Clock } from '../../clock.js'
import { ShoalError } from '../../errors.js'
import type { KeptPage } from '../../store/kept-pages.js'
import { addReport, noteFailure, type ReparseReport } from './reparse-report.js'
import type { ReparseJob } from './reparse-thread-messages.js'
import type { JobEnd, ReparseThread } from './start-reparse-thread.js'

/** While one job is written, the other is read. */
const JOBS_OF_A_THREAD = 2
/** Deaths of threads for which no page can be blamed. */
const MOST_DEATHS = 3

export interface ThreadCount {
  readonly most: number
  /** Whether there is enough left for more threads to join the first; checked every second. */
  readonly isMuch: () => boolean
}

const CHECK_MS = 1_000

interface ReparseParts {
  readonly jobs: AsyncGenerator<readonly KeptPage[]>
  readonly report: ReparseReport
  readonly isOver: () => boolean
  readonly start: () => ReparseThread
  readonly clock: Clock
}

/** Threads that share the jobs. One that dies is replaced, and its jobs are repeated without the page that killed it. */
export class ReparseThreads {
  readonly #parts: ReparseParts
  readonly #again: (readonly KeptPage[])[] = []
  #nextId = 1
  #deaths = 0
  #allTaken = false

  constructor(parts: ReparseParts) {
    this.#parts = parts
  }

  /**
   * `first` is already running; others join it. True when nothing was left to do. Rejects with the first failure, after `giveUp` has stopped the
   * threads.
   */
  async work(first: ReparseThread, { most, isMuch }: ThreadCount, giveUp: () => void): Promise<boolean> {
    const failures: unknown[] = []
    const fail = (error: unknown): void => {
      failures.push(error)
      giveUp()
    }
    const members: Promise<void>[] = []
    const oneEnded = new AbortController()
    const join = async (thread: ReparseThread | null): Promise<void> => {
      const pages = await this.#take()
      if (pages === null) return oneEnded.abort()
      const serving = this.#serve(thread ?? this.#parts.start(), pages).catch(fail)
      members.push(serving.finally(() => oneEnded.abort()))
    }
    try {
      await join(first)
      while (!isMuch() && !oneEnded.signal.aborted) await this.#parts.clock.sleep(CHECK_MS, oneEnded.signal)
      while (members.length < most && !oneEnded.signal.aborted) await join(null)
    } catch (error) {
      fail(error)
    }
    if (members.length === 0) await first.close()
    await Promise.all(members)
    if (failures.length > 0) throw failures[0]
    return this.#allTaken && this.#again.length === 0
  }

  async #serve(first: ReparseThread, pages: readonly KeptPage[]): Promise<void> {
    await this.#lead(first, pages)
    for (let left = this.#leftOver(); left !== null; left = this.#leftOver())
      await this.#lead(this.#parts.start(), left)
  }

  /** Until nothing is left, or the thread has died. */
  async #lead(thread: ReparseThread, pages: readonly KeptPage[]): Promise<void> {
    const firsts: (readonly KeptPage[] | null)[] = [pages]
    try {
      await Promise.all(Array.from({ length: JOBS_OF_A_THREAD }, () => this.#work(thread, firsts.shift() ?? null)))
    } finally {
      await thread.close()
    }
  }

  async #work(thread: ReparseThread, first: readonly KeptPage[] | null): Promise<void> {
    for (let pages = first ?? (await this.#take()); pages !== null; pages = await this.#take()) {
      const job: ReparseJob = { id: this.#nextId++, pages }
      const end = await thread.reparse(job)
      if (end.kind === 'died') return this.#putBack(pages, end)
      addReport(this.#parts.report, end.report)
      if (end.report.pages < pages.length) this.#again.push(pages.slice(end.report.pages))
    }
  }

  #putBack(pages: readonly KeptPage[], { code, message, page, blamed }: Extract<JobEnd, { kind: 'died' }>): void {
    const guilty = page === null ? undefined : pages[page]
    if (guilty !== undefined) {
      this.#parts.report.pages += 1
      noteFailure(this.#parts.report, { code, message, url: guilty.link?.url ?? guilty.url })
    } else if (!blamed && ++this.#deaths > MOST_DEATHS)
      throw new ShoalError('poison', `reparse threads keep dying: ${message}`)
    const rest = pages.filter((_, index) => index !== page)
    if (rest.length > 0) this.#again.push(rest)
  }

  #leftOver(): readonly KeptPage[] | null {
    return this.#parts.isOver() ? null : (this.#again.shift() ?? null)
  }

  async #take(): Promise<readonly KeptPage[] | null> {
    const left = this.#leftOver()
    if (left !== null || this.#parts.isOver()) return left
    const { done, value } = await this.#parts.jobs.next()
    if (done !== true) return value
    this.#allTaken = true
    return null
  }
}
