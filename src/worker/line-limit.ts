import type { Clock } from '../clock.js'
import type { Log } from '../log.js'
import type { Link } from '../url/link.js'
import type { PageReporter } from './harvest-page.js'

/** What the spiders of one worker may write to the log in a second. A handler in a loop wrote 40 MB a second, which fills a disk within the hour. */
const LINES_PER_SECOND = 200
const CHARS_PER_SECOND = 100_000
const SECOND_MS = 1_000

/** Lines of spider code, over all pages of a worker. What is too much is dropped, and its number reported a second later. */
export class LineLimit {
  readonly #clock: Clock
  readonly #log: Log
  #since = Number.NEGATIVE_INFINITY
  #lines = 0
  #chars = 0
  #dropped = 0
  #cancelReport = () => {}

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
    this.#clock = clock
    this.#log = log
  }

  /** False: the line is dropped. */
  accepts({ length }: string): boolean {
    const now = this.#clock.mono()
    if (now - this.#since >= SECOND_MS) {
      this.#since = now
      this.#lines = 0
      this.#chars = 0
    }
    this.#lines++
    this.#chars += length
    if (this.#lines <= LINES_PER_SECOND && this.#chars <= CHARS_PER_SECOND) return true
    if (this.#dropped++ === 0) this.#cancelReport = this.#clock.after(SECOND_MS, () => this.report())
    return false
  }

  /** Also called when the worker ends. */
  report(): void {
    this.#cancelReport()
    const dropped = this.#dropped
    this.#dropped = 0
    if (dropped > 0) this.#log.spider('warn', 'spider.output', { dropped, message: droppedText(dropped, 'second') })
  }
}

/** Logs what a page logs. */
export function pageReporter(
  { fp, url, route }: Pick<Link, 'fp' | 'url' | 'route'>,
  { log, lines }: { readonly log: Log; readonly lines?: LineLimit },
): PageReporter {
  return {
    line(message) {
      if (lines?.accepts(message) ?? true) log.spider('info', 'page.log', { fp, route, url, message })
    },
    dropped(lines) {
      log.spider('warn', 'page.log', { fp, route, url, dropped: lines, message: droppedText(lines, 'page') })
    },
  }
}

function droppedText(lines: number, per: 'page' | 'second'): string {
  return `${lines} more ${lines === 1 ? 'line was' : 'lines were'} dropped: too many in one ${per}`
}
