import { parseHtml } from '../../../src/spider/html/parse-html.js'
import { compilePrograms, type Rule } from '../../../src/spider/html/program.js'
import { Scanner } from '../../../src/spider/html/scan.js'
import { parseSelector } from '../../../src/spider/html/selector.js'
import { compileMatcher, runOnTree } from '../../../src/spider/html/tree.js'

/** One of each kind of selector that the scanner answers, over every element whose place in the tree is a puzzle. */
export const SELECTORS: readonly string[] = [
  '*',
  'div',
  'p',
  'a[href]',
  'a[href]@href',
  '.x',
  '.x.y',
  '.x .y',
  '#one',
  'div p',
  'div > p',
  'ul li a',
  'table td',
  'tbody > tr > td',
  'tr',
  'body',
  'html > body > *',
  'head',
  'head > *',
  'title',
  'li',
  'dt, dd',
  'option',
  'select option',
  'svg',
  'path',
  'use',
  '[href]',
  '[data-x]@data-x',
  '[class~=x]',
  '[class^=y]',
  '[class$=x]',
  '[class*="a&"]',
  '[lang|=en]',
  '[lang=en]',
  '[type=hidden]',
  'html',
  'my-tag',
  'form input',
  'form *',
  'b a',
  'a b',
  'span span',
  'p > span',
  'noscript img',
  'template',
  'pre',
  'script',
  '[title]@title',
  '[viewbox]',
  '[xlink\\:href]@xlink:href',
  'h1',
  'h2, .y',
  'td *',
  'foreignobject',
  'button',
  'object *',
  'textarea',
  'caption, col',
  'page-text 5000',
]

/** A program that asks for so little that the scanner skips most attributes. */
export const FEW_SELECTORS: readonly string[] = [
  'a[href]@href',
  'h1',
  '.x',
  '.x.y',
  '.x .y',
  'td > .y',
  'title',
  'li',
  'page-text 10',
]

/** What `shoal crawl` asks for: nothing else listens to the text. */
export const PAGE_TEXT: readonly string[] = ['page-text 5000', 'a[href]@href']

export interface Comparison {
  /** What the scanner found per selector, or null when it was not sure. */
  scanned(html: string): Record<string, string[]> | null
  onTree(html: string): Record<string, string[]>
}

export function compareFor(selectors: readonly string[]): Comparison {
  const rules = selectors.map((source) => textRule(source, { first: false }))
  const matchers = rules.map((rule) => compileMatcher(rule.selector.css))
  const scanners = (compilePrograms(rules) ?? []).map((program) => new Scanner(program))
  const named = (found: readonly string[][]): Record<string, string[]> =>
    Object.fromEntries(selectors.map((selector, index) => [selector, found[index] ?? []]))
  return {
    scanned(html) {
      const found: string[][] = rules.map(() => [])
      return scanners.every((scanner) => scanner.run(html, found)) ? named(found) : null
    },
    onTree: (html) => named(runOnTree(rules, matchers, parseHtml(html))),
  }
}

/** A selector; or `page-text 5000`, the text of the page up to so many characters. */
export function textRule(source: string, { first }: { first: boolean }): Rule {
  const limit = /^page-text (\d+)$/.exec(source)?.[1]
  if (limit !== undefined) {
    const pick: Rule['pick'] = { kind: 'page-text', limit: Number(limit) }
    return { selector: parseSelector('body'), pick, first, skipNofollow: false }
  }
  const selector = parseSelector(source)
  const pick: Rule['pick'] =
    selector.attribute === null ? { kind: 'text' } : { kind: 'attribute', name: selector.attribute }
  return { selector, pick, first, skipNofollow: false }
}
