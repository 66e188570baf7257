import { type Answers, type Document, SEPARATOR } from './answers.js'
import type { Difference } from './compare.js'

/** A difference that stays, and why. */
interface Known {
  readonly reason: string
  applies(difference: Difference, document: Document, chromium: Answers): boolean
}

const isUrl = ({ question }: Difference) => question === 'links' || question === 'followed' || question === 'base'

/** In the order of how often they are met. What is not explained by one of these fails. */
const KNOWN: readonly Known[] = [
  {
    reason:
      'No encoding is declared: Chromium guesses from the text and the locale, Shoal takes bytes that are valid UTF-8 as UTF-8 (HTML standard, 13.2.3.2, allows both)',
    applies: (_, { name }) => UNDECLARED.test(name),
  },
  {
    reason: 'Chromium escapes | in paths; the URL standard does not (path percent-encode set)',
    applies: (difference) =>
      isUrl(difference) && difference.chromium.replaceAll('%7C', '|') === difference.shoal.replaceAll('%7C', '|'),
  },
  {
    reason:
      'Chromium has no base URL at all if that of the page cannot be parsed; by the HTML standard it is the URL of the page (4.2.3)',
    applies: (difference, _, { base }) => isUrl(difference) && base === 'about:blank',
  },
  {
    reason: 'Chromium accepts host names that the URL standard rejects: a space, and Punycode that decodes to nothing',
    applies: (difference, { name }) =>
      isUrl(difference) &&
      (/^links (?:all hrefs|href 64)$/.test(name) ||
        difference.chromium
          .split(SEPARATOR)
          .filter((url) => !SPACE_IN_HOST.test(url))
          .join(SEPARATOR) === difference.shoal),
  },
  {
    reason:
      'White space in class attributes: css-select separates classes at U+00A0 too, browsers only at ASCII white space',
    applies: ({ question }, { body }) =>
      /^css .*(?:\.|class)/.test(question) && NBSP_IN_CLASS.test(Buffer.from(body).toString()),
  },
  {
    reason:
      'Chromium drops the last byte of UTF-16 with an odd number of bytes; by the encoding standard it is an error (U+FFFD)',
    applies: ({ chromium, shoal }, { name }) =>
      /^encoding header utf-16/.test(name) && shoal.replace(/\ufffd$/, '') === chromium,
  },
  {
    reason:
      'Node 20 drops a question mark with nothing after it when it resolves an empty link; so does the canonical form of a URL',
    applies: ({ question, chromium, shoal }) =>
      question === 'links' && chromium.replace(EMPTY_QUERY, '') === shoal.replace(EMPTY_QUERY, ''),
  },
  {
    reason:
      'U+0000 after < or before white space at the start: the HTML standard drops it alone, Chromium replaces it or drops the white space too',
    applies: (_, { body }) => NUL.test(Buffer.from(body).toString()),
  },
  {
    reason:
      'White space at the start that is written as a reference: dropped by the HTML standard, kept by Chromium (&#32;) or by parse5 (&#xd)',
    applies: (_, { body }) => REFERENCE_TO_SPACE.test(Buffer.from(body).toString()),
  },
  {
    reason: 'Attributes whose names are whole numbers come first in the objects of JavaScript',
    applies: ({ question, chromium, shoal }) =>
      question === 'attributes' && sortedWords(chromium) === sortedWords(shoal),
  },
  {
    reason: 'parse5 does not read CDATA in title, desc and foreignObject of svg',
    applies: (_, { body }) => CDATA_IN_SVG.test(Buffer.from(body).toString()),
  },
  {
    reason: 'The value of lang in svg and math: browsers compare it by its case, css-select does not',
    applies: ({ question }, { body }) =>
      question === 'css [lang|=en]' && /<(?:svg|math)/i.test(Buffer.from(body).toString()),
  },
  {
    reason: 'Without a doctype, browsers compare classes and ids without their case',
    applies: ({ question }, { body }) =>
      /^css .*[.#]/.test(question) && !/<!doctype/i.test(Buffer.from(body).toString()),
  },
]

const UNDECLARED =
  /^(?:saved |encoding (?:no declaration|in |late |content only|header in single|header with spaces|xml declaration$|(?:header|meta) (?:utf-7|nonsense)$))/
const SPACE_IN_HOST = /^https?:\/\/[^/]*(?:%20|xn--)/
const NUL = /<\0|\0[\t\n\f\r ]|^\0/
const REFERENCE_TO_SPACE = /^(?:\s|&#32;|&#xd(?![0-9a-f]))+/i
const CDATA_IN_SVG = /<svg[^>]*>\s*<(?:title|desc|foreignObject)[^>]*>\s*<!\[CDATA\[/i
const EMPTY_QUERY = new RegExp(`\\?(?=#|${SEPARATOR}|$)`, 'g')
const NBSP_IN_CLASS = /class="[^"]*\u00a0/i

function sortedWords(text: string): string {
  return text.replaceAll(SEPARATOR, ' ').split(' ').sort().join(' ')
}

export function reasonOf(difference: Difference, document: Document, chromium: Answers): string | null {
  return KNOWN.find((known) => known.applies(difference, document, chromium))?.reason ?? null
}
