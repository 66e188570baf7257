import { asciiDigits, isDigit } from './digits.js'
import { separatorsOf } from './languages.js'

export type DecimalMark = '.' | ','

export interface NumberReading {
  /** The decimal mark, if the spider says it. */
  readonly decimal: DecimalMark | null
  readonly language: () => string | null
}

/** '£51.77': most prices, in a tenth of the time. */
const SIMPLE = /^\s*[£$€]?(\d{1,9}(?:\.\d{1,2})?)\s*$/
const NO_HINTS: NumberReading = { decimal: null, language: () => null }

/**
 * The first number in the text, as people write it: '£51.77', '1,234.50', '1.234,50 €', '1 234,5', '1’234', '1,23,456.78', '−5', '1½', '２６'. Units,
 * percent signs and brackets around it change nothing.
 *   - With both separators the last one is the decimal mark. A repeated separator groups thousands.
 *   - A single separator is the decimal mark, unless 1–3 digits are before it, no zero first, and exactly three after it: then the spider's `decimal`
 *     decides, then the page's language, and without both a comma groups ('1,234' → 1234) and a dot does not ('1.234' → 1.234: programs write so).
 * Null if there is no number, or if it may be something else: '1.2.3', '2026-02-03', '555-1234', '10:30', '1/2', '12€50', 'R-1', integers over 2^53.
 */
export function readNumber(written: string, how: NumberReading = NO_HINTS): number | null {
  const simple = SIMPLE.exec(written)?.[1]
  if (simple !== undefined) return Number(simple)
  const text = asciiDigits(written)
  const start = startOfNumber(text)
  const fraction = text.search(FRACTION)
  if (fraction !== -1 && (start === -1 || fraction < start))
    return signBefore(text, fraction) * fractionAt(text, fraction) || null
  if (start === -1) return null
  const numeral = numeralAt(text, start)
  const digits = plainDigits(text, numeral, how)
  const exponent = exponentAt(text, numeral.end)
  const sign = signBefore(text, start)
  if (digits === null || exponent === null || sign === 0 || isOther(text, numeral.end, digits)) return null
  const number = Number(digits + exponent)
  if (digits.includes('.') || exponent !== '') return Number.isFinite(number) ? sign * number : null
  const space = text[numeral.end] === ' ' ? 1 : 0
  return Number.isSafeInteger(number) ? sign * (number + fractionAt(text, numeral.end + space)) : null
}

/** Its first digit, or the separator before it as in '.5'; in 'Rs.500' the dot belongs to the word. */
function startOfNumber(text: string): number {
  const digit = text.search(/[0-9]/)
  const mark = text[digit - 1]
  const leads = (mark === '.' || mark === ',') && !/[\p{L}\p{M}]/u.test(text[digit - 2] ?? '')
  return leads ? digit - 1 : digit
}

/** Runs of digits, and the marks between them: there is one more run than marks. */
interface Numeral {
  readonly end: number
  readonly runs: readonly string[]
  readonly marks: readonly string[]
}

