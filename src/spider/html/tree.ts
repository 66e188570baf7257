import type { AnyNode, ChildNode, Document, Element, ParentNode } from 'domhandler'
import { isHtmlElement } from './base-url.js'
import { cssSelect } from './css-select.js'
import { MAX_TEXT, tooComplex } from './limits.js'
import { textOfTree } from './page-text.js'
import { innerHtml } from './parse-html.js'
import { type Rule, saysNofollow } from './program.js'
import { badSelector } from './selector.js'

/**
 * The slow and certain way: the tree of a spec-compliant parser, and css-select. Selectors see what a browser without scripts would show them: names
 * in lower case, `xlink:href` separate from `href`, contents of noscript as elements, contents of templates not at all.
 */
export function runOnTree(rules: readonly Rule[], matchers: readonly Matcher[], root: Document): string[][] {
  const budget: TextBudget = { textLength: 0 }
  const found: string[][] = rules.map(() => [])
  // One walk for all rules: each of its own took a third of the time of parsing a page for `shoal crawl`.
  for (const element of elementsOf(root)) {
    for (let index = 0; index < rules.length; index++) {
      const rule = rules[index] as Rule
      const values = found[index] as string[]
      if ((rule.first && values.length > 0) || matchers[index]?.(element) !== true) continue
      const value = pickedValue(rule, element, budget)
      if (value !== undefined) values.push(value)
    }
  }
  return found
}

/** Every element below a node, in document order. */
export function* elementsOf(node: ParentNode): Generator<Element> {
  const left: ChildNode[] = []
  const add = (children: readonly ChildNode[]): void => {
    for (let n = children.length - 1; n >= 0; n--) left.push(children[n] as ChildNode)
  }
  add(node.children)
  for (let child = left.pop(); child !== undefined; child = left.pop()) {
    if (!('attribs' in child)) continue
    yield child
    add(child.children)
  }
}

/** Characters of text that were read from a page so far. */
export interface TextBudget {
  textLength: number
}

/** What a rule picks from an element that its selector matches; undefined if the element does not count. */
export function pickedValue(rule: Rule, element: Element, budget: TextBudget): string | undefined {
  if (rule.htmlOnly === true && !isHtmlElement(element)) return undefined
  if (rule.skipNofollow && saysNofollow(element.attribs.rel ?? '')) return undefined
  const { pick } = rule
  if (pick.kind === 'attribute') return element.attribs[pick.name]
  if (pick.kind === 'html') return innerHtml(element)
  if (pick.kind === 'page-text') return textOfTree(element, pick)
  const text = textOf(element)
  budget.textLength += text.length
  if (budget.textLength > MAX_TEXT) throw tooComplex(`produces more than ${MAX_TEXT} characters of text`)
  return text
}

export type Matcher = (element: Element) => boolean

export function compileMatcher(css: string, { xml = false } = {}): Matcher {
  try {
    return cssSelect().compile<AnyNode, Element>(css, { xmlMode: xml })
  } catch (cause) {
    throw badSelector(css, cause)
  }
}

/** Like textContent of the DOM: all text below, without comments. */
function textOf(element: Element): string {
  let text = ''
  for (const child of element.children) {
    if (child.type === 'text') text += child.data
    else if ('attribs' in child) text += textOf(child)
  }
  return text
}
