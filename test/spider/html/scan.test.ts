import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ShoalError } from '../../../src/errors.js'
import { compileExtractor } from '../../../src/spider/html/extract.js'
import { runs } from '../../support/longer.js'
import { compareFor, FEW_SELECTORS, PAGE_TEXT, SELECTORS, textRule } from './compare.js'
import { asPage, soup, tameSoup, wellFormed } from './generate.js'

const NASTY_BUT_CERTAIN = [
  '',
  'just text',
  '<p>one<p>two<div>three</div>',
  '<!doctype html></div><p><table>',
  '<p><span>closed by a block<div>x</div>',
  '<ul><li>a<li>b<ul><li>c</ul><li>d</ul>',
  '<dl><dt>a<dd>b<dt>c</dl>',
  '<table><tr><td>1<td>2<tr><th>3</table>',
  '<table><td>implied row</table>after',
  '<table><col><tr><td><table><tr><td>inner</table></table>',
  '<table><form><tr><td><input></form></table>',
  '<table><input type=hidden><tr><td>x</table>',
  '<table> <!-- c --> <tr> <td> x </td> </tr> </table>',
  '<table><tr><td><b>forgotten at the end of the cell<td>plain</table>',
  '<select><optgroup><option>1<option>2<optgroup><option>3</select>',
  '<h1>a<h2>b</h2>',
  '</p>x</br>y',
  '<a href=1>one<a href=2>two</a>',
  '<a href=1><span>two</a>',
  '<b>x</i></b></b>',
  '<div></span></div></div></section>',
  '<button>a<button>b</button>',
  '<form><form class=x></form><input></form>',
  '<pre>\n\nx</pre><textarea>\n\n<b></textarea><listing>\r\ny</listing>',
  '<pre>&#10;x</pre><pre></>\nx</pre>',
  '<script><!-- </script><p>x',
  '<script>"<!--" </script><p class=x>',
  '<style></styles></style ><p>x',
  '<TITLE>a &lt; b</tItLe x="y"><p>',
  '<svg><a href=x><path/><title>t</title></a></svg><p>x',
  '<svg/><p>x<math><mi>x</mi></math>',
  '<svg viewBox=1><foreignObject>text</foreignObject></svg>',
  '<!-->x<!--->y<!-- --!>z<!--a--b-->',
  '<!doctype html><p><table></table>',
  '<?php echo 1 > 2 ?><p>',
  '<a b=c/d e>x</a><br/class=x><img/src=x>',
  '<a href=x"y\'z title=>t</a>',
  '<p class="x',
  '<p>text<',
  '<p>text</',
  '<p title=\'a>b\' title="second">',
  '<div\nclass\n=\n"x"\n>',
  '<html class=x><head></head> <body class=y>',
  '<head><noscript><link href=x></noscript><meta></head>',
  '<head><noscript><img class=x></noscript><meta></head><body>',
  '<body></body></html> trailing <p>x',
  '<template><p class=x><template></template><script></template></script></template><p>',
  '<template><tr><td>1</td><td><b>2</td></tr></template>x',
  '<ruby>a<rp>(<rt>b<rp>)</ruby>',
  '<object><b>x</object>y',
  'a &amp &ampx; &notit; &#0; &#x110000; &#128; &nosuch; <a href="?a=1&copy=2&copy;&copyx">',
  '<p class="a&#x20;x">',
  '<p class="x\u000by">',
  '<p CLASS=X class=x>',
  '\ufefftext',
]

const NEEDS_TREE = [
  // An end tag is ignored at the start, but a doctype after it is too late: quirks mode keeps the paragraph open.
  '</div><!doctype html><p><table>',
  '<b><p>x</b>y</p>',
  '<p><b>x</p>y',
  '<table>foster<tr><td>x</table>',
  '<table><div>x</div></table>',
  '<a href=1><div><a href=2>x</a></div></a>',
  '<svg><p>out</svg>',
  '<svg><![CDATA[x<p>]]></svg>',
  '<p><table></table>',
  '<!doctype><p><table></table>',
  '<select><div>x</div></select>',
  '<form><div></form></div>',
  '<frameset><frame src=x></frameset>',
  '<script><!--<script></script>--></script><p>',
  '<p>a\0b',
  '<plaintext><p>',
  '<image src=x>',
  '<template><em><object></template>text',
  '<template><td></template>text',
]

