import { AttributeAction, type AttributeSelector, parse, type Selector, SelectorType, stringify } from 'css-what'
import type { Element } from 'domhandler'
import { nameDistance } from '../nearest.js'
import { type NameKind, namesOn, nearNames, valuesOn } from './page-names.js'
import type { PageQueries } from './page-queries.js'

/**
 * Why a selector matches nothing, and what it may have been meant to be. The selector is walked from left to right to the first part that matches
 * nothing where it is looked for; the nearest thing on the page takes its place, until the whole selector matches. Every suggestion was tried on the
 * page.
 */
export interface NearMiss {
  /** What does not match, for people. */
  readonly reason: string
  /** A selector that matches; null: nothing on the page is near. */
  readonly suggestion: string | null
  /** How many elements match the suggestion. */
  readonly matches: number
}

/** Longer selectors are generated, and have more parts than are worth trying. */
const MOST_PARTS = 12
/** More than this many mistakes in one selector are not repaired. */
const MOST_REPAIRS = 3
/** Names that are tried in place of one that does not match. */
const MOST_NAMES_TRIED = 3

/** One compound selector, with the combinator before it. */
interface Part {
  readonly combinator: Selector | null
  readonly simple: readonly Selector[]
}

export function nearMiss(css: string, page: PageQueries): NearMiss | null {
  const alternatives = parse(css)
  const misses = alternatives.flatMap((tokens) => {
    const parts = partsOf(tokens)
    return parts.length > MOST_PARTS ? [] : [missOf(parts, page)]
  })
  return misses.find(({ suggestion }) => suggestion !== null) ?? misses[0] ?? null
}

function missOf(parts: readonly Part[], page: PageQueries): NearMiss {
  let repaired = parts
  let reason: string | null = null
  for (let repairs = 0; repairs <= MOST_REPAIRS; repairs++) {
    const at = repaired.findIndex((_, index) => page.select(textOf(repaired.slice(0, index + 1))).length === 0)
    if (at === -1) {
      const suggestion = textOf(repaired)
      return { reason: reason ?? '', suggestion, matches: page.select(suggestion).length }
    }
    const repair = repairOf(repaired, at, page)
    reason ??= repair.reason
    if (repair.parts === null) break
    repaired = repair.parts
  }
  return { reason: reason ?? '', suggestion: null, matches: 0 }
}

interface Repair {
  readonly reason: string
  /** The whole selector with this part repaired; null: nothing helps. */
  readonly parts: readonly Part[] | null
}

/** Part `at` is the first that matches nothing. */
function repairOf(parts: readonly Part[], at: number, page: PageQueries): Repair {
  const before = parts.slice(0, at)
  const after = parts.slice(at + 1)
  const part = parts[at] as Part
  const own = textOf([{ ...part, combinator: null }])
  const place = at === 0 ? '' : ` inside ${quoted(textOf(before))}`
  const matches = (changed: readonly Part[]) => page.select(textOf([...before, ...changed])).length > 0
  const repaired = (reason: string, changed: readonly Part[] | null): Repair => ({
    reason,
    parts: changed === null ? null : [...before, ...changed, ...after],
  })

  if (part.combinator !== null && part.combinator.type !== SelectorType.Descendant) {
    const anywhere = { ...part, combinator: DESCENDANT }
    const where = RELATIONS[part.combinator.type] ?? 'related to'
    if (matches([anywhere])) return repaired(`${quoted(own)} is not ${where} ${quoted(textOf(before))}`, [anywhere])
  }
  if (at > 0) {
    const elsewhere = page.select(own).length
    if (elsewhere > 0 && says(part, elsewhere))
      return {
        reason: `${elements(elsewhere)} ${elsewhere === 1 ? 'matches' : 'match'} ${quoted(own)}, none of them${place}`,
        parts: [{ ...part, combinator: null }, ...after],
      }
  }
  // The context of the part: what it is looked for in.
  const context = at === 0 ? page.all : page.inside(page.select(textOf(before)))
  for (const [index, token] of part.simple.entries()) {
    const others = part.simple.filter((_, other) => other !== index)
    const without = { ...part, simple: others }
    if (others.length > 0 && !matches([without])) continue
    const candidates = others.length > 0 ? page.select(textOf([...before, without])) : context
    const found = replacements(token, candidates, others.length > 0).find((one) =>
      matches([{ ...part, simple: withToken(part, index, one) }]),
    )
    const missing = `no element${place}${others.length > 0 ? ` that matches ${quoted(textOf([without]))}` : ''} has ${nameOf(token)}`
    if (found !== undefined) return repaired(missing, [{ ...part, simple: withToken(part, index, found) }])
    if (others.length > 0) return repaired(`${missing}`, isName(token) ? null : [without])
  }
  // The ancestors may be what is wrong, and the rest right.
  if (at === 0 && after.length > 0) {
    const rest = [{ ...(after[0] as Part), combinator: null }, ...after.slice(1)]
    if (says(rest[0] as Part, page.select(textOf(rest)).length))
      return { reason: `nothing matches ${quoted(own)}`, parts: rest }
  }
  return repaired(`nothing${place} matches ${quoted(own)}`, null)
}

