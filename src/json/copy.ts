import { inspect, types } from 'node:util'
import { pathText } from '../options.js'
import { textOf } from '../thrown.js'
import type { Json } from '../url/link.js'
import { MAX_JSON_DEPTH } from './depth.js'

/**
 * Copies of what a spider's code hands over. They are taken at the call, because the code may change its objects afterwards: one object used for three
 * records stored the last value three times. And they are guarded, because reading an object may run code: a getter that throws, a revoked proxy, a
 * `toJSON` that returns itself. Nothing but NotJson is thrown, and it says where.
 */

/** A value takes at least two bytes of JSON: with more of them than this, a record is over the limit of the store (256 KiB) anyway. */
const MAX_VALUES = 256 * 1024

/** Something cannot be stored. `path` is where: `offers[2].seen`, or empty for the whole. */
export class NotJson extends Error {
  readonly path: string
  /** Without the path: `is a Set: use an array`. */
  readonly reason: string

  constructor(path: string, reason: string) {
    super(`${path === '' ? 'it' : `'${path}'`} ${reason}`)
    this.name = 'NotJson'
    this.path = path
    this.reason = reason
  }
}

/**
 * What JSON.stringify makes of the value (`toJSON` is called, `undefined` is left out, NaN and Infinity become null), except that nothing is lost
 * without a word: where JSON.stringify leaves out a function or turns a Set, a Map or a promise into `{}`, this throws.
 */
export function jsonCopy(value: unknown): Json {
  return guarded((walk) => toJson(value, '', 0, walk))
}

/** The same structure, for code that still wants to see dates, maps and instances of classes: the steps and schemas of a record. */
export function structureCopy(value: unknown): unknown {
  return guarded((walk) => toCopy(value, 0, walk))
}

/** What can be kept of a value that is not JSON, for people to look at. */
export function remainsOf(value: unknown): string {
  try {
    return inspect(value, { depth: 3, maxStringLength: KEPT_CHARS, customInspect: false }).slice(0, KEPT_CHARS)
  } catch {
    return 'cannot be shown'
  }
}

const KEPT_CHARS = 4_096

interface Walk {
  /** The keys that lead to the current value are the first `depth` ones. */
  readonly path: PropertyKey[]
  depth: number
  left: number
}

function guarded<Copy>(copy: (walk: Walk) => Copy): Copy {
  const walk: Walk = { path: [], depth: 0, left: MAX_VALUES }
  try {
    return copy(walk)
  } catch (thrown) {
    const path = pathText(walk.path.slice(0, Math.min(walk.depth, SHOWN_KEYS)))
    throw new NotJson(path, thrown instanceof Refused ? thrown.reason : `cannot be read: ${textOf(thrown)}`)
  }
}

/** A path of five hundred keys helps nobody. */
const SHOWN_KEYS = 10

/** The reason alone: the path is known to `guarded`. Not an Error, whose stack would cost more than the copy. */
class Refused {
  readonly reason: string
  constructor(reason: string) {
    this.reason = reason
  }
}

function toJson(value: unknown, key: string, depth: number, walk: Walk): Json {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value : null
    case 'object':
      return value === null ? null : objectToJson(value, key, depth, walk)
    case 'undefined':
      throw new Refused('is undefined')
    case 'bigint':
      throw new Refused('is a bigint: JSON has none, so store its digits with String(value)')
    default:
      throw new Refused(`is a ${typeof value}`)
  }
}

function objectToJson(object: object, key: string, depth: number, walk: Walk): Json {
  enter(depth)
  if (Array.isArray(object)) return arrayToJson(object, depth, walk)
  if (isPlain(object) && !('toJSON' in object)) return fieldsToJson(object, depth, walk)
  // A Buffer has a toJSON, which writes every byte as a number.
  if (ArrayBuffer.isView(object)) throw unlikeJson(object)
  const { toJSON } = object as { readonly toJSON?: unknown }
  const given: unknown = typeof toJSON === 'function' ? toJSON.call(object, key) : unboxed(object)
  // As JSON.stringify does: the `toJSON` of what a `toJSON` returned is not called.
  if (typeof given !== 'object' || given === null) return toJson(given, key, depth, walk)
  if (Array.isArray(given)) return arrayToJson(given, depth, walk)
  if (!isPlain(given) && !hasFields(given)) throw unlikeJson(given)
  return fieldsToJson(given, depth, walk)
}

