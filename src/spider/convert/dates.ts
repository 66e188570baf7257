import { type Token, Tokens, tokensOf } from './date-tokens.js'
import { monthNamed } from './month-names.js'
import { type CalendarDay, type DateReading, fullYear, numericDay, type Part, realDay } from './numeric-date.js'
import { clockMs, takeTime, takeZone } from './times.js'

/** A longer text is not a date with some words around it, but an article that may mention one. */
const MOST_CHARS = 2_000
const MINUTE_MS = 60_000

/**
 * The date in a text, as ISO 8601 in UTC: `2026-03-12T10:15:00.000Z`. A date without a time is midnight, a time without a zone is UTC.
 *
 * Read are ISO 8601, the dates of mails and HTTP, 12 March 2026 and March 12, 2026 in some forty languages, 2026年3月12日, 12.03.2026, and 3/4/2026 if
 * the spider's `order` or the page's language says what comes first, or if only one reading is possible. Words around it do no harm.
 *
 * Null if the text has no such date or two different ones; if a part is missing ('March 2026', 'May 5', '12/03/26' without an order); if the date does not
 * exist (30 February) or its zone is not known; and for 'yesterday' and '3 days ago'.
 */
export function readDate(text: string, how: DateReading): string | null {
  const time = readTime(text, how)
  return time === null ? null : new Date(time).toISOString()
}

const NO_HINTS: DateReading = { order: null, language: () => null }

/** The same in milliseconds since 1970. */
export function readTime(text: string, how: DateReading = NO_HINTS): number | null {
  const written = text.trim()
  if (written.length > MOST_CHARS) return null
  const plain = plainIso(written)
  if (plain !== undefined) return plain
  const tokens = tokensOf(written)
  let found: number | null = null
  for (let at = 0; at < tokens.length; ) {
    const read = readAt(tokens, at, how)
    if (read === undefined) {
      at++
      continue
    }
    if (read.time === null || (found !== null && found !== read.time)) return null
    found = read.time
    at = read.end
  }
  return found
}

const ISO = /^(\d{4})-(\d\d)-(\d\d)(?:T[01]\d:[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:0\d|1[0-3]):[0-5]\d))?$/

/** What sitemaps and time elements contain a million times, in a tenth of the time; undefined for all other forms. */
function plainIso(written: string): number | null | undefined {
  const [, year, month, day] = ISO.exec(written) ?? []
  if (year === undefined) return undefined
  return realDay(Number(year), Number(month), Number(day)) === null ? null : Date.parse(written)
}

interface Read {
  /** Null: a date that does not exist, or may be two. */
  readonly time: number | null
  readonly end: number
}

/** Undefined if no date begins here. */
function readAt(all: readonly Token[], at: number, how: DateReading): Read | undefined {
  const tokens = new Tokens(all, at)
  const earlier = takeEarlierTime(tokens)
  const start = tokens.at
  const written = takeDate(tokens, how)
  if (written === undefined || isPartOfMore(all, start, tokens.at)) return undefined
  const moment = earlier ?? written.moment ?? takeMoment(tokens)
  const doubt: Read = { time: null, end: tokens.at }
  if (written.day === null || moment === null || followsRange(all, start)) return doubt
  // '10:15, 12 March 2026 (UTC)' has the zone of its time at the end.
  const zone = moment.zone === undefined && earlier !== undefined ? takeZone(tokens) : moment.zone
  if (zone === null) return doubt
  const { year, month, day } = written.day
  return { time: Date.UTC(year, month - 1, day) + moment.ms - (zone ?? 0) * MINUTE_MS, end: tokens.at }
}

interface Moment {
  /** Since midnight. */
  readonly ms: number
  /** Minutes east of Greenwich; undefined if none is given, null if it is not known. */
  readonly zone: number | null | undefined
}

const MIDNIGHT: Moment = { ms: 0, zone: undefined }
const T = new Set(['t'])
const ZONE_SIGNS = new Set(['z', '+'])
const OPENING = new Set(['(', '['])
const CLOSING = new Set([')', ']'])
/** Words and signs between a date and its time. After these words, 14.30 is a time. */
const AT_WORDS = new Set('um kl klo om alle ore ora ob godz o'.split(' '))
const BEFORE_TIME = new Set([...AT_WORDS, ...'at à a las às u в saat г р , . - – — | · • @ :'.split(' ')])
const BEFORE_DATE = new Set(', on le el den - – — | · •'.split(' '))

/** The time in '10:15, Monday, 12 March 2026'. */
function takeEarlierTime(tokens: Tokens): Moment | undefined {
  const start = tokens.at
  const time = tokens.next?.kind === 'number' ? takeTime(tokens, false) : undefined
  if (!time) {
    tokens.at = start
    return undefined
  }
  const zone = takeZone(tokens)
  tokens.skip(BEFORE_DATE, 2)
  if (tokens.next?.kind === 'word' && tokens.afterNext?.kind !== 'number') tokens.at++
  tokens.skip(BEFORE_DATE, 1)
  return { ms: time.ms, zone }
}

