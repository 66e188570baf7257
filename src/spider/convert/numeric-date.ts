import { dayMonthOrder } from './languages.js'

export const DATE_ORDERS = ['dmy', 'mdy', 'ymd'] as const

/** In which order day, month and year are written. */
export type DateOrder = (typeof DATE_ORDERS)[number]

export interface DateReading {
  /** If the spider says it. */
  readonly order: DateOrder | null
  readonly language: () => string | null
}

export interface CalendarDay {
  readonly year: number
  /** 1–12. */
  readonly month: number
  readonly day: number
}

/** A run of digits of a date: '03' is 3 in two digits. */
export interface Part {
  readonly value: number
  readonly digits: number
}

/** The day that three numbers name; null if they name none, or may name two. */
export function numericDay(parts: readonly [Part, Part, Part], sign: string, how: DateReading): CalendarDay | null {
  const [first, second, third] = parts
  if (first.digits === 4) return third.digits <= 2 ? realDay(first.value, second.value, third.value) : null
  if (third.digits === 4) return dayWithYear(first.value, second.value, third.value, sign, how)
  return shortYear(parts, how.order)
}

function dayWithYear(a: number, b: number, year: number, sign: string, how: DateReading): CalendarDay | null {
  const dayFirst = realDay(year, b, a)
  const monthFirst = realDay(year, a, b)
  if (how.order !== null) return how.order === 'dmy' ? dayFirst : how.order === 'mdy' ? monthFirst : null
  if (dayFirst === null || monthFirst === null || a === b) return dayFirst ?? monthFirst
  // 01.02.2026 is the first of February wherever dates are written with dots.
  if (sign === '.') return dayFirst
  const language = how.language()
  const order = language === null ? null : dayMonthOrder(language)
  return order === 'dmy' ? dayFirst : order === 'mdy' ? monthFirst : null
}

/** 01/02/26 has six readings: the spider has to say which. Years are those of RFC 2822: 00–49 are 2000–2049. */
function shortYear([a, b, c]: readonly [Part, Part, Part], order: DateOrder | null): CalendarDay | null {
  const [year, month, day] = order === 'ymd' ? [a, b, c] : order === 'mdy' ? [c, a, b] : [c, b, a]
  if (order === null || year.digits !== 2) return null
  return realDay(fullYear(year.value), month.value, day.value)
}

export function fullYear(twoDigits: number): number {
  return twoDigits < 50 ? 2000 + twoDigits : 1900 + twoDigits
}

/** Years that are none of the Gregorian calendar on most pages that show them: 1405 is a Persian year, 2569 a Thai one. */
const FIRST_YEAR = 1600
const LAST_YEAR = 2199

/** Null for the 30th of February, which Date would make the 2nd of March. */
export function realDay(year: number, month: number, day: number): CalendarDay | null {
  if (year < FIRST_YEAR || year > LAST_YEAR || month < 1 || month > 12 || day < 1) return null
  return day <= new Date(Date.UTC(year, month, 0)).getUTCDate() ? { year, month, day } : null
}
