import { isInteger, parse } from 'lossless-json'
import type { Json } from '../url/link.js'
import { isTextDeeperThan, MAX_JSON_DEPTH } from './depth.js'

/**
 * JSON.parse, except for numbers that a JavaScript number cannot hold: these become strings with all their digits. Ids are the reason: 64-bit ids
 * of six pages were rounded to three different numbers, and six records became three.
 *   integers over 2^53 − 1, either sign                       a string, also those that happen to fit, so that a field has one type
 *   decimals of more than 17 digits that would lose some      a string; 17 digits are all that a program with doubles can mean
 *   too large or too small for a number (1e400, 1e-400)       a string
 */
export function parseLossless(text: string): Json {
  const plain = JSON.parse(text) as Json
  if (!mayLoseDigits(text)) return plain
  // The lossless parser is recursive, and this text is already known to be JSON.
  if (isTextDeeperThan(text, MAX_JSON_DEPTH))
    throw new RangeError(`it is nested more than ${MAX_JSON_DEPTH} levels deep`)
  // As JSON.parse does: of two values for one key the last counts.
  return parse(text, null, { parseNumber, onDuplicateKey: ({ newValue }) => newValue }) as Json
}

/** 16 digits, with or without a point, or an exponent of three. Ordinary documents have neither, and pay for this check only. */
export function mayLoseDigits(text: string): boolean {
  return /[\d.]{16}|\d[eE][-+]?\d{3}/.test(text)
}

/** What a double can carry: a decimal with more digits was not written by a program that computes with doubles. */
const DIGITS_OF_A_NUMBER = 17

function parseNumber(text: string): number | string {
  const number = Number(text)
  if (isInteger(text)) return Number.isSafeInteger(number) ? number : text
  if (!Number.isFinite(number)) return text
  const digits = significantDigits(text)
  if (number === 0) return digits === '' ? number : text
  return digits.length <= DIGITS_OF_A_NUMBER || digits === significantDigits(String(number)) ? number : text
}

/** Without sign, point, exponent and the zeros around them. */
function significantDigits(text: string): string {
  const [mantissa = ''] = text.split(/[eE]/)
  const digits = mantissa.replace(/[-.]/g, '')
  let start = 0
  let end = digits.length
  while (digits[start] === '0') start++
  while (end > start && digits[end - 1] === '0') end--
  return digits.slice(start, end)
}
