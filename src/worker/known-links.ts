import type { CrawlId } from '../frontier/frontier.js'
import { FILTER_REASONS, type FilteredLinks, type FilterReason } from '../url/filter-reasons.js'

/** Links remembered before the table is cleared: 9 bytes each, and at most half of the places taken. */
const CAPACITY = 1 << 18
const PLACES = CAPACITY * 2

/**
 * Links that need not be sent to the queue, because it has them or a filter rejects them: nearly all of the forty links of a page. They are
 * identified by a 64-bit hash of the href as written on the page and of what it is relative to, so that a known link costs a fifth of a
 * microsecond: no URL is parsed, nothing is fingerprinted, nothing is allocated. In a crawl of 60,000 pages with 42 links each, a map of
 * decisions and a set of fingerprints took 440 µs a page; this table takes 190.
 *
 * A link that is not here may still be in the queue, but one that is here must be: it is remembered only after the queue has accepted it. Two
 * hrefs with the same hash would lose a link: with a quarter of a million of them, the chance is one in seventy trillion for each new link.
 */
export class KnownLinks {
  /** Reasons of which the queue has an example. */
  readonly #shown = new Set<FilterReason>()
  #crawl: CrawlId | null = null
  #gen = 0
  #doubts = 0
  #high = new Uint32Array(PLACES)
  #low = new Uint32Array(PLACES)
  /** What the filter did to the link, as `LearntLink.filtered`. */
  #filtered = new Uint8Array(PLACES)
  #count = 0
  #epoch = 0

  /** Forgets everything for another crawl, or a queue that may have been restored. Returns a number for what is learnt from then on. */
  serve(crawl: CrawlId, gen: number, doubts = 0): number {
    if (this.#crawl !== crawl || this.#gen !== gen || this.#doubts !== doubts) {
      this.#crawl = crawl
      this.#gen = gen
      this.#doubts = doubts
      this.forget()
    }
    return this.#epoch
  }

