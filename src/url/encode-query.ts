import { createRequire } from 'node:module'

/** The page that a link is on, as far as it decides how the link is encoded. */
export interface EncodedPage {
  /** Its name in the WHATWG Encoding standard. Read only for a link that depends on it: a page may have to be decoded to know it. */
  readonly encoding: string
}

type Standard = typeof import('@exodus/bytes/whatwg.js')

const require = createRequire(import.meta.url)
let loaded: Standard | null = null

/** Loaded with the first link that needs it. */
function standard(): Standard {
  // It brings the tables of the encodings of more than one byte.
  require('@exodus/bytes/encoding.js')
  loaded ??= require('@exodus/bytes/whatwg.js') as Standard
  return loaded
}

/** Everything but printable ASCII: three of the controls mean something else in ISO-2022-JP. */
const DEPENDS_ON_PAGE = /[^ -~]/
/** Encodings that nothing is encoded in. */
const AS_UTF8: ReadonlySet<string> = new Set(['UTF-8', 'UTF-16LE', 'UTF-16BE', 'replacement'])
const OTHER_SCHEME = /^(?!(?:https?|ftp|file):)[a-z][a-z0-9+.-]*:/i
/** "Special-query percent-encode set" of the URL standard; controls and everything above ASCII belong to it as well. */
const ESCAPED = ' "#\'<>'
const SPACE = 0x20

/**
 * The query of a link is encoded in the encoding of the page it is on, as browsers do: `?q=é` is `?q=%E9` on a page in windows-1252, and servers that
 * send such pages expect it. What the encoding lacks becomes `&#8364;`, escaped. Path and fragment are always UTF-8. The result contains only ASCII in its
 * query, so that it means the same wherever it is parsed later.
 */
export function encodeQuery(href: string, page: EncodedPage): string {
  if (!DEPENDS_ON_PAGE.test(href)) return href
  const { encoding } = page
  if (AS_UTF8.has(encoding)) return href
  const text = asParsed(href)
  if (OTHER_SCHEME.test(text)) return href
  const question = text.indexOf('?')
  const hash = text.indexOf('#')
  const end = hash === -1 ? text.length : hash
  if (question === -1 || question > end) return href
  const query = standard().percentEncodeAfterEncoding(encoding, text.slice(question + 1, end), ESCAPED)
  return `${text.slice(0, question + 1)}${query}${text.slice(end)}`
}

/** The URL parser ignores spaces and controls at both ends, and tabs and line breaks anywhere. */
function asParsed(href: string): string {
  let start = 0
  let end = href.length
  while (start < end && href.charCodeAt(start) <= SPACE) start++
  while (end > start && href.charCodeAt(end - 1) <= SPACE) end--
  return href.slice(start, end).replace(/[\t\n\r]/g, '')
}
