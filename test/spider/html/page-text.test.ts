import { describe, expect, it } from 'vitest'
import { compileExtractor } from '../../../src/spider/html/extract.js'
import { parseHtml } from '../../../src/spider/html/parse-html.js'
import { compileMatcher, runOnTree } from '../../../src/spider/html/tree.js'
import { textRule } from './compare.js'

const extractor = compileExtractor([textRule('page-text 5000', { first: true })])
const textOf = (html: string) => extractor.run(html)[0]?.[0]

/** [page, its text] */
const PAGES: readonly (readonly [string, string])[] = [
  ['<p>Hello,\n  <b>W</b>orld</p>', 'Hello, World'],
  ['<p>one<p>two', 'one two'],
  ['<body>', ''],
  ['', ''],
  ['just text', 'just text'],
  ['<title>t</title>text without a body tag', 'text without a body tag'],
  ['<h1>a</h1>b<br>c<hr>d', 'a b c d'],
  ['<ul><li>a<li>b</ul><dl><dt>c<dd>d</dl>', 'a b c d'],
  ['<table><tr><td>a<td>b<tr><td>c</table>d', 'a b c d'],
  ['<span>a</span><span>b</span>', 'ab'],
  ['<div>a<div>b</div>c</div>d', 'a b c d'],
  ['<p>a<script>x</script>b<style>y</style>c', 'abc'],
  ['<div>a<noscript><p>x</p>y</noscript>b', 'ab'],
  // The end tag of noscript is ignored while a paragraph is open.
  ['<div>a<noscript><p>x<br></noscript>b', 'a'],
  ['<div>a<noscript><p>x</div>b', 'a b'],
  ['<p>a<template>x<p>y</template>b', 'ab'],
  ['<iframe><p>fallback</p></iframe>b', 'b'],
  ['<svg><title>t</title><style>s</style><text>a</text></svg>b', 'ab'],
  ['a&nbsp;&amp;&#32;b&lt;', 'a & b<'],
  ['<pre>\na\n  b</pre>', 'a b'],
  ['<textarea>a</textarea>b', 'a b'],
  ['<select><option>a<option>b</select>', 'a b'],
  ['<p>日本語<p>テキスト', '日本語 テキスト'],
  ['a<!-- x -->b<?y?>c', 'abc'],
  ['</body></html>late', 'late'],
  ['<button>a</button><button>b</button>', 'a b'],
]

describe('the text of a page', () => {
  it.each(PAGES)('of %j is %j', (html, expected) => {
    expect(textOf(html)).toBe(expected)
  })

  it.each(PAGES)('is the same on the tree: %j', (html, expected) => {
    const rules = [textRule('page-text 5000', { first: true })]
    expect(runOnTree(rules, [compileMatcher('body')], parseHtml(html))).toEqual([[expected]])
  })

  it('ends at the limit, on a whole character', () => {
    const [short, odd] = ['page-text 6', 'page-text 5'].map((source) =>
      compileExtractor([textRule(source, { first: true })]),
    )
    expect(short?.run('<p>abc 😀 def')).toEqual([['abc 😀']])
    expect(odd?.run('<p>abc 😀 def')).toEqual([['abc']])
  })

  it('stops listening when it is full: the rest of a large page costs no text', () => {
    const rules = [textRule('page-text 5000', { first: true }), textRule('a[href]@href', { first: false })]
    const html = `${'<p>word &amp; word</p>'.repeat(100_000)}<a href="/end">x</a>`
    const [text, links] = compileExtractor(rules).run(html)
    expect(text?.[0]).toHaveLength(5_000)
    expect(links).toEqual(['/end'])
  })

  it('keeps captures of other rules alive after it is full', () => {
    const rules = ['page-text 3', 'div', 'p'].map((source) => textRule(source, { first: false }))
    expect(compileExtractor(rules).run('<div>ab<p>cd</p>ef<p>gh</p></div>')).toEqual([
      ['ab'],
      ['abcdefgh'],
      ['cd', 'gh'],
    ])
  })
})
