import { createRequire } from 'node:module'
import type { AnyNode, Document, Element } from 'domhandler'
import { cssSelect } from './css-select.js'
import { tooComplex } from './limits.js'
import { parsePage } from './parse-page.js'
import type { Rule } from './program.js'
import { badSelector, type Selector } from './selector.js'
import { elementsOf, type Matcher, pickedValue, type TextBudget } from './tree.js'

const require = createRequire(import.meta.url)

/** The rules of a record, run inside each element that a selector matches. */
export interface EachExtractor {
  /** Per element, in document order: per rule the values of its matches inside the element. */
  run(text: string, mediaType: string): readonly (readonly string[])[][]
}

/** Elements tested against a rule, per page: elements inside elements are walked through once for each. About 0.5 s of CPU. */
const MAX_TESTS = 5_000_000

/**
 * Selectors are relative to the element: `h2` is one below it, `:scope > h2` a child, `:scope@data-id` an attribute of the element itself. As in the
 * DOM and in Scrapy, the element may be the first part of a longer selector: `.product h2` works inside a `.product`.
 */
export function compileEachExtractor(each: Selector, rules: readonly Rule[]): EachExtractor {
  let html: Compiled | null = compile(each, rules, false)
  let xml: Compiled | null = null
  return {
    run(text, mediaType) {
      const page = parsePage(text, mediaType)
      if (page.xml) xml ??= compile(each, rules, true)
      else html ??= compile(each, rules, false)
      return runEach((page.xml ? xml : html) as Compiled, rules, page.root)
    },
  }
}

interface Compiled {
  readonly each: Matcher
  readonly matchers: readonly Matcher[]
  /** The element that `:scope` means, as the only item: css-select reads it whenever it tests an element. */
  readonly scope: [AnyNode]
}

function compile(each: Selector, rules: readonly Rule[], xml: boolean): Compiled {
  const { compile } = cssSelect()
  // css-select makes selectors relative only if it is given an element that has a parent.
  const { Element: ElementNode } = require('domhandler') as typeof import('domhandler')
  const placeholder = new ElementNode('placeholder', {})
  placeholder.parent = new ElementNode('parent', {})
  const scope: [AnyNode] = [placeholder]
  const compiled = (css: string, context?: [AnyNode]): Matcher => {
    try {
      return compile<AnyNode, Element>(css, { xmlMode: xml, ...(context !== undefined && { context }) })
    } catch (cause) {
      throw badSelector(css, cause)
    }
  }
  return { each: compiled(each.css), matchers: rules.map((rule) => compiled(rule.selector.css, scope)), scope }
}

function runEach({ each, matchers, scope }: Compiled, rules: readonly Rule[], root: Document): string[][][] {
  const { selectAll } = cssSelect()
  let tests = 0
  const budget: TextBudget = { textLength: 0 }
  return selectAll<AnyNode, Element>(each, root).map((element) => {
    scope[0] = element
    return rules.map((rule, index) => {
      const matcher = matchers[index] as Matcher
      const found: string[] = []
      const add = (candidate: Element): void => {
        if (++tests > MAX_TESTS) throw tooComplex('has too many elements inside the elements of a record')
        const value = matcher(candidate) ? pickedValue(rule, candidate, budget) : undefined
        if (value !== undefined) found.push(value)
      }
      if (isScopeItself(rule.selector.css)) add(element)
      for (const candidate of elementsOf(element)) {
        if (rule.first && found.length > 0) break
        add(candidate)
      }
      return found
    })
  })
}

function isScopeItself(css: string): boolean {
  const last = css.split(/[\s>+~]/).at(-1) ?? ''
  return /:scope(?![\w-])/i.test(last)
}
