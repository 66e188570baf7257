/**
 * `record.each`: several records from one page.
 *
 *   compileEach('.product', { name: 'h2', price: '.price' })      one per element, selectors relative to it
 *   compileEach('$.items[*]', { name: '$.name' })                 one per value of a path, paths relative to it
 */
import { ShoalError } from '../errors.js'
import { hasTags, mediaTypeOf } from '../fetch/media-type.js'
import type { Json } from '../url/link.js'
import { compileField, type Field, type FieldDefinition, hintsOf, readFields } from './fields.js'
import { compileEachExtractor } from './html/extract-each.js'
import type { Rule } from './html/program.js'
import { parseSelector } from './html/selector.js'
import { parsePath, readPath } from './json-path.js'
import type { Page } from './page.js'
import { baseOf } from './page-base.js'

/** The fields of each record of a page, in the order of the page. */
export type EachReader = (page: Page) => readonly Readonly<Record<string, Json>>[]

/** `definitions` null: each JSON value is a record as it is. */
export function compileEach(each: string, definitions: Readonly<Record<string, FieldDefinition>> | null): EachReader {
  if (definitions === null) return eachWhole(each)
  const rules: Rule[] = []
  const fields = Object.entries(definitions).map(([name, definition]) => compileField(name, definition, rules))
  return isPath(each) ? eachValue(each, fields) : eachElement(each, fields, rules)
}

/** Like a field: what starts with `$` is a path. */
export function isPath(each: string): boolean {
  return each.startsWith('$')
}

function eachWhole(each: string): EachReader {
  const path = parsePath(each)
  return (page) => readPath(page.losslessJson, path).map((item) => (isObject(item) ? item : { value: item }))
}

function isObject(item: Json): item is Readonly<Record<string, Json>> {
  return typeof item === 'object' && item !== null && !Array.isArray(item)
}

function eachValue(each: string, fields: readonly Field[]): EachReader {
  const path = parsePath(each)
  const wrong = fields.find(({ source }) => typeof source === 'number')
  if (wrong !== undefined)
    throw mixed(wrong, `'${each}' finds JSON values, so its fields are paths into them, like '$.${wrong.name}'`)
  return (page) => {
    const hints = hintsOf(page, null)
    return readPath(page.losslessJson, path).map((item) => readFields(fields, [], () => item, hints))
  }
}

function eachElement(each: string, fields: readonly Field[], rules: readonly Rule[]): EachReader {
  const selector = parseSelector(each)
  if (selector.attribute !== null)
    throw new ShoalError('bad_selector', `each: '${each}' must find elements; remove '@${selector.attribute}'`)
  const wrong = fields.find(({ source }) => typeof source !== 'number')
  if (wrong !== undefined)
    throw mixed(
      wrong,
      `'${each}' finds elements, so its fields are selectors; for JSON, each is a path like '$.items[*]'`,
    )
  const extractor = compileEachExtractor(selector, rules)
  return (page) => {
    const type = mediaTypeOf(page)
    if (!hasTags(type)) return []
    const hints = hintsOf(page, baseOf(page))
    return extractor.run(page.text, type).map((found) => readFields(fields, found, () => null, hints))
  }
}

function mixed({ name }: Field, reason: string): ShoalError {
  return new ShoalError('spider_invalid', `field ${name}: each ${reason}`)
}
