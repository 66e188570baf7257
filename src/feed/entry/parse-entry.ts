import { isDeeperThan, isTextDeeperThan, MAX_JSON_DEPTH } from '../../json/depth.js'
import { parseLossless } from '../../json/lossless.js'
import { textOf } from '../../thrown.js'
import { MAX_ENTRY_BYTES } from '../feed.js'
import { openEnvelope } from './envelopes.js'
import { type EntryNote, entryOf, type FedUrl, type Fields, isObject, type ParsedEntry, WEB_URL } from './fed-url.js'
import { nameGarbage } from './name-garbage.js'
import { type HasRoute, readFields } from './read-fields.js'

/** One entry with more URLs than this would hold up all others: they belong in entries of their own. */
const MAX_URLS = 1_000
/** What an entry says about its URLs is stored with each of them. */
const MAX_REPEATED = 4 * 1024 * 1024
/** An entry that cannot be stored would block the feed: 6,000 nested arrays did, whatever came after them. */
const TOO_DEEP = `it is nested more than ${MAX_JSON_DEPTH} levels deep`

/**
 * An entry as other programs push it: a URL, several lines of them, or JSON with `url` and any further keys, also inside the message of a task queue. Only what
 * has no URL is refused. Never throws.
 */
export function parseEntry(text: string, hasRoute: HasRoute, bytes = text.length): ParsedEntry {
  if (bytes > MAX_ENTRY_BYTES) return refuse(text, `its ${bytes} bytes are more than ${MAX_ENTRY_BYTES}`)
  const trimmed = text.trim()
  if (trimmed === '') return refuse(text, 'it is empty')
  if (!/^[{["]/.test(trimmed)) return parsePlain(trimmed, text, hasRoute)
  const read = readJson(trimmed)
  if ('value' in read) return parseJson(read.value, text, hasRoute)
  const lines = linesIn(trimmed)
  if (lines.length > 1 && lines.some(isJson)) return parseLines(lines, text, hasRoute)
  return refuse(text, oneLine(read.reason))
}

function readJson(text: string): { readonly value: unknown } | { readonly reason: string } {
  if (isTextDeeperThan(text, MAX_JSON_DEPTH)) return { reason: TOO_DEEP }
  try {
    return { value: parseLossless(text) }
  } catch (error) {
    return { reason: nameGarbage(text) ?? `it is not JSON: ${textOf(error)}` }
  }
}

/** `redis-cli -x lpush key < urls.txt` pushes a whole file as one entry. */
function parsePlain(trimmed: string, text: string, hasRoute: HasRoute): ParsedEntry {
  const lines = linesIn(trimmed)
  const garbage = WEB_URL.test(trimmed) ? null : nameGarbage(trimmed)
  if (garbage !== null) return refuse(text, garbage)
  if (lines.length > 1) return parseLines(lines, text, hasRoute)
  return checked([{ url: trimmed }], text, [])
}

function parseLines(lines: readonly string[], text: string, hasRoute: HasRoute): ParsedEntry {
  if (lines.length > MAX_URLS)
    return refuse(text, `its ${lines.length} lines are more than ${MAX_URLS}: push one entry each`)
  return joined(lines.map((line) => parseEntry(line, hasRoute)))
}

function parseJson(value: unknown, text: string, hasRoute: HasRoute): ParsedEntry {
  if (typeof value === 'string') return checked([{ url: value.trim() }], text, [])
  if (!Array.isArray(value)) return isObject(value) ? parseObject(value, text, hasRoute) : refuse(text, 'it has no url')
  if (value.length > MAX_URLS)
    return refuse(text, `its ${value.length} items are more than ${MAX_URLS}: push one entry each`)
  if (value.length === 0) return refuse(text, 'it has no url')
  const items: readonly unknown[] = value
  // A list in a list is nothing that anybody pushes.
  return joined(
    items.map((item) => {
      const own = JSON.stringify(item)
      return Array.isArray(item) ? refuse(own, 'it has no url') : parseJson(item, own, hasRoute)
    }),
  )
}

function parseObject(value: Fields, text: string, hasRoute: HasRoute): ParsedEntry {
  const opened = openEnvelope(value)
  if ('reason' in opened) return refuse(text, opened.reason)
  // The message of a task queue may have contained JSON as text.
  if (isDeeperThan(opened.fields, MAX_JSON_DEPTH)) return refuse(text, TOO_DEEP)
  const { urls, rest, notes } = readFields(opened.fields, hasRoute)
  if (urls.length === 0) return refuse(text, 'it has no url')
  if (urls.length > MAX_URLS)
    return refuse(text, `its ${urls.length} URLs are more than ${MAX_URLS}: push one entry each`)
  if (urls.length > 1 && JSON.stringify(rest).length * urls.length > MAX_REPEATED)
    return refuse(text, `its data, stored with each of its ${urls.length} URLs, is more than ${MAX_REPEATED} bytes`)
  const fed = urls.map((url) => ({ url: typeof url === 'string' ? url.trim() : '', ...rest }))
  return checked(fed, text, [...opened.notes, ...notes])
}

/** Without the URLs that a parser would accept and that are not what was meant. */
function checked(fed: readonly FedUrl[], text: string, notes: readonly EntryNote[]): ParsedEntry {
  const bad = fed.filter(({ url }) => url === '' || url.includes('\uFFFD'))
  if (bad.length === 0) return { fed, refused: [], notes }
  const refused = bad.map((one) => ({
    text: fed.length === 1 ? text : entryOf(one),
    reason: one.url === '' ? 'it has no url' : 'its URL has bytes that are not UTF-8: percent-encode them',
  }))
  return { fed: fed.filter((one) => !bad.includes(one)), refused, notes }
}

function joined(parts: readonly ParsedEntry[]): ParsedEntry {
  return {
    fed: parts.flatMap(({ fed }) => fed),
    refused: parts.flatMap(({ refused }) => refused),
    notes: parts.flatMap(({ notes }) => notes),
  }
}

function refuse(text: string, reason: string): ParsedEntry {
  return { fed: [], refused: [{ text, reason }], notes: [] }
}

function linesIn(text: string): string[] {
  return text.includes('\n') || text.includes('\r')
    ? text
        .split(/[\r\n]+/)
        .map((line) => line.trim())
        .filter((line) => line !== '')
    : [text]
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, 200)
}