/** Whether a part without what comes before it still means something: `a` alone is every link of the page. */
function says({ simple }: Part, matches: number): boolean {
  return matches === 1 || (matches > 0 && simple.some(({ type }) => type === SelectorType.Attribute))
}

/** The same compound with another simple selector at `index`; a tag comes first. */
function withToken({ simple }: Part, index: number, token: Selector): Selector[] {
  const rest = simple.filter((_, other) => other !== index)
  return token.type === SelectorType.Tag
    ? [token, ...rest]
    : [...simple.slice(0, index), token, ...simple.slice(index + 1)]
}

/** What the elements have that is near to the token, nearest first. `fixed`: they match all the rest, so that any tag of theirs will do. */
function replacements(token: Selector, elements: readonly Element[], fixed: boolean): readonly Selector[] {
  const names = namesOn(elements)
  const near = (wanted: string, kind: NameKind) =>
    nearNames(wanted, names[kind].keys(), MOST_NAMES_TRIED).map((name) => simpleSelector(kind, name))
  /** The name as another kind: `price` and `#price` for `.price`. */
  const same = (wanted: string, kind: NameKind) =>
    [...names[kind].keys()].filter((name) => nameDistance(wanted, name) === 0).map((name) => simpleSelector(kind, name))
  switch (token.type) {
    case SelectorType.Tag:
      if (fixed) return [...names.tag.keys()].map((name) => simpleSelector('tag', name))
      return [
        ...same(token.name, 'class'),
        ...same(token.name, 'id'),
        ...near(token.name, 'tag'),
        ...near(token.name, 'class'),
      ]
    case SelectorType.Attribute:
      if (isClass(token))
        return [...near(token.value, 'class'), ...same(token.value, 'id'), ...same(token.value, 'tag')]
      if (isId(token)) return [...near(token.value, 'id'), ...same(token.value, 'class'), ...near(token.value, 'class')]
      return nearAttributes(token, elements, [...names.attribute.keys()])
    default:
      return []
  }
}

function nearAttributes(
  token: AttributeSelector,
  elements: readonly Element[],
  attributes: readonly string[],
): readonly Selector[] {
  const values = valuesOn(elements, token.name)
  const ofValue = nearNames(token.value, values.keys(), MOST_NAMES_TRIED).map((value) => ({
    ...token,
    value,
    action: AttributeAction.Equals,
  }))
  const ofName = nearNames(token.name, attributes, MOST_NAMES_TRIED).map((name) => ({ ...token, name }))
  return token.action === AttributeAction.Exists ? ofName : [...ofValue, ...ofName]
}

function simpleSelector(kind: NameKind, name: string): Selector {
  if (kind === 'tag') return { type: SelectorType.Tag, name, namespace: null }
  const shared = { type: SelectorType.Attribute as const, namespace: null, ignoreCase: 'quirks' as const }
  if (kind === 'class') return { ...shared, name: 'class', action: AttributeAction.Element, value: name }
  if (kind === 'id') return { ...shared, name: 'id', action: AttributeAction.Equals, value: name }
  return { ...shared, name, action: AttributeAction.Exists, value: '', ignoreCase: null }
}

function isClass({ name, action }: AttributeSelector): boolean {
  return name === 'class' && action === AttributeAction.Element
}

function isId({ name, action }: AttributeSelector): boolean {
  return name === 'id' && action === AttributeAction.Equals
}

/** Something that may be misspelt; leaving it out would be another selector. */
function isName(token: Selector): boolean {
  return token.type === SelectorType.Tag || token.type === SelectorType.Attribute
}

function nameOf(token: Selector): string {
  if (token.type === SelectorType.Tag) return `the tag ${quoted(token.name)}`
  if (token.type !== SelectorType.Attribute) return quoted(stringify([[token]]))
  if (isClass(token)) return `the class ${quoted(token.value)}`
  return isId(token) ? `the id ${quoted(token.value)}` : quoted(stringify([[token]]))
}

const DESCENDANT: Selector = { type: SelectorType.Descendant }
const RELATIONS: Partial<Record<SelectorType, string>> = {
  [SelectorType.Child]: 'a child of',
  [SelectorType.Adjacent]: 'right after',
  [SelectorType.Sibling]: 'a sibling after',
}

function partsOf(tokens: readonly Selector[]): Part[] {
  const parts: Part[] = []
  let combinator: Selector | null = null
  let simple: Selector[] = []
  for (const token of tokens) {
    if (!isCombinator(token)) {
      simple.push(token)
      continue
    }
    if (simple.length > 0) parts.push({ combinator, simple })
    combinator = token
    simple = []
  }
  return [...parts, { combinator, simple }]
}

function isCombinator({ type }: Selector): boolean {
  return (
    type === SelectorType.Descendant ||
    type === SelectorType.Child ||
    type === SelectorType.Adjacent ||
    type === SelectorType.Sibling
  )
}

/** A selector that begins with a combinator would match from the root. */
function textOf(parts: readonly Part[]): string {
  const tokens = parts.flatMap(({ combinator, simple }, index) =>
    index === 0 || combinator === null ? simple : [combinator, ...simple],
  )
  return stringify([tokens])
}

export function elements(count: number): string {
  return count === 1 ? '1 element' : `${count} elements`
}

function quoted(text: string): string {
  return `\`${text}\``
}