  /** What the filter did to the link, as `LearntLink.filtered`; UNKNOWN if it is not known. */
  find(link: LinkHash): number {
    const { high, low } = link
    for (let place = low & (PLACES - 1); ; place = (place + 1) & (PLACES - 1)) {
      const there = this.#low[place]
      if (there === 0 && this.#high[place] === 0) return UNKNOWN
      if (there === low && this.#high[place] === high) return this.#filtered[place] ?? 0
    }
  }

  /** The queue has an example of what the filter does for this reason. */
  hasExample(reason: FilterReason): boolean {
    return this.#shown.has(reason)
  }

  /** Links that the queue accepted or a filter rejected. Ignored when they were learnt under another number of `serve`. */
  add({ epoch, hashes, filtered }: Learnt): void {
    if (epoch !== this.#epoch) return
    for (const { reason, example } of filtered) if (example !== null) this.#shown.add(reason)
    for (const link of hashes) {
      if (this.find(link) !== UNKNOWN) continue
      if (this.#count >= CAPACITY) this.#clear()
      let place = link.low & (PLACES - 1)
      while (this.#low[place] !== 0 || this.#high[place] !== 0) place = (place + 1) & (PLACES - 1)
      this.#low[place] = link.low
      this.#high[place] = link.high
      this.#filtered[place] = link.filtered
      this.#count++
    }
  }

  forget(): void {
    this.#epoch++
    this.#shown.clear()
    this.#clear()
  }

  #clear(): void {
    this.#low.fill(0)
    this.#high.fill(0)
    this.#count = 0
  }
}

/** What was learnt from one page, under which number of `serve`. */
export interface Learnt {
  readonly epoch: number
  readonly hashes: LearntLink[]
  readonly filtered: readonly FilteredLinks[]
}

export const UNKNOWN = -1

/** The 64 bits as two unsigned halves, never both 0. */
export interface LinkHash {
  high: number
  low: number
}

export interface LearntLink extends LinkHash {
  /** What the filter did to it: 0 for nothing, else 1 + the index in FILTER_REASONS. */
  filtered: number
}

/** `LearntLink.filtered` of a reason. */
export function codeOf(reason: FilterReason | null): number {
  return reason === null ? 0 : FILTER_REASONS.indexOf(reason) + 1
}

const SLASH = 47
const HASH = 35
const QUESTION = 63

/**
 * Hashes the hrefs of one page. Root-relative ones depend on the origin alone and are the same on every page of the site, relative ones on
 * the folder, a bare query on the path.
 */
export class HrefHasher {
  readonly #page: string
  readonly #origin: LinkHash
  #folder: LinkHash | null = null

  constructor(page: string) {
    this.#page = page
    const path = page.indexOf('/', page.indexOf('//') + 2)
    this.#origin = hashText(START, page, 0, path < 0 ? page.length : path)
  }

  /** Into `out`, which the next call overwrites. `route` is part of it: one route may reject a URL that another accepts. */
  hash(href: string, route: string | undefined, out: LinkHash): LinkHash {
    const first = href.charCodeAt(0)
    const start = first === SLASH && href.charCodeAt(1) !== SLASH ? this.#origin : this.#relative(first, href)
    const fragment = href.indexOf('#')
    hashInto(start, href, 0, fragment < 0 ? href.length : fragment, out)
    if (route !== undefined) {
      out.high = Math.imul(out.high ^ HASH, PRIME_HIGH)
      hashInto(out, route, 0, route.length, out)
    }
    return finish(out)
  }

  #relative(first: number, href: string): LinkHash {
    if (first === HASH || first === QUESTION || Number.isNaN(first))
      return hashText(START, this.#page, 0, this.#page.length)
    if (href.startsWith('http://') || href.startsWith('https://')) return START
    this.#folder ??= hashText(START, this.#page, 0, folderEnd(this.#page))
    return this.#folder
  }
}

/** One past the last slash of the path. */
function folderEnd(page: string): number {
  const query = page.search(/[?#]/)
  return page.lastIndexOf('/', query < 0 ? page.length : query) + 1
}

/** Two multiplications for each pair of characters, with different primes: two FNV-like hashes, independent enough of each other. */
const PRIME_HIGH = 0x01000193
const PRIME_LOW = 0x85ebca6b
const START: LinkHash = { high: 0x811c9dc5 | 0, low: 0x9747b28c | 0 }

function hashText(start: LinkHash, text: string, from: number, to: number): LinkHash {
  const out = { high: 0, low: 0 }
  hashInto(start, text, from, to, out)
  return out
}

function hashInto(start: LinkHash, text: string, from: number, to: number, out: LinkHash): void {
  let { high, low } = start
  let index = from
  // Two characters at a time: half the multiplications.
  for (; index + 1 < to; index += 2) {
    const pair = text.charCodeAt(index) | (text.charCodeAt(index + 1) << 16)
    high = Math.imul(high ^ pair, PRIME_HIGH)
    low = Math.imul(low ^ pair, PRIME_LOW)
    high ^= high >>> 13
    low ^= low >>> 15
  }
  if (index < to) {
    // Different from a pair that ends in NUL.
    const last = text.charCodeAt(index) | 0x7fff0000
    high = Math.imul(high ^ last, PRIME_HIGH)
    low = Math.imul(low ^ last, PRIME_LOW)
  }
  out.high = high
  out.low = low
}

/** Mixes the halves, so that the last characters affect all bits. */
function finish(out: LinkHash): LinkHash {
  let { high, low } = out
  high ^= low >>> 16
  high = Math.imul(high, 0xc2b2ae35)
  high ^= high >>> 13
  low ^= high >>> 11
  low = Math.imul(low, 0x27d4eb2f)
  low ^= low >>> 15
  out.high = high >>> 0
  out.low = low >>> 0
  if (out.high === 0 && out.low === 0) out.low = 1
  return out
}
