import type { Json } from '../url/link.js'
import { isWeb, parseUrl } from '../url/parse-url.js'

export const CONVERSIONS = ['text', 'number', 'integer', 'boolean', 'url', 'html', 'date'] as const

/**
 * What a field makes of the text it found. Text that cannot be converted gives null, so that the record's schema reports the field.
 *   text     trimmed, white space collapsed (the default)
 *   number   the first number in the text, see `readNumber`
 *   integer  a number that has no fraction
 *   boolean  true/yes/y/1/on, false/no/n/0/off and the empty text
 *   url      resolved against the page's base; http and https only
 *   html     the inner HTML, as it is
 *   date     ISO 8601 in UTC; a time without a zone is taken as UTC
 */
export type Conversion = (typeof CONVERSIONS)[number]

export function convert(value: string, as: Conversion, base: string): Json {
  switch (as) {
    case 'text':
      return collapse(value)
    case 'html':
      return value
    case 'number':
      return readNumber(value)
    case 'integer': {
      const number = readNumber(value)
      return number !== null && Number.isSafeInteger(number) ? number : null
    }
    case 'boolean':
      return readBoolean(value)
    case 'url':
      return readUrl(value, base)
    case 'date':
      return readDate(value)
  }
}

export function collapse(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/**
 * '£51.77' → 51.77 · '1,234.50' → 1234.5 · '1.234,50 €' → 1234.5 · '1 234,5' → 1234.5 · '1’234' → 1234 · 'none' → null. With both separators the last
 * one is the decimal separator. A repeated separator groups thousands. A single comma before exactly three digits groups ('1,234' → 1234), otherwise
 * it is the decimal separator ('1,5' → 1.5); a single dot is always the decimal separator ('1.234' → 1.234), because that is what programs write.
 */
export function readNumber(text: string): number | null {
  const found =
    /[-+\u2212]?\s?(?:\d+(?:[ \u00a0\u202f\u2009'\u2019]\d{3})+|\d)[\d.,]*(?:[eE][-+]?\d{1,3}(?!\w))?|[-+\u2212]?\.\d+/.exec(
      text,
    )?.[0]
  if (found === undefined) return null
  const plain = found
    .replace(/[\s'\u2019]/g, '')
    .replace('\u2212', '-')
    .replace(/[.,]+$/, '')
  const dot = plain.lastIndexOf('.')
  const comma = plain.lastIndexOf(',')
  const number = Number(withPoint(plain, dot, comma))
  return Number.isFinite(number) ? number : null
}

function withPoint(plain: string, dot: number, comma: number): string {
  if (dot >= 0 && comma >= 0) {
    return dot > comma ? plain.replaceAll(',', '') : plain.replaceAll('.', '').replace(',', '.')
  }
  if (comma >= 0) {
    const groups = plain.indexOf(',') !== comma || /^\d{3}$/.test(plain.slice(comma + 1))
    return groups ? plain.replaceAll(',', '') : plain.replace(',', '.')
  }
  return plain.indexOf('.') !== dot ? plain.replaceAll('.', '') : plain
}

function readBoolean(text: string): boolean | null {
  const word = text.trim().toLowerCase()
  if (/^(?:true|yes|y|1|on)$/.test(word)) return true
  return /^(?:false|no|n|0|off|)$/.test(word) ? false : null
}

function readUrl(text: string, base: string): string | null {
  const url = parseUrl(text.trim(), base)
  return url !== null && isWeb(url) ? url.href : null
}

function readDate(text: string): string | null {
  const written = collapse(text)
  const zoned = /(?:Z|[+-]\d\d:?\d\d|GMT|UTC?)(?:\s*\(.*\))?$/i.test(written) || /^\d{4}(?:-\d\d){0,2}$/.test(written)
  const iso = /^\d{4}-\d\d-\d\d[T ]\d/.test(written)
  const time = Date.parse(zoned ? written : iso ? `${written.replace(' ', 'T')}Z` : `${written} UTC`)
  return Number.isNaN(time) ? null : new Date(time).toISOString()
}
