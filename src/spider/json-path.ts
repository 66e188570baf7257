import { ShoalError } from '../errors.js'
import type { Json } from '../url/link.js'

/**
 * A small path language for JSON pages: `a.b[0].c`, `a.b.0.c`, `["a key"].b`, `items[*].name`; a leading `$` or `$.` is optional. `*` is every
 * element of an array or every value of an object.
 */
export type JsonPath = readonly (string | typeof EVERY)[]

export const EVERY = Symbol('every')

export function parsePath(source: string): JsonPath {
  const steps: (string | typeof EVERY)[] = []
  const step = /\.?(?:\[\s*(?:(\d+)|(\*)|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\s*\]|([^.[\]"'\s]+))/y
  step.lastIndex = source.startsWith('$') ? 1 : 0
  while (step.lastIndex < source.length) {
    const at = step.lastIndex
    const found = step.exec(source)
    if (found === null)
      throw new ShoalError('bad_selector', `path ${JSON.stringify(source)}: cannot be parsed at position ${at}`)
    const [, index, star, double, single, word] = found
    if (star !== undefined || word === '*') steps.push(EVERY)
    else steps.push(index ?? word ?? (double ?? single ?? '').replace(/\\(.)/g, '$1'))
  }
  return steps
}

/** Every value the path leads to, in order; own properties only. */
export function readPath(root: Json, path: JsonPath): Json[] {
  let level: Json[] = [root]
  for (const step of path) {
    const next: Json[] = []
    for (const value of level) {
      if (value === null || typeof value !== 'object') continue
      if (step === EVERY) {
        for (const child of Object.values(value)) next.push(child)
      } else if (Object.hasOwn(value, step)) next.push((value as Record<string, Json>)[step] as Json)
    }
    level = next
  }
  return level
}
