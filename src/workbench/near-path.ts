import { EVERY, type JsonPath } from '../spider/json-path.js'
import type { Json } from '../url/link.js'
import { nearNames } from './page-names.js'

/** Keys that are shown when none of them is near. */
const SHOWN = 5
/** How many values of a list are looked at: they usually have the same keys. */
const MOST_VALUES = 100

/** Why a path leads nowhere: its first step that is missing, and what is there instead. */
export interface PathMiss {
  readonly reason: string
  /** The same path with the nearest key; null: none is near. */
  readonly suggestion: string | null
}

export function nearPath(root: Json, path: JsonPath): PathMiss | null {
  let level: readonly Json[] = [root]
  for (const [index, step] of path.entries()) {
    const next = level.flatMap((value) => childrenAt(value, step)).slice(0, MOST_VALUES)
    if (next.length === 0) return missAt(level, path, index)
    level = next
  }
  return null
}

function childrenAt(value: Json, step: JsonPath[number]): readonly Json[] {
  if (value === null || typeof value !== 'object') return []
  if (step === EVERY) return Object.values(value)
  return Object.hasOwn(value, step) ? [(value as Record<string, Json>)[step] as Json] : []
}

function missAt(level: readonly Json[], path: JsonPath, index: number): PathMiss {
  const where = index === 0 ? 'the page' : `\`${pathText(path.slice(0, index))}\``
  const step = path[index] as JsonPath[number]
  const [first = null] = level
  const changedTo = (...changed: JsonPath) => pathText([...path.slice(0, index), ...changed])
  if (Array.isArray(first)) {
    if (first.length === 0) return { reason: `${where} is an empty list`, suggestion: null }
    if (typeof step === 'string' && /^\d+$/.test(step))
      return { reason: `${where} is a list of ${first.length}`, suggestion: null }
    return { reason: `${where} is a list`, suggestion: changedTo(EVERY, ...path.slice(index)) }
  }
  if (first === null || typeof first !== 'object') {
    return {
      reason: `${where} is ${first === null ? 'null' : `a ${typeof first}`}, which has no keys`,
      suggestion: null,
    }
  }
  if (step === EVERY) return { reason: `${where} is empty`, suggestion: null }
  const keys = [
    ...new Set(level.flatMap((value) => (value !== null && typeof value === 'object' ? Object.keys(value) : []))),
  ]
  const near = nearNames(step, keys, SHOWN)
  const listed = [...new Set([...near, ...keys])].slice(0, SHOWN).map((key) => `\`${key}\``)
  const more = keys.length > listed.length ? ' …' : ''
  const has = listed.length === 0 ? 'it is empty' : `it has ${listed.join(', ')}${more}`
  const [nearest] = near
  return {
    reason: `${where} has no key \`${step}\`; ${has}`,
    suggestion: nearest === undefined ? null : changedTo(nearest, ...path.slice(index + 1)),
  }
}

function pathText(path: JsonPath): string {
  return path.reduce<string>((text, step) => {
    if (step === EVERY) return `${text}[*]`
    if (/^\d+$/.test(step)) return `${text}[${step}]`
    return /^[^.[\]"'\s*]+$/.test(step) ? `${text}.${step}` : `${text}[${JSON.stringify(step)}]`
  }, '$')
}
