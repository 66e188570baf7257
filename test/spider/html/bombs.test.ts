import { expect, it } from 'vitest'
import { ShoalError } from '../../../src/errors.js'
import { compileExtractor } from '../../../src/spider/html/extract.js'
import { loadPage } from '../../../src/spider/html/load-cheerio.js'
import { findPagination } from '../../../src/spider/pagination.js'
import { cpuMs } from '../../support/cpu-time.js'
import { textRule } from './compare.js'

const BYTES = 40_000
const URL_HERE = 'https://x.example/'

function filled(unit: string, bytes = BYTES): string {
  return unit.repeat(Math.ceil(bytes / unit.length))
}

function numbered(item: (n: number) => string, count = BYTES / 10): string {
  return Array.from({ length: count }, (_, n) => item(n)).join('')
}

const PLAIN = filled('<div class="card"><h2><a href="/p/1">Title</a></h2><p>Some text <b>here</b></p></div>\n')

/** Each of these is 40 KB, and has taken seconds somewhere: in the parser, in selectors, or while text is collected. */
const BOMBS: Readonly<Record<string, string>> = {
  'attributes of one element': `<p ${numbered((n) => `a${n}=1 `)}>x`,
  'attributes of one element of svg': `<svg ${numbered((n) => `A${n}=1 `)}>x`,
  'one attribute again and again': `<p ${filled('a=1 ')}>x`,
  'attributes for the body': numbered((n) => `<body a${n}=1>`, BYTES / 16),
  'open formatting elements': filled('<b>'),
  'different open formatting elements': numbered((n) => `<b a=${n}>`),
  'formatting elements that every paragraph opens again': numbered((n) => `<b a=${n}>`, 400) + filled('<p>x'),
  'links in links': filled('<a href=x>'),
  'links around blocks': filled('<a><div>'),
  'misnested formatting': filled('<b><i></b></i>'),
  'formatting around paragraphs': filled('<b><p></b>'),
  'tables in tables': filled('<table>'),
  'text in front of a table': `<table>${filled('x<tr>')}`,
  'elements in front of a table': `<table>${filled('<b>x</b>')}`,
  'elements in front of a table, after many others': `${filled('<p>x</p>', BYTES / 2)}<table>${filled('<i>x</i>', BYTES / 2)}`,
  'open blocks': filled('<div>'),
  'open lists': filled('<ul><li>'),
  'end tags in open elements': filled('<span>', BYTES / 2) + filled('</x>', BYTES / 2),
  'end tags of paragraphs in open blocks': filled('<div>', BYTES / 2) + filled('</p>', BYTES / 2),
  'svg in svg': filled('<svg>'),
  'open elements of svg': `<svg>${filled('<g>')}`,
  options: `<select>${filled('<option>')}`,
  'selects in selects': filled('<select><div>'),
  'templates in templates': filled('<template>'),
  siblings: filled('<i></i>'),
  'items of a list': `<ul>${filled('<li>x')}`,
  'a comment': `<!--${filled('- -!-')}-->`,
  'less-than signs': filled('<'),
  ampersands: filled('&am'),
  classes: `<p class="${filled('x y ')}">z`,
  'names of tags': numbered((n) => `<x${n}>`),
}

const SELECTORS = ['p', 'a[href]@href', '.x .y', 'title']
const scanner = compileExtractor(SELECTORS.map((source) => textRule(source, { first: false })))
const tree = compileExtractor(
  [...SELECTORS, 'li:nth-child(2)', 'i:nth-last-of-type(3)', 'b + p'].map((source) =>
    textRule(source, { first: false }),
  ),
)

const WORK: Readonly<Record<string, (html: string) => unknown>> = {
  'rules of a route': (html) => scanner.run(html),
  'rules that need the tree': (html) => tree.run(html),
  'page.$': (html) => {
    const $ = loadPage(html, 'text/html', URL_HERE)
    return [$('p').text(), $('body').html(), $('li:nth-child(2)').text(), $('i:nth-of-type(3)').length]
  },
  'page.pagination': (html) =>
    findPagination(loadPage(html, 'text/html', URL_HERE), { url: URL_HERE, encoding: 'UTF-8' }),
}

/** CPU in ms; a page may be refused, but only by name. */
function cpuOf(work: (html: string) => unknown, html: string): number {
  return cpuMs(
    () => work(html),
    (error) => {
      expect(error).toBeInstanceOf(ShoalError)
      expect(error).toMatchObject({ code: 'html_too_complex' })
    },
  )
}

/** The tree of a plain page of 40 KB takes 15 ms; the bar is 250 ms of CPU for 100 KB of any page. */
const MOST_TIMES_PLAIN = 12
const LEAST_MS = (250 * BYTES) / 100_000

it.each(Object.entries(WORK))('%s take time in proportion to the page', (_, work) => {
  const onTree = (html: string) => tree.run(html)
  const plain = Math.min(cpuOf(onTree, PLAIN), cpuOf(onTree, PLAIN), cpuOf(onTree, PLAIN))
  const limit = Math.max(LEAST_MS, plain * MOST_TIMES_PLAIN)
  const slow = Object.entries(BOMBS).flatMap(([name, html]) => {
    let ms = cpuOf(work, html)
    // The least of five: what else the process does (compiling, collecting garbage) is part of what is measured.
    for (let turn = 1; turn < 5 && ms > limit; turn++) ms = Math.min(ms, cpuOf(work, html))
    return ms > limit ? [`${name}: ${Math.round(ms)} ms, a plain page ${Math.round(plain)} ms`] : []
  })
  expect(slow).toEqual([])
})
