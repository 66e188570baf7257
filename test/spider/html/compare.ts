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
]

const rules: readonly Rule[] = SELECTORS.map((source) => {
  const selector = parseSelector(source)
  return {
    selector,
    pick: selector.attribute === null ? { kind: 'text' } : { kind: 'attribute', name: selector.attribute },
    first: false,
    skipNofollow: false,
  }
})
const matchers = rules.map((rule) => compileMatcher(rule.selector.css))
const scanners = (compilePrograms(rules) ?? []).map((program) => new Scanner(program))

/** What the scanner found per selector, or null when it was not sure. */
export function scanned(html: string): Record<string, string[]> | null {
  const found: string[][] = rules.map(() => [])
  return scanners.every((scanner) => scanner.run(html, found)) ? named(found) : null
}

export function onTree(html: string): Record<string, string[]> {
  return named(runOnTree(rules, matchers, html))
}

function named(found: readonly string[][]): Record<string, string[]> {
  return Object.fromEntries(SELECTORS.map((selector, index) => [selector, found[index] ?? []]))
}