/** The time after a date, if there is one; null if it does not exist or cannot be read. */
function takeMoment(tokens: Tokens): Moment | null {
  const start = tokens.at
  const iso = tokens.take(T, true) !== null
  const announced = iso ? false : takeJoiners(tokens)
  const time = takeTime(tokens, announced)
  if (time === undefined) {
    tokens.at = start
    const zoned = tokens.next !== undefined && !tokens.next.gap && ZONE_SIGNS.has(tokens.next.text.toLowerCase())
    const zone = zoned ? takeZone(tokens) : undefined
    return zone === null ? null : { ...MIDNIGHT, zone }
  }
  // 10:15-11:30 is two times, and 10:15-03:00 is one and a zone.
  if (time === null || (!iso && !time.seconds && tokens.next?.text === '-' && !tokens.next.gap)) return null
  const zone = takeZone(tokens)
  return zone === null ? null : { ms: time.ms, zone }
}

/** True if a word says that a time follows. */
function takeJoiners(tokens: Tokens): boolean {
  if (tokens.take(OPENING) !== null) {
    tokens.word()
    tokens.take(CLOSING)
  }
  let announced = false
  for (let nth = 0; nth < 4; nth++) {
    const joiner = tokens.take(BEFORE_TIME)
    if (joiner === null) break
    if (AT_WORDS.has(joiner)) announced = true
  }
  return announced
}

interface WrittenDate {
  /** Null: it has the form of a date, but is none, or may be two. */
  readonly day: CalendarDay | null
  /** The time, if it is written inside the date. */
  readonly moment?: Moment | null
}

const FORMS: readonly ((tokens: Tokens, how: DateReading) => WrittenDate | undefined)[] = [
  basic,
  numeric,
  eastAsian,
  yearMonthDay,
  dayMonthYear,
  monthDayYear,
]

/** Undefined if the next tokens do not have the form of a date. */
function takeDate(tokens: Tokens, how: DateReading): WrittenDate | undefined {
  const start = tokens.at
  for (const form of FORMS) {
    const written = form(tokens, how)
    if (written !== undefined) return written
    tokens.at = start
  }
  return undefined
}

/** 20260312T101500Z, and 20260312 if there is nothing else: in a text it may be any number. */
function basic(tokens: Tokens): WrittenDate | undefined {
  const alone = tokens.at === 0
  const date = tokens.next?.text.length === 8 ? tokens.digits() : null
  if (date === null) return undefined
  const day = realDay(Number(date.slice(0, 4)), Number(date.slice(4, 6)), Number(date.slice(6)))
  if (tokens.next === undefined) return alone && day !== null ? { day } : undefined
  const time = tokens.take(T, true) === null ? null : tokens.digits()
  if (time?.length !== 4 && time?.length !== 6) return undefined
  const [hours, minutes, seconds] = [time.slice(0, 2), time.slice(2, 4), time.slice(4)].map(Number) as [
    number,
    number,
    number,
  ]
  const ms = clockMs(hours, minutes, seconds)
  const zone = takeZone(tokens)
  return { day, moment: ms === null || zone === null ? null : { ms, zone } }
}

const SEPARATORS = new Set(['/', '.', '-'])

/** 2026-03-12, 12.03.2026, 12. 3. 2026, 3/12/2026. */
function numeric(tokens: Tokens, how: DateReading): WrittenDate | undefined {
  const first = takePart(tokens)
  const sign = tokens.take(SEPARATORS, true)
  const second = sign === null ? null : takePart(tokens, sign)
  const third = second !== null && tokens.take(new Set([sign ?? '']), true) !== null ? takePart(tokens, sign) : null
  if (first === null || second === null || third === null || sign === null) return undefined
  const shape = [first, second, third].map(({ digits }) => (digits <= 2 ? 's' : digits === 4 ? 'y' : '?')).join('')
  const short = shape === 'sss' && third.digits === 2
  if (shape !== 'yss' && shape !== 'ssy' && !short) return undefined
  return { day: numericDay([first, second, third], sign, how) }
}

/** Only after a dot may there be white space. */
function takePart(tokens: Tokens, sign: string | null = '.'): Part | null {
  if (tokens.next?.gap === true && sign !== '.') return null
  const digits = tokens.digits()
  return digits === null ? null : { value: Number(digits), digits: digits.length }
}

const YEARS = new Set(['年', '년'])
const MONTHS = new Set(['月', '월'])
const DAYS = new Set(['日', '일'])

