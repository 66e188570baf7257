import { compileEach } from '../spider/each.js'
import { type FieldDefinition, fieldOptions } from '../spider/fields.js'
import { parseSelector } from '../spider/html/selector.js'
import type { Json } from '../url/link.js'
import { examineField, type FieldReport, noMatch } from './examine-field.js'
import type { Examined } from './examined-page.js'
import { NO_SUGGESTION, type RuleProblem } from './rule-problem.js'

/** What `record.each` finds: one record per match. */
export interface EachReport {
  readonly selector: string
  readonly matches: number
  readonly problem: RuleProblem | null
}

export function examineEach(each: string, examined: Examined): EachReport {
  const { matches, problem } = examineField('each', each, examined)
  return { selector: each, matches, problem: problem?.code === 'not_converted' ? null : problem }
}

/** `matches` is the number of records that have the field; `value` that of the first one. */
export function examineEachField(
  name: string,
  definition: FieldDefinition,
  each: string,
  examined: Examined,
): FieldReport {
  const { select, path = '', as = null } = fieldOptions(definition)
  const about = { name, selector: select ?? path, as }
  const values = valuesIn(name, definition, each, examined)
  const found = values.filter((value) => value !== undefined && value !== null)
  const [first] = found
  if (first !== undefined) return { ...about, matches: found.length, value: first, problem: null }
  // Without a single record there is nothing to look inside of: the line of `each` says so.
  if (values.length === 0) return { ...about, matches: 0, problem: null }
  return { ...about, matches: 0, problem: missIn(about.selector, each, select !== undefined, examined) }
}

function valuesIn(name: string, definition: FieldDefinition, each: string, { page }: Examined): (Json | undefined)[] {
  try {
    return compileEach(each, { [name]: definition })(page).map((record) => record[name])
  } catch {
    // The page cannot be read in this way, which the line of `each` says.
    return []
  }
}

/** The selector is searched for inside the elements of `each`; a suggestion is given only if it stays there. */
function missIn(selector: string, each: string, isCss: boolean, examined: Examined): RuleProblem {
  const joined = isCss ? insideEach(each, selector) : `${each}${selector.replace(/^\$/, '')}`
  const { problem } = isCss ? { problem: problemOf(joined, examined) } : examineField('each', joined, examined)
  const inside = `${each} `
  const about = {
    code: problem?.code ?? 'not_converted',
    message: problem?.message ?? 'no record has a value',
  } as const
  if (!problem?.suggestion?.startsWith(inside)) return { ...about, ...NO_SUGGESTION }
  const { suggestion, suggestionMatches } = problem
  return { ...about, suggestion: suggestion.slice(inside.length), suggestionMatches }
}

function insideEach(each: string, selector: string): string {
  const scoped = /^\s*:scope(?=[\s>+~]|$)/
  return scoped.test(selector) ? selector.replace(scoped, each) : `${each} ${selector}`
}

/** Null: it matches, and only what is picked from the elements is missing. */
function problemOf(select: string, examined: Examined): RuleProblem | null {
  const { css } = parseSelector(select)
  if ((examined.queries?.matching(css).length ?? 0) === 0) return noMatch(select, examined)
  return examineField('each', select, examined).problem
}
