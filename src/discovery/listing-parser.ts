import { SaxesParser, type SaxesTag } from 'saxes'
import { ShoalError } from '../errors.js'
import { readTime } from '../spider/convert/dates.js'
import { parseUrl } from '../url/parse-url.js'

/** A page, or another file that lists pages. */
export interface Listed {
  readonly kind: 'page' | 'file'
  readonly url: string
  /** Wall clock; null when the file does not say, or the value is not a time. */
  readonly modifiedAt: number | null
}

/** A file that lists URLs, read piece by piece: a sitemap, a sitemap index, RSS, Atom, or plain text with one URL per line. */
export interface ListingParser {
  /** The entries that this piece completes. */
  write(text: string): Listed[]
  end(): Listed[]
}

/** A text, tag or comment longer than this is not part of a list of URLs, and would have to be kept in memory as a whole. */
const MAX_TOKEN_CHARS = 1024 * 1024
const MAX_TEXT_CHARS = 16 * 1024
const MAX_NESTING = 64

/** `base` resolves the relative URLs of a feed. */
export function createListingParser(base: string): ListingParser {
  let parser: ListingParser | null = null
  return {
    write(text) {
      if (parser === null) {
        const start = text.trimStart()
        if (start === '') return []
        if (/^<(!doctype html|html)\b/i.test(start)) throw notAListing('it is an HTML page')
        parser = start.startsWith('<') ? xmlParser(base) : textParser()
        return parser.write(start)
      }
      return parser.write(text)
    },
    end: () => parser?.end() ?? [],
  }
}

function textParser(): ListingParser {
  let half = ''
  const listed = (line: string): Listed[] => {
    const url = line.trim()
    return url === '' || url.startsWith('#') ? [] : [{ kind: 'page', url, modifiedAt: null }]
  }
  return {
    write(text) {
      const lines = (half + text).split(/[\r\n]+/)
      half = lines.pop() ?? ''
      if (half.length > MAX_TEXT_CHARS) throw notAListing('a line has no end')
      return lines.flatMap(listed)
    },
    end: () => listed(half),
  }
}

type Entry = { url: string; alternative: string; modified: string }

const ROOTS = new Set(['urlset', 'sitemapindex', 'rss', 'rdf', 'feed'])
const ENTRIES = new Map<string, Listed['kind']>([
  ['url', 'page'],
  ['sitemap', 'file'],
  ['item', 'page'],
  ['entry', 'page'],
])
const URL_TEXTS = new Set(['loc', 'link'])
const TIME_TEXTS = new Set(['lastmod', 'updated', 'published', 'pubdate', 'date'])

/** An Error with its stack for each character that is wrong took 4 µs: minutes for a file of nothing else. */
class TolerantParser extends SaxesParser {
  override fail(): this {
    return this
  }
}

/**
 * The parser does not know declared entities, so nothing can expand. What is not well-formed is skipped: a sitemap with a bare & is still a
 * sitemap.
 */
function xmlParser(base: string): ListingParser {
  const sax = new TolerantParser({ position: false })
  const path: string[] = []
  let found: Listed[] = []
  let entry: Entry | null = null
  let entryDepth = 0
  let text: string | null = null
  let sinceEvent = 0
  let rooted = false
  let held = ''

  const open = (tag: SaxesTag) => {
    sinceEvent = 0
    const name = localName(tag.name)
    if (path.length === 0 && !ROOTS.has(name)) throw notAListing(`its first element is <${tag.name.slice(0, 40)}>`)
    rooted = true
    if (path.push(name) > MAX_NESTING) throw notAListing('its elements are nested too deep')
    if (entry === null) {
      if (ENTRIES.has(name)) {
        entry = { url: '', alternative: '', modified: '' }
        entryDepth = path.length
      }
      return
    }
    if (path.length !== entryDepth + 1) return
    if (name === 'link' && tag.attributes.href !== undefined) {
      const { rel = 'alternate', href } = tag.attributes
      if (rel === 'alternate' && entry.alternative === '') entry.alternative = String(href).slice(0, MAX_TEXT_CHARS)
    } else if (URL_TEXTS.has(name) || TIME_TEXTS.has(name)) text = ''
    else if (name === 'guid' && String(tag.attributes.isPermaLink) !== 'false') text = ''
  }

  const take = (piece: string) => {
    sinceEvent = 0
    if (text !== null && text.length < MAX_TEXT_CHARS) text += piece
  }

  const close = () => {
    sinceEvent = 0
    const name = path.pop() ?? ''
    if (entry === null) return
    if (text !== null && path.length === entryDepth) {
      const value = text.trim()
      text = null
      if (URL_TEXTS.has(name)) entry.url ||= value
      else if (name === 'guid') entry.alternative ||= value
      else entry.modified ||= value
      return
    }
    if (path.length >= entryDepth) return
    const url = entry.url || entry.alternative
    const kind = ENTRIES.get(name) ?? 'page'
    const absolute = ABSOLUTE.test(url) ? url : (parseUrl(url, base)?.href ?? url)
    if (url !== '') found.push({ kind, url: absolute, modifiedAt: timeOf(entry.modified) })
    entry = null
  }

  sax.on('opentag', open)
  sax.on('text', take)
  sax.on('cdata', (piece) => take(piece.replaceAll('&amp;', '&')))
  sax.on('closetag', close)
  const given = (): Listed[] => {
    const all = found
    found = []
    return all
  }
  return {
    write(piece) {
      sinceEvent += piece.length
      // An entity that starts at the end of a piece waits for the rest.
      const whole = held + piece
      const cut = whole.lastIndexOf('&')
      const keeps = cut !== -1 && whole.length - cut <= MAX_ENTITY_CHARS && !whole.includes(';', cut)
      held = keeps ? whole.slice(cut) : ''
      sax.write(escaped(keeps ? whole.slice(0, cut) : whole))
      if (sinceEvent > MAX_TOKEN_CHARS) throw notAListing('a text has no end')
      return given()
    },
    end() {
      sax.write(escaped(held))
      sax.close()
      if (!rooted) throw notAListing('it has no element')
      return given()
    },
  }
}

const MAX_ENTITY_CHARS = 10
const BARE_AMPERSAND = /&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[\da-f]{1,6});)/gi

/** The parser reads from a bare & to the next semicolon, however far that is. */
function escaped(text: string): string {
  return text.includes('&') ? text.replace(BARE_AMPERSAND, '&amp;') : text
}

const ABSOLUTE = /^https?:\/\//i

/** `sm:loc` is a loc; `image:loc` is one level deeper and is ignored. */
function localName(name: string): string {
  const colon = name.indexOf(':')
  return (colon === -1 ? name : name.slice(colon + 1)).toLowerCase()
}

/**
 * In the formats of sitemaps (2026-11-15, with or without a time) and feeds (Sun, 15 Nov 2026 10:00:00 GMT). Date.parse would make a day of 2001 of
 * 'Chapter 5', and `since` would then leave the page out.
 */
function timeOf(text: string): number | null {
  return text === '' || text.length > 64 ? null : readTime(text)
}

function notAListing(why: string): ShoalError {
  return new ShoalError('bad_listing', `neither a sitemap nor a feed: ${why}`)
}
