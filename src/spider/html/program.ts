import type { AttributeTest, Compound, Selector } from './selector.js'
import { NAMES, type NameTable, nameTable, tagId } from './tags.js'

/** One thing to find on a page. */
export interface Rule {
  /** CSS, without the `@attribute` extension of spiders. */
  readonly selector: Selector
  readonly pick: Pick
  /** Only the first match in document order is wanted. */
  readonly first: boolean
  /** Leave out elements whose `rel` says nofollow. */
  readonly skipNofollow: boolean
  /** Leave out elements of svg and math. */
  readonly htmlOnly?: boolean
}

/**
 * `attribute`: elements without it do not count. `html`: the inner HTML, which needs the tree. `page-text`: see page-text.ts; for the body only, once
 * per program.
 */
type Pick =
  | { readonly kind: 'text' }
  | { readonly kind: 'page-text'; readonly limit: number; readonly xml?: true }
  | { readonly kind: 'html' }
  | { readonly kind: 'attribute'; readonly name: string }

/** One compound of one chain, as the scanner tries it on an element. */
export interface Step {
  /** Bit that an ancestor (or the parent) must carry; 0 for the first compound of a chain. */
  readonly needs: number
  readonly child: boolean
  readonly classBits: number
  /** [slot of the attribute, test] */
  readonly attributes: readonly { readonly slot: number; readonly test: AttributeTest['test'] }[]
  /** Bit that an element matching this compound carries; 0 for the last compound of a chain. */
  readonly gives: number
  /** Index of the rule, for the last compound. */
  readonly rule: number
}

/** Rules compiled so that one pass over the tags answers all of them. */
export interface Program {
  readonly rules: readonly ProgramRule[]
  readonly tags: NameTable
  readonly attributes: NameTable
  /** The bit of classes[i] is 1 << i. */
  readonly classes: readonly string[]
  /** Whether some class has this length and first character: 32 × length + character, both modulo 32. */
  readonly classHints: Uint8Array
  /** Steps that name a tag, by the tag's id. */
  readonly tagSteps: readonly (readonly Step[])[]
  /** Whether more than the class of a tag is asked for, by the tag's id; ids outside the table are like id 0. */
  readonly readsAll: Uint8Array
  /** Steps for any tag that need a class, and those that do not. */
  readonly classSteps: readonly Step[]
  readonly otherSteps: readonly Step[]
}

interface ProgramRule {
  /** Index among the rules that were compiled together. */
  readonly index: number
  /** Slot of the attribute that is picked; 0 for text. */
  readonly slot: number
  readonly first: boolean
  readonly skipNofollow: boolean
  readonly htmlOnly: boolean
  /** Characters of the text of the page; 0: this rule picks something else. */
  readonly pageText: number
}

/** Slots of the attributes the scanner itself needs. */
export const CLASS_SLOT = 1
export const REL_SLOT = 2
export const TYPE_SLOT = 3

/** State lives in the bits of one small integer, so a program holds this many ancestors' compounds and class names. */
const MAX_BITS = 30

/** As few programs as the bits allow (nearly always one), or null when a rule needs the tree. */
export function compilePrograms(rules: readonly Rule[]): readonly Program[] | null {
  const programs: Program[] = []
  let group: [number, Rule][] = []
  let bits = 0
  let classes = new Set<string>()
  for (const [index, rule] of rules.entries()) {
    const { chains } = rule.selector
    if (chains === null || rule.pick.kind === 'html') return null
    const own = chains.reduce((sum, chain) => sum + chain.length - 1, 0)
    const ownClasses = chains.flatMap((chain) => chain.flatMap((compound) => compound.classes))
    const union = new Set([...classes, ...ownClasses])
    if (own > MAX_BITS || new Set(ownClasses).size > MAX_BITS) return null
    if (bits + own > MAX_BITS || union.size > MAX_BITS) {
      programs.push(link(group))
      group = []
      bits = 0
      classes = new Set(ownClasses)
    } else classes = union
    bits += own
    group.push([index, rule])
  }
  programs.push(link(group))
  return programs
}

function link(group: readonly (readonly [number, Rule])[]): Program {
  const tagNames = [...NAMES]
  const attributeNames = ['', 'class', 'rel', 'type']
  const classNames: string[] = []
  const idOf = (names: string[], name: string): number => {
    const known = names.indexOf(name, 1)
    return known > 0 ? known : names.push(name) - 1
  }
  const classOf = (name: string): number => {
    const known = classNames.indexOf(name)
    return known >= 0 ? known : classNames.push(name) - 1
  }
  const byTag = new Map<number, Step[]>()
  const anyTag: Step[] = []
  const ruleRows: ProgramRule[] = []
  let bit = 0
  const step = (compound: Compound, needs: number, gives: number, rule: number): void => {
    const made: Step = {
      needs,
      child: compound.child,
      classBits: compound.classes.reduce((sum, name) => sum | (1 << classOf(name)), 0),
      attributes: compound.attributes.map(({ name, test }) => ({ slot: idOf(attributeNames, name), test })),
      gives,
      rule,
    }
    if (compound.tag === null) anyTag.push(made)
    else {
      const id = tagId(compound.tag) || idOf(tagNames, compound.tag)
      const list = byTag.get(id)
      if (list === undefined) byTag.set(id, [made])
      else list.push(made)
    }
  }
  for (const [index, rule] of group) {
    const row = ruleRows.length
    const slot = rule.pick.kind === 'attribute' ? idOf(attributeNames, rule.pick.name) : 0
    const pageText = rule.pick.kind === 'page-text' ? rule.pick.limit : 0
    const { first, skipNofollow, htmlOnly = false } = rule
    ruleRows.push({ index, slot, first, skipNofollow, htmlOnly, pageText })
    for (const chain of rule.selector.chains ?? []) {
      let needs = 0
      for (const [position, compound] of chain.entries()) {
        const last = position === chain.length - 1
        const gives = last ? 0 : 1 << bit++
        step(compound, needs, gives, last ? row : -1)
        needs = gives
      }
    }
  }
  // A step for any tag may test or pick any attribute.
  const picks = anyTag.some((made) => made.classBits === 0 || made.attributes.length > 0 || ruleRows[made.rule]?.slot)
  const classHints = new Uint8Array(1024)
  for (const name of classNames) classHints[classHint(name.length, name.charCodeAt(0))] = 1
  return {
    rules: ruleRows,
    tags: nameTable(tagNames),
    attributes: nameTable(attributeNames),
    classes: classNames,
    classHints,
    tagSteps: tagNames.map((_, id) => byTag.get(id) ?? []),
    readsAll: Uint8Array.from(tagNames, (name, id) => (picks || byTag.has(id) || name === 'input' ? 1 : 0)),
    classSteps: anyTag.filter((made) => made.classBits !== 0),
    otherSteps: anyTag.filter((made) => made.classBits === 0),
  }
}

export function classHint(length: number, firstChar: number): number {
  return ((length & 31) << 5) | (firstChar & 31)
}

export function saysNofollow(rel: string): boolean {
  return /(?:^|[\s,])nofollow(?:$|[\s,])/i.test(rel)
}
