import type { Json } from '../../url/link.js'
import { isWeb, parseUrl } from '../../url/parse-url.js'
import { readDate } from './dates.js'
import { type DecimalMark, readNumber } from './numbers.js'
import type { DateOrder } from './numeric-date.js'

export const CONVERSIONS = ['text', 'number', 'integer', 'boolean', 'url', 'html', 'date'] as const

/**
 * What a field makes of the text it found. Text that cannot be converted, or that could mean two things, gives null, so that the record's schema reports
 * the field.
 *   text     trimmed, white space collapsed (the default)
 *   number   the first number in the text, see `readNumber`
 *   integer  a number that has no fraction
 *   boolean  true/yes/y/1/on, false/no/n/0/off and the empty text
 *   url      resolved against the page's base; http and https only
 *   html     the inner HTML, as it is
 *   date     the only date in the text, see `readDate`; ISO 8601 in UTC
 */
export type Conversion = (typeof CONVERSIONS)[number]

/** What the spider and the page say about how a text is to be read. What has to be looked up is a function: most texts do not need it. */
export interface Reading {
  readonly base: () => string
  /** BCP 47; null if unknown, and for what programs write. */
  readonly language: () => string | null
  readonly order: DateOrder | null
  readonly decimal: DecimalMark | null
}

export function convert(value: string, as: Conversion, how: Reading): Json {
  switch (as) {
    case 'text':
      return collapse(value)
    case 'html':
      return value
    case 'number':
      return readNumber(value, how)
    case 'integer': {
      const number = readNumber(value, how)
      return number !== null && Number.isSafeInteger(number) ? number : null
    }
    case 'boolean':
      return readBoolean(value)
    case 'url':
      return readUrl(value, how.base())
    case 'date':
      return readDate(value, how)
  }
}

export function collapse(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

function readBoolean(text: string): boolean | null {
  const word = text.trim().toLowerCase()
  if (/^(?:true|yes|y|1|on)$/.test(word)) return true
  return /^(?:false|no|n|0|off|)$/.test(word) ? false : null
}

function readUrl(text: string, base: string): string | null {
  // Not trimmed: the parser drops the white space that browsers drop, which U+00A0 is not.
  const url = parseUrl(text, base)
  return url !== null && isWeb(url) ? url.href : null
}
