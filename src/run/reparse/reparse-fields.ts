import { isDeepStrictEqual } from 'node:util'
import { EMPTY, typeOf } from '../../quality/value.js'
import type { Json } from '../../url/link.js'

/** How one field of one record changes. */
export interface FieldChange {
  /** '' when the record is not an object. */
  readonly field: string
  readonly turn: Turn
  readonly before: Json | undefined
  readonly after: Json | undefined
}

/** `retyped`: filled before and after, with a different type of value. `changed`: everything else. */
export type Turn = 'filled' | 'emptied' | 'retyped' | 'changed'

/** The fields that differ between the stored record and the one that the spider produces now. */
export function changedFields(before: Json, after: Json): FieldChange[] {
  if (!isObject(before) || !isObject(after))
    return isDeepStrictEqual(before, after) ? [] : [changeOf('', before, after)]
  const fields = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...fields]
    .filter((field) => !isDeepStrictEqual(before[field], after[field]))
    .map((field) => changeOf(field, before[field], after[field]))
}

export function changeOf(field: string, before: Json | undefined, after: Json | undefined): FieldChange {
  const was = typeOf(before)
  const is = typeOf(after)
  const turn = was === is ? 'changed' : was === EMPTY ? 'filled' : is === EMPTY ? 'emptied' : 'retyped'
  return { field, turn, before, after }
}

function isObject(value: Json): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