const SPACE = /[ \u00a0\u202f\u2009\u2007\u2008]/
const APOSTROPHE = /['’‘ʼ´`٬]/
const POINT = /[.,٫]/

function numeralAt(text: string, start: number): Numeral {
  const runs: string[] = []
  const marks: string[] = []
  for (let at = start; ; ) {
    let end = at
    while (isDigit(text[end])) end++
    runs.push(text.slice(at, end))
    const mark = text[end] ?? ''
    const joins = POINT.test(mark) ? isDigit(text[end + 1]) : mayGroup(runs, marks) && groupsAt(text, end)
    if (!joins) return { end, runs, marks }
    marks.push(mark)
    at = end + 1
  }
}

/** '19.99 100' and '2026 100' are two numbers. */
function mayGroup(runs: readonly string[], marks: readonly string[]): boolean {
  return (runs[0] ?? '').length <= 3 && !marks.some((mark) => POINT.test(mark))
}

/** A space or an apostrophe is part of a number only before exactly three digits. */
function groupsAt(text: string, at: number): boolean {
  const mark = text[at] ?? ''
  if (!SPACE.test(mark) && !APOSTROPHE.test(mark)) return false
  return isDigit(text[at + 1]) && isDigit(text[at + 2]) && isDigit(text[at + 3]) && !isDigit(text[at + 4])
}

/** The digits with a point as their decimal mark; null if they are not one number, or may be two different ones. */
function plainDigits(text: string, { runs, marks, end }: Numeral, how: NumberReading): string | null {
  const [first, last] = [marks[0], marks.at(-1)]
  if (first === undefined || last === undefined) return runs.join('')
  const pointed = POINT.test(last) && marks.indexOf(last) === marks.length - 1
  if (pointed && marks.length === 1) {
    const role = roleOf(last, runs, how)
    return role === null ? null : runs.join(role === 'decimal' ? '.' : '')
  }
  const whole = pointed ? runs.slice(0, -1) : runs
  const groups = pointed ? marks.slice(0, -1) : marks
  const alike = SPACE.test(first) ? groups.every((mark) => SPACE.test(mark)) : groups.every((mark) => mark === first)
  if (!alike || !areGroups(whole, first)) return null
  if (!pointed && marks.length === 1 && first === ' ' && !isOneNumber(text, end, how)) return null
  return pointed ? `${whole.join('')}.${runs.at(-1)}` : whole.join('')
}

/** What the only separator of a number is; null if that is not sure. */
function roleOf(mark: string, runs: readonly string[], how: NumberReading): 'decimal' | 'group' | null {
  const [before = '', after = ''] = runs
  if (mark === '٫' || before === '' || before.startsWith('0') || before.length > 3 || after.length !== 3)
    return 'decimal'
  if (how.decimal !== null) return mark === how.decimal ? 'decimal' : 'group'
  const language = how.language()
  if (language === null) return mark === ',' ? 'group' : 'decimal'
  const { decimal, groups } = separatorsOf(language)
  if (mark === decimal) return 'decimal'
  return groups.includes(mark) ? 'group' : null
}

/** Thousands, or as in India thousands and then hundreds. */
function areGroups([first = '', ...rest]: readonly string[], mark: string): boolean {
  if (first === '' || first.length > 3 || first.startsWith('0')) return false
  if (rest.every((run) => run.length === 3)) return true
  return mark === ',' && first.length <= 2 && rest.every((run, nth) => run.length === (nth === rest.length - 1 ? 3 : 2))
}

/** '14 128' may be a phone and its memory: it is one number where spaces group thousands, before a currency sign, and before ',-'. */
function isOneNumber(text: string, end: number, how: NumberReading): boolean {
  if (/^(?:\s?\p{Sc}|[.,]\p{Pd})/u.test(text.slice(end, end + 2))) return true
  const language = how.language()
  return language !== null && separatorsOf(language).groups.some((group) => SPACE.test(group))
}

const HYPHENS = /[-\u2010\u2011\u2013\ufe63\uff0d]/

/** 0 if a hyphen before the number may be something else, as in 'R-1' and '- 5'. */
function signBefore(text: string, start: number): 1 | -1 | 0 {
  const before = text.slice(Math.max(0, start - 4), start).replace(/\p{Sc}\s?$/u, '')
  if (/\u2212\s?$/.test(before)) return -1
  if (HYPHENS.test(before.at(-1) ?? '')) return /[\p{L}\p{N}\p{Pd}_./]/u.test(before.at(-2) ?? '') ? 0 : -1
  const all = text.slice(0, start).trim()
  return all.length === 1 && HYPHENS.test(all) ? 0 : 1
}

/** A date, a telephone number, a time, a fraction, a price with its currency in the middle, a power, a number in base 16. */
function isOther(text: string, end: number, digits: string): boolean {
  const next = text[end] ?? ''
  const beforeDigit = isDigit(text[end + 1])
  if (next === '-') return beforeDigit || text[end + 1] === undefined
  if (next === '/') return beforeDigit && !digits.includes('.')
  if (next === ':' || /\p{Sc}/u.test(next)) return beforeDigit
  return /[⁰¹²³⁴-⁹]/.test(next) || (digits === '0' && /^x[0-9a-f]/i.test(text.slice(end, end + 2)))
}

/** 'e5' of '2e5', mostly nothing; null in the middle of what may be a hash. */
function exponentAt(text: string, end: number): string | null {
  const found = /^e[-+]?[0-9]+/i.exec(text.slice(end, end + 20))?.[0] ?? ''
  return found !== '' && /\w/.test(text[end + found.length] ?? '') ? null : found
}

const FRACTION = /[¼-¾⅐-⅞]/

/** '½' → 0.5; 0 if there is none. */
function fractionAt(text: string, at: number): number {
  const character = text[at] ?? ''
  if (!FRACTION.test(character)) return 0
  const [above, below] = character.normalize('NFKC').split('⁄')
  return Number(above) / Number(below)
}
