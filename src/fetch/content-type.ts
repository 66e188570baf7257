import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** What a Content-Type header says. */
export interface ContentType {
  /** `text/html`, in lower case; null if the header is missing or says nothing that can be understood. */
  readonly essence: string | null
  /** The label of the charset in lower case, not checked; empty if there is none. */
  readonly charset: string
}

const NOTHING: ContentType = { essence: null, charset: '' }

/** A longer header names no type. The standard's parser takes quadratic time: of 10,000 spaces, one second. */
const MOST_CHARS = 1_024

// A crawl sees very few different headers, mostly the same one again.
let lastHeader = ''
let lastRead = NOTHING

export function readContentType(header: string | undefined): ContentType {
  if (header === undefined || header === '' || header.length > MOST_CHARS) return NOTHING
  if (header === lastHeader) return lastRead
  lastRead = extract(header)
  lastHeader = header
  return lastRead
}

/** What nearly every server sends; here the standard's parser, which is loaded for all others, would only change the case. */
const PLAIN = /^([\w.+-]+\/[\w.+-]+)(?:; ?charset=([\w.:-]+))?$/

/**
 * "Extract a MIME type" of the Fetch standard: of several headers, which the fetcher joins with commas, the last one that can be parsed counts, and it
 * inherits the charset of those before it if they name the same type.
 */
function extract(header: string): ContentType {
  const plain = PLAIN.exec(header)
  if (plain !== null) return { essence: (plain[1] ?? '').toLowerCase(), charset: plain[2]?.toLowerCase() ?? '' }
  const { MIMEType } = require('whatwg-mimetype') as typeof import('whatwg-mimetype')
  let read = NOTHING
  for (const value of splitHeader(header)) {
    const type = MIMEType.parse(value) ?? MIMEType.parse(beforeSpace(value))
    if (type === null || type.essence === '*/*') continue
    const charset = type.parameters.get('charset')?.toLowerCase()
    read = { essence: type.essence, charset: charset ?? (type.essence === read.essence ? read.charset : '') }
  }
  return read
}

/** `text/html charset=utf-8`, without the semicolon, cannot be parsed; Chromium uses what is before the space. */
function beforeSpace(value: string): string {
  return value.trim().split(' ', 1)[0] ?? ''
}

/** At commas that are not inside a quoted string. */
function splitHeader(header: string): string[] {
  if (!header.includes(',')) return [header]
  const values: string[] = []
  let start = 0
  let quoted = false
  for (let at = 0; at < header.length; at++) {
    const character = header[at]
    if (character === '"') quoted = !quoted
    else if (quoted && character === '\\') at++
    else if (!quoted && character === ',') {
      values.push(header.slice(start, at))
      start = at + 1
    }
  }
  values.push(header.slice(start))
  return values
}
