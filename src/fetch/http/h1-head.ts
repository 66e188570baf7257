/**
 * The head of an HTTP/1 response: status line and headers. Pure. llhttp, which undici and Node use, has no setting for much of what every browser
 * accepts (an equal Content-Length twice, `Transfer-Encoding: identity`, an unasked 100), so the head is read here, as Chromium reads it:
 * test/fetch/servers/behaviours.ts has what it does with 150 kinds of responses.
 */
export interface ResponseHead {
  readonly status: number
  /** HTTP/1.0 and older close the connection unless they say otherwise. */
  readonly isOld: boolean
  /** Names in lower case and values, in turn; a value has one character for each byte. */
  readonly pairs: readonly string[]
  /** It breaks the grammar of HTTP in a way that browsers accept. The connection is not used again. */
  readonly isOdd: boolean
}

const LF = 10
const CR = 13
/** The head of every third server has a name that is not in here at first; after that nearly none. */
const MOST_NAMES = 2_000
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/

/** A browser gives up after four bytes too. */
export const MOST_LEADING_BYTES = 4

/** Where the head ends (after its empty line), or -1. `from`: up to where earlier calls have looked. */
export function endOfHead(bytes: Buffer, from: number): number {
  for (let lf = bytes.indexOf(LF, from); lf !== -1; lf = bytes.indexOf(LF, lf + 1)) {
    if (bytes[lf + 1] === LF) return lf + 2
    if (bytes[lf + 1] === CR && bytes[lf + 2] === LF) return lf + 3
  }
  return -1
}

/** `text`: one character for each byte, without empty lines before it. Null: this is not HTTP. */
export function readHead(text: string): ResponseHead | null {
  // One program takes a NUL in a header for its end, the next one does not: browsers refuse it too.
  if (text.includes('\0')) return null
  const lineEnd = text.indexOf('\n')
  const line = readStatusLine(text.slice(0, lineEnd === -1 ? text.length : lineEnd))
  if (line === null) return null
  const pairs: string[] = []
  let { isOdd } = line
  for (let at = lineEnd + 1; at > 0 && at < text.length; ) {
    const lf = text.indexOf('\n', at)
    const end = lf === -1 ? text.length : lf
    const stop = text.charCodeAt(end - 1) === CR ? end - 1 : end
    if (!readLine(text, at, stop, pairs) || stop === end) isOdd = true
    at = end + 1
  }
  return { status: line.status, isOld: line.isOld, pairs, isOdd }
}

const STATUS_LINE = /^HTTP(?:\/(\d)(?:\.(\d))?)?[ \t]+([1-9]\d\d)(?!\d)/i

function readStatusLine(line: string): Omit<ResponseHead, 'pairs'> | null {
  // What nearly every server sends.
  if (line.startsWith('HTTP/1.1 ') && line.charCodeAt(line.length - 1) === CR) {
    const status = Number(line.slice(9, 12))
    const next = line.charCodeAt(12)
    if (status >= 100 && (next === 32 || next === CR)) return { status, isOld: false, isOdd: false }
  }
  const found = STATUS_LINE.exec(line)
  if (found === null) return null
  const [all, major, minor, status] = found
  const isOld = major === undefined || (major === '1' && minor !== '1') || major === '0'
  const isOdd = !/^HTTP\/1\.[01] [1-9]\d\d$/.test(all) || !line.endsWith('\r')
  return { status: Number(status), isOld, isOdd }
}

/** False: the line is not as it should be. What it means is added to `pairs` all the same, as far as it means anything. */
function readLine(text: string, at: number, stop: number, pairs: string[]): boolean {
  if (at === stop) return true
  const first = text.charCodeAt(at)
  if (first === 32 || first === 9) {
    // A folded value continues the one before.
    const last = pairs.length - 1
    const more = trimmed(text, at, stop)
    if (last > 0) pairs[last] = pairs[last] === '' ? more : `${pairs[last]} ${more}`
    return false
  }
  const colon = text.indexOf(':', at)
  if (colon === -1 || colon >= stop) return false
  const name = nameOf(text.slice(at, colon))
  if (name === null) {
    const bare = text.slice(at, colon).trimEnd().toLowerCase()
    if (NAME.test(bare)) pairs.push(bare, trimmed(text, colon + 1, stop))
    return false
  }
  const value = trimmed(text, colon + 1, stop)
  const hasCr = value.includes('\r')
  pairs.push(name, hasCr ? value.replaceAll('\r', ' ') : value)
  return !hasCr
}

const names = new Map<string, string>()

/** In lower case; null: no name. Sites repeat their names, so most are found in a map. */
function nameOf(written: string): string | null {
  const known = names.get(written)
  if (known !== undefined) return known
  const name = written.toLowerCase()
  if (!NAME.test(name)) return null
  if (names.size < MOST_NAMES && written.length < 100) names.set(written, name)
  return name
}

function trimmed(text: string, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9
}