describe.each([
  ['many rules', SELECTORS],
  ['few rules', FEW_SELECTORS],
  ['the text of the page', PAGE_TEXT],
])('the scanner with %s', (_, selectors) => {
  const { scanned, onTree } = compareFor(selectors)

  /** Deep equality is slow, and nearly always there is nothing to show. */
  function expectSame(found: Record<string, string[]> | null, html: string): void {
    const expected = onTree(html)
    if (JSON.stringify(found) !== JSON.stringify(expected)) expect(found).toEqual(expected)
  }

  it.each(NASTY_BUT_CERTAIN)('answers like a spec parser, and is sure: %j', (html) => {
    expect(scanned(html)).toEqual(onTree(html))
  })

  it.each(NEEDS_TREE)('leaves it to the tree: %j', (html) => {
    expect(scanned(html)).toBeNull()
  })

  const directory = new URL('./fixtures/', import.meta.url)
  const fixtures = readdirSync(directory)
  it.each(fixtures)('reads %s like a spec parser', (file) => {
    const html = readFileSync(new URL(file, directory), 'utf8')
    const found = scanned(html)
    if (file.startsWith('sloppy')) expect(found).toBeNull()
    else expect(found).toEqual(onTree(html))
  })

  it('puts late head elements into the head', () => {
    const html = '<head></head><script>x</script><title>late</title><body>'
    const found = scanned(html)
    if (selectors === FEW_SELECTORS || found !== null) expect(found).toEqual(onTree(html))
  })

  it('never contradicts the tree on tag soup', () => {
    let sure = 0
    const agrees = (html: string): void => {
      const found = scanned(html)
      if (found === null) return
      sure++
      expectSame(found, html)
    }
    fc.assert(fc.property(soup, agrees), { numRuns: runs(1500) })
    fc.assert(fc.property(tameSoup, agrees), { numRuns: runs(1500) })
    fc.assert(
      fc.property(
        tameSoup.map((html) => `<!doctype html><body>${html}`),
        agrees,
      ),
      { numRuns: runs(1500) },
    )
    expect(sure).toBeGreaterThan(1000)
  })

  it('is sure of every well-formed page', () => {
    fc.assert(
      fc.property(wellFormed.map(asPage), (html) => {
        expectSame(scanned(html), html)
      }),
      { numRuns: runs(1000) },
    )
  })

  it('never throws on random characters', () => {
    const markup = fc.string({ unit: fc.constantFrom(...'<>/!-="\' ab&;\n?[]'), maxLength: 60 })
    fc.assert(
      fc.property(fc.oneof(markup, fc.string({ unit: 'binary', maxLength: 80 })), (html) => {
        const found = scanned(html)
        if (found !== null) expectSame(found, html)
      }),
      { numRuns: runs(3000) },
    )
  })
})

describe('an extractor', () => {
  it('counts which pages needed the tree, with the same answers', () => {
    const extractor = compileExtractor([textRule('p', { first: false })])
    expect(extractor.run('<p>a<p>b')).toEqual([['a', 'b']])
    expect(extractor.run('<p>a<b>c</p>b')).toEqual([['ac']])
    expect(extractor.pages).toEqual({ scanned: 1, tree: 1 })
  })

  it('uses the tree for selectors that need it', () => {
    const extractor = compileExtractor([
      textRule('li:nth-child(2)', { first: true }),
      textRule('b + i', { first: true }),
    ])
    expect(extractor.run('<ul><li>a<li>b</ul><b>c</b><i>d</i>')).toEqual([['b'], ['d']])
  })

  it('splits many rules over several programs', () => {
    const sources = Array.from({ length: 50 }, (_, i) => `.outer${i} .inner${i}`)
    const html = sources.map((_, i) => `<div class="outer${i}"><p class="inner${i}">${i}</p></div>`).join('')
    const extractor = compileExtractor(sources.map((source) => textRule(source, { first: true })))
    expect(extractor.run(html)).toEqual(sources.map((_, i) => [String(i)]))
    expect(extractor.pages.scanned).toBe(1)
  })

  it.each(['', 'a[', 'a >', ':nosuch', 'a::before', '@href'])('refuses the selector %j', (source) => {
    const compile = () => compileExtractor([textRule(source, { first: true })])
    expect(compile).toThrowError(expect.objectContaining({ code: 'bad_selector' }))
  })

  it('ends with an error, not with a crash, on nesting bombs', () => {
    const extractor = compileExtractor([textRule('p', { first: true }), textRule('div', { first: false })])
    const bombs = [
      '<div>'.repeat(60_000),
      '<b>'.repeat(60_000),
      '<svg>'.repeat(60_000),
      '<table><tr><td>'.repeat(20_000),
    ]
    for (const bomb of bombs) expect(() => extractor.run(`${bomb}<p>x`)).toThrowError(ShoalError)
    const reopened = `<p>${Array.from({ length: 400 }, (_, i) => `<b id=${i}>`).join('')}</p>${'<p>x'.repeat(50_000)}`
    expect(() => extractor.run(reopened)).toThrowError(expect.objectContaining({ code: 'html_too_complex' }))
  })

  it('reads huge flat pages', () => {
    const extractor = compileExtractor([textRule('p', { first: true }), textRule('a@href', { first: false })])
    const attribute = 'x'.repeat(10_000_000)
    expect(extractor.run(`<div title="${attribute}"><p>a</p>`)[0]).toEqual(['a'])
    expect(extractor.run(`<p>a</p><div title="${attribute}`)[0]).toEqual(['a'])
    expect(extractor.run(`<p>a</p><!--${'-'.repeat(1_000_000)}`)[0]).toEqual(['a'])
    expect(extractor.run(`<p>a</p>${'<'.repeat(1_000_000)}`)[0]).toHaveLength(1)
    expect(extractor.run('<a href=x>'.repeat(200_000))[1]).toHaveLength(200_000)
    expect(extractor.pages.tree).toBe(0)
  })
})
