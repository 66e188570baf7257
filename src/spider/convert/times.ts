import type { Tokens } from './date-tokens.js'

export interface TimeOfDay {
  /** Since midnight. */
  readonly ms: number
  /** Whether seconds are given. */
  readonly seconds: boolean
}

const COLON = new Set([':'])
const DOT = new Set(['.'])
const COLON_OR_DOT = new Set([':', '.'])
const HOUR_WORDS = new Set(['h', 'uhr'])
const HOUR_MARKS = new Set([':', 'h'])
const ANNOUNCED_MARKS = new Set([':', 'h', '.'])
const HALVES = new Set(['am', 'pm'])
const A_OR_P = new Set(['a', 'p'])
const M = new Set(['m'])
const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/**
 * '10:15', '10:15:30.25', '3:07 pm', '10h30', '14 Uhr', and '14.30' where a word before it says that it is a time. Undefined if the next tokens are no
 * time; null if they are an impossible one.
 */
export function takeTime(tokens: Tokens, announced: boolean): TimeOfDay | null | undefined {
  const start = tokens.at
  const hour = tokens.number(1, 2)
  if (hour === null) return undefined
  if (tokens.take(announced ? ANNOUNCED_MARKS : HOUR_MARKS, true) === null) return onTheHour(tokens, start, hour)
  const minute = tokens.number(2)
  if (minute === null) {
    tokens.at = start
    return undefined
  }
  const seconds = tokens.next?.text === ':' && tokens.afterNext?.kind === 'number'
  const second = seconds ? takeSecond(tokens) : 0
  const half = takeHalf(tokens)
  tokens.take(HOUR_WORDS)
  return clockTime(hour, minute, second, half, seconds)
}

function onTheHour(tokens: Tokens, start: number, hour: number): TimeOfDay | null | undefined {
  const half = takeHalf(tokens)
  if (half !== null || tokens.take(HOUR_WORDS) !== null) return clockTime(hour, 0, 0, half, false)
  tokens.at = start
  return undefined
}

/** With its fraction. */
function takeSecond(tokens: Tokens): number {
  tokens.take(COLON, true)
  const second = tokens.number(2) ?? Number.NaN
  if (tokens.next?.text !== '.' || tokens.afterNext?.kind !== 'number' || tokens.afterNext.gap) return second
  tokens.take(DOT, true)
  return Number(`${second}.${tokens.digits()}`)
}

/** 'pm', 'p.m.'. */
function takeHalf(tokens: Tokens): 'am' | 'pm' | null {
  const half = tokens.take(HALVES)
  if (half !== null) return half === 'am' ? 'am' : 'pm'
  const start = tokens.at
  const letter = tokens.take(A_OR_P)
  if (letter !== null && tokens.take(DOT, true) !== null && tokens.take(M, true) !== null) {
    tokens.take(DOT, true)
    return letter === 'a' ? 'am' : 'pm'
  }
  tokens.at = start
  return null
}

function clockTime(
  hour: number,
  minute: number,
  second: number,
  half: 'am' | 'pm' | null,
  seconds: boolean,
): TimeOfDay | null {
  if (half !== null && (hour < 1 || hour > 12)) return null
  const ms = clockMs(half === null ? hour : (hour % 12) + (half === 'pm' ? 12 : 0), minute, second)
  return ms === null ? null : { ms, seconds }
}

/** Since midnight; null for a time that no clock shows. */
export function clockMs(hours: number, minutes: number, seconds: number): number | null {
  if (!(hours < 24 && minutes < 60 && seconds < 60)) return null
  return hours * HOUR_MS + minutes * MINUTE_MS + Math.floor(seconds * SECOND_MS)
}

/** Hours east of Greenwich. Only names with one meaning: IST is the time of India, Israel and Ireland. */
const ZONES = new Map(
  Object.entries({
    ...{
      z: 0,
      ut: 0,
      utc: 0,
      gmt: 0,
      wet: 0,
      west: 1,
      cet: 1,
      cest: 2,
      mez: 1,
      mesz: 2,
      eet: 2,
      eest: 3,
      msk: 3,
      jst: 9,
    },
    ...{
      est: -5,
      edt: -4,
      cst: -6,
      cdt: -5,
      mst: -7,
      mdt: -6,
      pst: -8,
      pdt: -7,
      aest: 10,
      aedt: 11,
      nzst: 12,
      nzdt: 13,
    },
  }),
)
const BASES = new Set(['utc', 'gmt', 'ut'])
const BRACKETS = new Set(['(', '['])
const CLOSING = new Set([')', ']'])
const SIGNS = new Set(['+', '-', '\u2212'])
/** 'BST', 'ET', 'HKT': a zone that is not known, and without which the time says little. */
const UNKNOWN_ZONE = /^(?:[A-Z]{2,4}T|[ECMP]T)$/

/** Minutes east of Greenwich; undefined if there is no zone, null if there is one that cannot be read. */
export function takeZone(tokens: Tokens): number | null | undefined {
  const start = tokens.at
  const bracket = tokens.take(BRACKETS) !== null
  const name = tokens.word()
  const hours = name === null ? undefined : ZONES.get(name.toLowerCase())
  if (name !== null && hours === undefined) {
    if (UNKNOWN_ZONE.test(name)) return null
    tokens.at = start
    return undefined
  }
  const sign = name === null || BASES.has(name.toLowerCase()) ? takeSign(tokens) : null
  const offset = sign === null ? 0 : takeOffset(tokens)
  if (name === null && sign === null) {
    tokens.at = start
    return undefined
  }
  if (bracket) tokens.take(CLOSING)
  return offset === null ? null : (hours ?? 0) * 60 + (sign === '+' ? offset : -offset)
}

/** Only directly before digits: in '10:15 - 11:00' it is no zone. */
function takeSign(tokens: Tokens): string | null {
  const after = tokens.afterNext
  return after?.kind === 'number' && !after.gap ? tokens.take(SIGNS) : null
}

/** '01:00', '0100', '01', '1'. */
function takeOffset(tokens: Tokens): number | null {
  const digits = tokens.digits() ?? ''
  const hours = Number(digits.length > 2 ? digits.slice(0, -2) : digits)
  const minutes =
    digits.length > 2 ? Number(digits.slice(-2)) : tokens.take(COLON_OR_DOT, true) === null ? 0 : tokens.number(2)
  return digits.length <= 4 && minutes !== null && hours <= 14 && minutes < 60 ? hours * 60 + minutes : null
}