/** 2026年3月12日, 2026년 3월 12일. */
function eastAsian(tokens: Tokens): WrittenDate | undefined {
  const year = tokens.number(4)
  const month = tokens.take(YEARS) === null ? null : tokens.number(1, 2)
  const day = tokens.take(MONTHS) === null ? null : tokens.number(1, 2)
  if (year === null || month === null || day === null || tokens.take(DAYS) === null) return undefined
  return { day: realDay(year, month, day) }
}

const AFTER_DAY = new Set("st nd rd th er e ste º ª ° o . - / of de di d ' ’ the".split(' '))
const AFTER_MONTH = new Set(", . - / of de del año ano do ' ’".split(' '))
const AFTER_YEAR = new Set(', . - / m'.split(' '))

/** 2026 March 12, 2026. március 12., 2026-Mar-12. */
function yearMonthDay(tokens: Tokens, { language }: DateReading): WrittenDate | undefined {
  const year = tokens.number(4)
  if (year === null) return undefined
  tokens.skip(AFTER_YEAR, 2)
  const name = tokens.word()
  tokens.skip(AFTER_MONTH, 1)
  const day = name === null ? null : tokens.number(1, 2)
  const month = day === null ? null : monthNamed(name ?? '', language)
  if (day === null || month === null) return undefined
  // In '© 2025 March 12, 2026' the year comes last.
  const another = tokens.next?.text === ',' ? tokens.afterNext : tokens.next
  if (another?.kind === 'number' && another.text.length === 4) return undefined
  return { day: realDay(year, month, day) }
}

/** 12 March 2026, 12th of March, 2026, 12. März 2026, 12 de marzo de 2026, 12-Mar-2026. */
function dayMonthYear(tokens: Tokens, { language }: DateReading): WrittenDate | undefined {
  const day = tokens.number(1, 2)
  if (day === null) return undefined
  const hyphen = tokens.next?.text === '-'
  tokens.skip(AFTER_DAY, 3)
  const name = tokens.word()
  tokens.skip(AFTER_MONTH, 3)
  const year = name === null ? null : (tokens.number(4) ?? (hyphen ? yearOfHttp(tokens) : null))
  const month = year === null ? null : monthNamed(name ?? '', language)
  return year === null || month === null ? undefined : { day: realDay(year, month, day) }
}

/** 06-Nov-94 08:49:37 GMT, a form that HTTP still allows. */
function yearOfHttp(tokens: Tokens): number | null {
  const start = tokens.at
  const year = tokens.number(2)
  const end = tokens.at
  if (year !== null && takeTime(tokens, false) && takeZone(tokens) === 0) {
    tokens.at = end
    return fullYear(year)
  }
  tokens.at = start
  return null
}

/** March 12, 2026, Mar. 12th 2026, and with the time before the year: Nov 16 10:15:30 2026. */
function monthDayYear(tokens: Tokens, { language }: DateReading): WrittenDate | undefined {
  const name = tokens.word()
  if (name === null) return undefined
  tokens.skip(AFTER_MONTH, 1)
  const day = tokens.number(1, 2)
  if (day === null) return undefined
  tokens.skip(AFTER_DAY, 1)
  tokens.skip(AFTER_MONTH, 2)
  const time = tokens.next?.text.length === 4 ? undefined : takeTime(tokens, false)
  const zone = time ? takeZone(tokens) : undefined
  const year = tokens.number(4)
  const month = year === null ? null : monthNamed(name, language)
  if (year === null || month === null) return undefined
  const date = { day: realDay(year, month, day) }
  if (time === undefined) return date
  return { ...date, moment: time === null || zone === null ? null : { ms: time.ms, zone } }
}

/** 2026-03-12-5, v2026-03-12, 1.12.03.2026: a number of something. */
function isPartOfMore(all: readonly Token[], start: number, end: number): boolean {
  const [before, sign, next, after] = [all[start - 2], all[start - 1], all[end], all[end + 1]]
  const first = all[start]
  if (first !== undefined && !first.gap && sign !== undefined) {
    if (sign.kind === 'word' && /[A-Za-z]$/.test(sign.text)) return true
    if (SEPARATORS.has(sign.text) && !sign.gap && before?.kind === 'number') return true
  }
  if (next === undefined || next.gap) return false
  if (next.kind === 'word') return /^[A-Za-z]/.test(next.text) && !/^[tz]$/i.test(next.text)
  return SEPARATORS.has(next.text) && after?.kind === 'number' && !after.gap
}

const UNTIL = new Set('- – — ~ to bis au al til till tot do до and und et y e &'.split(' '))

/** 12–14 March 2026: which of them? */
function followsRange(all: readonly Token[], start: number): boolean {
  const first = all[start]
  if (first?.kind !== 'number' || first.text.length > 2) return false
  return UNTIL.has(all[start - 1]?.text.toLowerCase() ?? '') && all[start - 2]?.kind === 'number'
}