function arrayToJson(array: readonly unknown[], depth: number, walk: Walk): Json {
  const copy: Json[] = []
  for (let index = 0; index < array.length; index++) {
    count(walk)
    walk.path[depth] = index
    walk.depth = depth + 1
    const value = array[index]
    copy.push(value === undefined ? null : toJson(value, String(index), depth + 1, walk))
  }
  walk.depth = depth
  return copy
}

function fieldsToJson(object: object, depth: number, walk: Walk): Json {
  const copy: Record<string, Json> = {}
  for (const key of Object.keys(object)) {
    count(walk)
    walk.path[depth] = key
    walk.depth = depth + 1
    const value = (object as Record<string, unknown>)[key]
    if (value !== undefined) put(copy, key, toJson(value, key, depth + 1, walk))
  }
  walk.depth = depth
  return copy
}

function toCopy(value: unknown, depth: number, walk: Walk): unknown {
  if (typeof value !== 'object' || value === null) return value
  enter(depth)
  if (Array.isArray(value)) {
    const copy: unknown[] = []
    for (let index = 0; index < value.length; index++) {
      count(walk)
      walk.path[depth] = index
      walk.depth = depth + 1
      copy.push(toCopy(value[index], depth + 1, walk))
    }
    walk.depth = depth
    return copy
  }
  if (types.isDate(value)) return new Date(value.getTime())
  if (types.isMap(value)) return new Map(value)
  if (types.isSet(value)) return new Set(value)
  // A URL, a promise, a buffer, a decimal: they have no fields of their own that a copy could be made of.
  if (!isPlain(value) && ('toJSON' in value || !hasFields(value))) return value
  const copy = Object.create(Object.getPrototypeOf(value) as object | null) as Record<string, unknown>
  for (const key of Object.keys(value)) {
    count(walk)
    walk.path[depth] = key
    walk.depth = depth + 1
    put(copy, key, toCopy((value as Record<string, unknown>)[key], depth + 1, walk))
  }
  walk.depth = depth
  return copy
}

function enter(depth: number): void {
  if (depth === MAX_JSON_DEPTH)
    throw new Refused(`is nested deeper than ${MAX_JSON_DEPTH} levels, or contains itself (circular)`)
}

function count(walk: Walk): void {
  if (--walk.left < 0) throw new Refused(`is over the limit of ${MAX_VALUES} values`)
}

/** Assigning to `__proto__` would change the prototype. */
function put(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') object[key] = value
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
}

/** `{}`, also that of another realm: its prototype is the end of the chain. */
function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object)
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null
}

/** An instance of a class is what its own fields say. What can be iterated, or has none, would be stored as `{}`. */
function hasFields(object: object): boolean {
  if (Symbol.iterator in object || Symbol.asyncIterator in object || types.isNativeError(object)) return false
  return !('then' in object) && Object.keys(object).length > 0
}

function unboxed(object: object): unknown {
  return types.isBoxedPrimitive(object) ? object.valueOf() : object
}

function unlikeJson(object: object): Refused {
  if ('then' in object) return new Refused('is a promise: await it')
  const name: unknown = object.constructor?.name
  const what = typeof name === 'string' && name !== '' ? name : 'object that JSON cannot represent'
  const isList = Symbol.iterator in object || Symbol.asyncIterator in object || ArrayBuffer.isView(object)
  return new Refused(`is ${/^[aeiou]/i.test(what) ? 'an' : 'a'} ${what}${isList ? ': use an array' : ''}`)
}
