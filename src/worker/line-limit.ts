import type { Clock } from '../clock.js'
import type { Log } from '../log.js'
import type { PageReporter } from './harvest-page.js'
import type { PageAbout } from './running-page.js'

/**
 * What the spiders of one worker may write to the log: as much at once as somebody wants to see who tries a spider, then so much a second. A handler in a
 * loop wrote 40 MB a second, which fills a disk within the hour; this is 9 GB a day at most.
 */
const LINES = { atOnce: 5_000, perSecond: 200 }
const CHARS = { atOnce: 1_000_000, perSecond: 100_000 }
const REPORT_MS = 1_000

/** Lines of spider code, over all pages of a worker. What is too much is dropped, and its number reported a second later. */
export class LineLimit {
  readonly #clock: Clock
  readonly #log: Pick<Log, 'spider'>
  #at: number
  /** How many may be written now. */
  #lines = LINES.atOnce
  #chars = CHARS.atOnce
  #dropped = 0
  #cancelReport = () => {}

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Pick<Log, 'spider'> }) {
    this.#clock = clock
    this.#log = log
    this.#at = clock.mono()
  }

  /** False: the line is dropped. */
  accepts({ length }: string): boolean {
    const now = this.#clock.mono()
    const seconds = (now - this.#at) / 1_000
    this.#at = now
    this.#lines = Math.min(LINES.atOnce, this.#lines + seconds * LINES.perSecond)
    this.#chars = Math.min(CHARS.atOnce, this.#chars + seconds * CHARS.perSecond)
    if (this.#lines >= 1 && this.#chars >= length) {
      this.#lines--
      this.#chars -= length
      return true
    }
    if (this.#dropped++ === 0) this.#cancelReport = this.#clock.after(REPORT_MS, () => this.report())
    return false
  }

  /** Also called when the worker ends. */
  report(): void {
    this.#cancelReport()
    const dropped = this.#dropped
    this.#dropped = 0
    if (dropped > 0)
      this.#log.spider('warn', 'spider.output', { dropped, message: droppedText(dropped, 'spider code logs too much') })
  }
}

/** Logs what a page logs. */
export function pageReporter(
  { fp, route, url }: PageAbout,
  { log, lines }: { readonly log: Pick<Log, 'spider'>; readonly lines?: LineLimit },
): PageReporter {
  return {
    line(message) {
      if (lines?.accepts(message) ?? true) log.spider('info', 'page.log', { fp, route, url, message })
    },
    dropped(lines) {
      log.spider('warn', 'page.log', {
        fp,
        route,
        url,
        dropped: lines,
        message: droppedText(lines, 'too many on one page'),
      })
    },
  }
}

function droppedText(lines: number, why: string): string {
  return `${lines} more ${lines === 1 ? 'line was' : 'lines were'} dropped: ${why}`
}
