import type { CheerioAPI } from 'cheerio'
import { ShoalError } from '../errors.js'
import { type DecodedText, decodeText } from '../fetch/charset.js'
import { mediaTypeOf } from '../fetch/media-type.js'
import { mayLoseDigits, parseLossless } from '../json/lossless.js'
import { textOf } from '../thrown.js'
import type { Json } from '../url/link.js'
import { loadPage } from './html/load-cheerio.js'
import { PageNotes } from './page-notes.js'
import { findPagination, type Pagination } from './pagination.js'

/** A fetched page as a handler sees it. Nothing is decoded or parsed before it is used. */
export interface Page<Data = unknown> {
  /** Where the body came from, after redirects. */
  readonly url: string
  /** The link that was leased, before redirects. */
  readonly requestedUrl: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly route: string
  readonly depth: number
  readonly attempt: number
  /** The data of the link. */
  readonly data: Data
  readonly body: Uint8Array
  /** The body as text; the charset comes from BOM, header or meta element, in the order of the WHATWG standard. */
  readonly text: string
  /** The encoding of the text, by its name in the WHATWG standard: `UTF-8`, `Shift_JIS`. Browsers encode the queries of its links in it. */
  readonly encoding: string
  /**
   * The body as JSON; if it is not, a handler_error that shows the position. Numbers are JavaScript numbers: integers over 2^53 − 1 are rounded.
   */
  readonly json: Json
  /** The same, with numbers that would lose digits as strings: for ids of 64 bits. Fields by path are read from it. */
  readonly losslessJson: Json
  /** jQuery-like API for the tree that a browser without scripts would build; it is built on first use. */
  readonly $: CheerioAPI
  /** What the page says about the other pages of its list: how many there are, the next one, and all that can be derived. */
  readonly pagination: Pagination
  /**
   * Writes a line to the log, with the page's route and URL: anything that console.log accepts. The first 100 lines of a page are kept.
   */
  readonly log: (...values: readonly unknown[]) => void
  /**
   * Counts something for the whole crawl: `page.count('sold out')`. A page that is tried again counts once. The sums are in the summary, in
   * `shoal status`, on the dashboard and in the metrics.
   */
  readonly count: (name: string, by?: number) => void
}

export type PageInput<Data = unknown> = Pick<
  Page<Data>,
  'url' | 'requestedUrl' | 'status' | 'headers' | 'body' | 'route' | 'depth' | 'attempt' | 'data'
> & {
  /** Receives each line of `page.log` at once. */
  readonly onLine?: ((line: string) => void) | undefined
}

export function createPage<Data>(input: PageInput<Data>): Page<Data> {
  return new FetchedPage(input)
}

/** What the spider's code logged and counted; null: nothing. */
export function notesOf(page: Page): PageNotes | null {
  return page instanceof FetchedPage ? page.notes : null
}

class FetchedPage<Data> implements Page<Data> {
  readonly url: string
  readonly requestedUrl: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly route: string
  readonly depth: number
  readonly attempt: number
  readonly data: Data
  readonly body: Uint8Array
  #decoded: DecodedText | undefined
  #json: Json | undefined
  #losslessJson: Json | undefined
  #$: CheerioAPI | undefined
  #pagination: Pagination | undefined
  readonly #onLine: ((line: string) => void) | undefined
  #notes: PageNotes | null = null

  constructor(input: PageInput<Data>) {
    this.url = input.url
    this.requestedUrl = input.requestedUrl
    this.status = input.status
    this.headers = input.headers
    this.route = input.route
    this.depth = input.depth
    this.attempt = input.attempt
    this.data = input.data
    this.body = input.body
    this.#onLine = input.onLine
  }

  get #content(): DecodedText {
    this.#decoded ??= decodeText(this)
    return this.#decoded
  }

  get text(): string {
    return this.#content.text
  }

  get encoding(): string {
    return this.#content.encoding
  }

  get json(): Json {
    this.#json ??= parseJson(JSON.parse, this.text, this.url)
    return this.#json
  }

  get losslessJson(): Json {
    this.#losslessJson ??= mayLoseDigits(this.text) ? parseJson(parseLossless, this.text, this.url) : this.json
    return this.#losslessJson
  }

  get $(): CheerioAPI {
    this.#$ ??= loadPage(this.text, mediaTypeOf(this), this.url)
    return this.#$
  }

  get pagination(): Pagination {
    this.#pagination ??= findPagination(this.$, this)
    return this.#pagination
  }

  /** A function of its own, so that a handler can take it out of the page: `({ $, log }) => …`. */
  get log(): Page['log'] {
    this.#notes ??= new PageNotes(this.#onLine)
    return this.#notes.log
  }

  get count(): Page['count'] {
    this.#notes ??= new PageNotes(this.#onLine)
    return this.#notes.count
  }

  get notes(): PageNotes | null {
    return this.#notes
  }
}

function parseJson(parse: (text: string) => Json, text: string, url: string): Json {
  try {
    return parse(text)
  } catch (cause) {
    throw new ShoalError('handler_error', `the body of ${url} is not JSON: ${textOf(cause)}`, { cause })
  }
}
