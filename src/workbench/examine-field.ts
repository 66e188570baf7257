import type { Element } from 'domhandler'
import { asShoalError } from '../errors.js'
import type { Conversion } from '../spider/convert/convert.js'
import { compileHarvest, type FieldDefinition, type FieldOptions, fieldOptions } from '../spider/fields.js'
import { parseSelector } from '../spider/html/selector.js'
import { parsePath, readPath } from '../spider/json-path.js'
import type { Json } from '../url/link.js'
import type { Examined } from './examined-page.js'
import { elements, nearMiss } from './near-miss.js'
import { nearPath } from './near-path.js'
import { nearNames } from './page-names.js'
import { NO_SUGGESTION, type RuleProblem } from './rule-problem.js'

/** What a field's rule finds on a page. */
export interface FieldReport {
  readonly name: string
  /** As it was written: a selector, or a path into JSON. */
  readonly selector: string
  readonly as: Conversion | null
  /** Elements of the page, or values of its JSON. */
  readonly matches: number
  /** What the record gets; left out if it gets nothing. */
  readonly value?: Json
  /** Why it gets nothing, or not what is on the page; null: nothing is wrong. */
  readonly problem: RuleProblem | null
}

/** A value is shown, not stored: more of it would hide the rest. */
const SHOWN = 60
const ATTRIBUTES_SHOWN = 5

export function examineField(name: string, definition: FieldDefinition, examined: Examined): FieldReport {
  const options = fieldOptions(definition)
  const { select, path = '', as } = options
  return select === undefined
    ? { name, selector: path, as: as ?? null, ...byPath(name, definition, path, examined) }
    : { name, selector: select, as: as ?? null, ...bySelector(name, definition, select, examined) }
}

type Finding = Pick<FieldReport, 'matches' | 'value' | 'problem'>

function bySelector(name: string, definition: FieldDefinition, select: string, examined: Examined): Finding {
  const { queries } = examined
  if (queries === null) return withoutTree(name, definition, examined)
  const { css, attribute } = parseSelector(select)
  const found = queries.matching(css)
  const matches = attribute === null ? found.length : found.filter(({ attribs }) => attribute in attribs).length
  if (matches === 0) {
    const problem =
      attribute !== null && found.length > 0 ? noAttribute(css, attribute, found) : noMatch(select, examined)
    return { matches, ...storedValue(name, definition, examined), problem }
  }
  return { matches, ...converted(name, definition, examined) }
}

/** The scanner, which needs no tree, may find the value all the same. */
function withoutTree(name: string, definition: FieldDefinition, examined: Examined): Finding {
  try {
    const found = storedValue(name, definition, examined)
    if ('value' in found) return { matches: 1, ...found, problem: null }
  } catch {
    // For the same reason as the tree.
  }
  return { matches: 0, problem: { code: 'wrong_type', message: examined.noTree ?? '', ...NO_SUGGESTION } }
}

function byPath(name: string, definition: FieldDefinition, source: string, examined: Examined): Finding {
  const path = parsePath(source)
  let root: Json
  try {
    root = examined.page.losslessJson
  } catch (error) {
    return { matches: 0, problem: { code: 'wrong_type', message: asShoalError(error).message, ...NO_SUGGESTION } }
  }
  const matches = readPath(root, path).length
  if (matches > 0) return { matches, ...converted(name, definition, examined) }
  const miss = nearPath(root, path)
  const suggestion = miss?.suggestion ?? null
  const suggestionMatches = suggestion === null ? 0 : readPath(root, parsePath(suggestion)).length
  const problem: RuleProblem = { code: 'no_match', message: miss?.reason ?? '', suggestion, suggestionMatches }
  return { matches, ...storedValue(name, definition, examined), problem }
}

/** The value as a crawl stores it, by the same code. */
function storedValue(name: string, definition: FieldDefinition, { page }: Examined): { readonly value?: Json } {
  const { fields } = compileHarvest({ fields: { [name]: definition } }).run(page)
  const value = fields[name]
  return value === undefined ? {} : { value }
}

/** Something matched: whether the text became a value. */
function converted(
  name: string,
  definition: FieldDefinition,
  examined: Examined,
): { readonly value?: Json; readonly problem: RuleProblem | null } {
  const options = fieldOptions(definition)
  const { default: _default, ...strict } = options
  const value = storedValue(name, strict, examined).value
  const final = storedValue(name, definition, examined)
  const isMissing = value === undefined || value === null || (Array.isArray(value) && value.includes(null))
  const isEmptyList = Array.isArray(value) && value.length === 0
  if (!isMissing && !isEmptyList) return { ...final, problem: null }
  const text = shownText(name, options, examined)
  if (options.pattern !== undefined && (value === undefined || isEmptyList))
    return {
      ...final,
      problem: { code: 'no_pattern', message: `${text} does not match ${options.pattern}`, ...NO_SUGGESTION },
    }
  const message = `${text}: ${WANTED[options.as ?? 'text']}`
  return { ...final, problem: { code: 'not_converted', message, ...NO_SUGGESTION } }
}

const WANTED: Readonly<Record<Conversion, string>> = {
  text: 'no text in it',
  html: 'nothing in it',
  number: 'no number in it, or more than one reading',
  integer: 'no whole number in it',
  boolean: 'neither yes nor no',
  url: 'not an http or https URL',
  date: 'no date in it, or more than one reading',
}

/** The text that was matched, as the page has it. */
function shownText(name: string, options: FieldOptions, examined: Examined): string {
  const { select, path } = options
  const plain = select === undefined ? { path: path ?? '' } : { select }
  const raw = storedValue(name, plain, examined).value
  const text = typeof raw === 'string' ? raw : JSON.stringify(raw ?? null)
  return `matched '${text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text}'`
}

function noAttribute(css: string, attribute: string, found: readonly Element[]): RuleProblem {
  const names = [...new Set(found.flatMap(({ attribs }) => Object.keys(attribs)))]
  const [near] = nearNames(attribute, names, 1)
  const has =
    names.length === 0
      ? 'no attributes'
      : names
          .slice(0, ATTRIBUTES_SHOWN)
          .map((one) => `\`${one}\``)
          .join(', ')
  return {
    code: 'no_attribute',
    message: `${elements(found.length)} ${found.length === 1 ? 'matches' : 'match'} \`${css}\`, none with \`${attribute}\`; there is ${has}`,
    suggestion: near === undefined ? null : `${css}@${near}`,
    suggestionMatches: near === undefined ? 0 : found.filter(({ attribs }) => near in attribs).length,
  }
}

/** Also of a follow rule. */
export function noMatch(select: string, { queries }: Examined): RuleProblem {
  const { css, attribute } = parseSelector(select)
  const miss = queries === null ? null : nearMiss(css, queries)
  const suggestion = miss?.suggestion ?? null
  // A question that was not answered would make the reason untrue; a suggestion was found, and is true.
  const reason = queries?.isSpent === true ? 'nothing matches; the page is too large to say why' : miss?.reason
  return {
    code: 'no_match',
    message: reason ?? 'nothing matches',
    suggestion: suggestion === null ? null : `${suggestion}${attribute === null ? '' : `@${attribute}`}`,
    suggestionMatches: miss?.matches ?? 0,
  }
}
