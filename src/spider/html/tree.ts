import type { AnyNode, Document, Element } from 'domhandler'
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
  const { selectAll } = cssSelect()
  const budget: TextBudget = { textLength: 0 }
  return rules.map((rule, index) => {
    const found: string[] = []
    const matcher = matchers[index]
    if (matcher === undefined) return found
    for (const element of selectAll<AnyNode, Element>(matcher, root)) {
      const value = pickedValue(rule, element, budget)
      if (value === undefined) continue
      found.push(value)
      if (rule.first) break
    }
    return found
  })
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
  if (pick.kind === 'page-text') return textOfTree(element, pick.limit)
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
