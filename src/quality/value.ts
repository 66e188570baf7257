/** What a value is to the statistics of its field, and 32 bits of it. Values are as the spider produced them: nearly JSON. */

export const TYPES = ['text', 'number', 'boolean', 'list', 'object'] as const
export type ValueType = (typeof TYPES)[number]

/** Index in TYPES, or EMPTY. */
export const EMPTY = -1
const TEXT = 0
const NUMBER = 1
const BOOLEAN = 2
const LIST = 3
const OBJECT = 4

/** Empty is what a reader of the record cannot use: nothing, null, blank text, an empty list or object, NaN. */
export function typeOf(value: unknown): number {
  switch (typeof value) {
    case 'string':
      return isBlank(value) ? EMPTY : TEXT
    case 'number':
      return Number.isFinite(value) ? NUMBER : EMPTY
    case 'boolean':
      return BOOLEAN
    case 'object':
      if (value === null) return EMPTY
      if (Array.isArray(value)) return value.length === 0 ? EMPTY : LIST
      // JSON.stringify turns it into a text.
      if (value instanceof Date) return TEXT
      for (const _ in value) return OBJECT
      return EMPTY
    default:
      return EMPTY
  }
}

function isBlank(text: string): boolean {
  if (text.length === 0) return true
  const first = text.charCodeAt(0)
  return (first <= 0x20 || first >= 0xa0) && text.trim() === ''
}

/** Longer texts are hashed by their length and as many characters of both ends: a page of text would cost microseconds. */
const TEXT_END = 32
/** Values hashed of a list or object. */
const MOST_INNER = 32

const number = new Float64Array(1)
const halves = new Int32Array(number.buffer)

/** Signed 32 bits, well mixed. */
export function hashOf(value: unknown): number {
  budget = MOST_INNER
  return mixed(hashInto(0x2545f491, value))
}

let budget = 0

function hashInto(hash: number, value: unknown): number {
  if (typeof value === 'string') return hashText(hash, value)
  if (typeof value === 'number') return hashNumber(hash, value)
  if (typeof value === 'boolean') return step(hash, value ? 1 : 2)
  if (value instanceof Date) return hashNumber(hash, value.getTime())
  if (typeof value !== 'object' || value === null) return step(hash, 3)
  return Array.isArray(value) ? hashList(hash, value) : hashObject(hash, value as Record<string, unknown>)
}

function hashList(seed: number, list: readonly unknown[]): number {
  let hash = step(seed, list.length)
  for (let i = 0; i < list.length && budget-- > 0; i++) hash = hashInto(hash, list[i])
  return hash
}

function hashObject(seed: number, object: Readonly<Record<string, unknown>>): number {
  let hash = step(seed, 4)
  for (const key in object) {
    if (budget-- <= 0) break
    hash = hashInto(hashText(hash, key), object[key])
  }
  return hash
}

function hashText(seed: number, text: string): number {
  const { length } = text
  let hash = step(seed, length)
  const whole = length <= TEXT_END * 2
  const firstEnd = whole ? length : TEXT_END
  for (let i = 0; i < firstEnd; i++) hash = step(hash, text.charCodeAt(i))
  for (let i = whole ? length : length - TEXT_END; i < length; i++) hash = step(hash, text.charCodeAt(i))
  return hash
}

function hashNumber(hash: number, value: number): number {
  number[0] = value
  return step(step(hash, halves[0] ?? 0), halves[1] ?? 0)
}

function step(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, 0x9e3779b1)
}

/** The end of MurmurHash3: the steps alone leave the low bits poor. */
function mixed(hash: number): number {
  let h = hash
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
