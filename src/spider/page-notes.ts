import { formatWithOptions } from 'node:util'
import { ShoalError } from '../errors.js'
import { countName, type NamedCount, OTHER_COUNTS } from '../frontier/counts.js'
import { textOf } from '../thrown.js'
import { shown } from '../units.js'

/** What the code of a spider says about its page: lines of `page.log`, numbers of `page.count`. Created by the first of them. */

/** A handler that logs in a loop must not fill the disk. */
export const LINES_PER_PAGE = 100
/** A line longer than this is data: a page that somebody wanted to see. */
export const MAX_LINE = 4_000
/** Of one text in it, so that its length is still shown. */
const MAX_TEXT = MAX_LINE - 40
/** More names than this on one page are URLs or ids, which no table can show. */
const NAMES_PER_PAGE = 100
/** Of one name. */
const MOST_ON_A_PAGE = 1_000_000_000

/** How objects are shown. Without limits, one that refers to the whole page would take seconds. */
const SHOWN = { depth: 3, maxArrayLength: 50, maxStringLength: 1_000, breakLength: 120 }

export class PageNotes {
  readonly lines: string[] = []
  /** Lines that were not kept, because there were too many. */
  dropped = 0
  readonly #onLine: ((line: string) => void) | undefined
  #counts: Map<string, number> | null = null
  #ended = false

  /** `onLine` receives each line at once: the page may never end. */
  constructor(onLine: ((line: string) => void) | undefined) {
    this.#onLine = onLine
  }

  readonly log = (...values: readonly unknown[]): void => {
    if (this.lines.length >= LINES_PER_PAGE) {
      this.dropped++
      return
    }
    const line = lineOf(values)
    this.lines.push(line)
    this.#onLine?.(line)
  }

  readonly count = (name: unknown, by: unknown = 1): void => {
    if (this.#ended) throw misuse('was used after the handler had ended: await what the handler starts')
    if (typeof name !== 'string') throw misuse(`the name must be a string, not ${shown(name)}`)
    if (typeof by !== 'number' || !Number.isInteger(by) || by < 0 || by > MOST_ON_A_PAGE)
      throw misuse(`the number must be a whole number from 0 to ${MOST_ON_A_PAGE}, not ${shown(by)}`)
    this.#counts ??= new Map()
    const fit = countName(name)
    const counted = this.#counts.has(fit) || this.#counts.size < NAMES_PER_PAGE ? fit : OTHER_COUNTS
    this.#counts.set(counted, Math.min(MOST_ON_A_PAGE, (this.#counts.get(counted) ?? 0) + by))
  }

  /** No count is accepted after this: it would be missing from the crawl. */
  end(): readonly NamedCount[] {
    this.#ended = true
    return this.#counts === null ? [] : Array.from(this.#counts, ([name, count]) => ({ name, count }))
  }
}

/** As console.log would print it, but short. It never throws: what is logged may be a revoked proxy, or have an `inspect` that fails. */
export function lineOf(values: readonly unknown[]): string {
  try {
    const short = values.map((value) => (typeof value === 'string' ? cut(value, MAX_TEXT) : value))
    return cut(formatWithOptions(SHOWN, ...short), MAX_LINE)
  } catch {
    return cut(values.map(textOf).join(' '), MAX_LINE)
  }
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}… (${text.length} characters)`
}

function misuse(what: string): ShoalError {
  return new ShoalError('handler_error', `page.count: ${what}`)
}
