import { describe, expect, it } from 'vitest'
import { compileExtract } from '../../../src/spider/compile-extract.js'
import type { CheckedRoute } from '../../../src/spider/definition-schema.js'
import { compileHarvest } from '../../../src/spider/fields.js'
import { compileExtractor } from '../../../src/spider/html/extract.js'
import { createPage, type Page } from '../../../src/spider/page.js'
import type { FoundLink } from '../../../src/spider/spider.js'
import { textRule } from './compare.js'

/** What it is about, the page, a selector, and what Chromium 156 finds with scripts disabled: text, or the attribute after @. */
const BROWSER: readonly (readonly [string, string, string, readonly string[]])[] = [
  ['an implied tbody', '<table><tr><td>1<td>2</table>', 'table > tbody > tr > td', ['1', '2']],
  ['no tr directly inside a table', '<table><tr><td>1</table>', 'table > tr', []],
  ['an implied body', '<p>x', 'html > body > p', ['x']],
  ['an implied head', '<title>t</title><p>x', 'html > head > title', ['t']],
  ['a late head element', '<head></head><link href=/a><body><link href=/b>', 'head > link@href', ['/a']],
  ['a template has no children', '<template><p>in</p></template><p>out', 'p', ['out']],
  ['a template has no text', '<div>a<template>b</template>c</div>', 'div', ['ac']],
  ['a template in a table', '<table><template><tr><td>x</template><tr><td>y</table>', 'td', ['y']],
  ['content after the body', '<body><p>a</p></body></html><p>b', 'body > p', ['a', 'b']],
  ['a comment after the body', '<body>a</body><!--c-->b', 'body', ['ab']],
  ['a second body adds attributes', '<body class=a><p>x<body class=b id=i>', 'body@id', ['i']],
  ['a nested form is dropped', '<form id=a><form id=b><input name=x></form></form>', 'form@id', ['a']],
  ['a form between table and row', '<table><form id=f><tr><td><input></table>', 'form input', []],
  ['a block ends a paragraph', '<p>a<div>b</div>c', 'p', ['a']],
  ['a table in a paragraph, quirks', '<p>a<table><td>b</table>', 'p', ['ab']],
  ['a table in a paragraph, standards', '<!doctype html><p>a<table><td>b</table>', 'p', ['a']],
  ['an end tag of a paragraph that is not open', 'a</p>b', 'p', ['']],
  ['an end tag br', 'a</br>b', 'br', ['']],
  [
    'any element inside a select',
    '<select><option><b>x</b></option><div>y</div></select>',
    'select b, select div',
    ['x', 'y'],
  ],
  ['an input ends a select', '<select><option>a<input value=v>', 'select ~ input@value', ['v']],
  ['a select inside a select', '<select><option>a<select><option>b', 'select > option', ['a']],
  ['misnested b and i', '<b>1<i>2</b>3</i>', 'i', ['2', '3']],
  ['a link inside a link', '<a href=/1>a<p><a href=/2>b</a></p></a>', 'a@href', ['/1', '/1', '/2']],
  ['a block in a bold', '<b>a<p>b</b>c</p>', 'p > b', ['b']],
  ['formatting is opened again', '<p><b>x<p>y', 'b', ['x', 'y']],
  ['four bold, three again', '<p><b><b><b><b>x<p>y', 'p:last-child b b b', ['y']],
  ['text in a table moves out', '<table><tr>moved<td>x</table>', 'body', ['movedx']],
  ['an element in a table moves out', '<table><div>moved</div><tr><td>x</table>', 'div + table td', ['x']],
  ['a link in a table moves out', '<table><a href=/m>m</a><tr><td>x</table>', 'body > a@href', ['/m']],
  ['a frameset', '<frameset><frame src=/a><frame src=/b></frameset><p>x', 'frameset > frame@src', ['/a', '/b']],
  ['no body beside a frameset', '<frameset></frameset><p>x', 'body', []],
  ['svg keeps its case', '<svg viewBox="0 0 1 1"><linearGradient id=g></svg>', 'svg > linearGradient@id', ['g']],
  ['an attribute of svg', '<svg viewBox="0 0 1 1"></svg>', 'svg[viewBox]@viewBox', ['0 0 1 1']],
  ['xlink:href is not href', '<svg><use xlink:href="#a"></use><use href="#b"></use></svg>', 'use[href]@href', ['#b']],
  ['a paragraph ends svg', '<svg><g><p>x</p></g></svg>', 'svg p', []],
  ['html inside foreignObject', '<svg><foreignObject><p>x</p></foreignObject></svg>', 'foreignObject > p', ['x']],
  ['a self-closing element of svg', '<svg><a/><g/>x</svg>', 'svg > g', ['']],
  ['a self-closing div is open', '<div/>x', 'div', ['x']],
  ['math', '<math><mi>x</mi><annotation-xml encoding="text/html"><p>y</p></annotation-xml></math>', 'math p', ['y']],
  ['cdata in svg', '<svg><text><![CDATA[a<b>]]></text></svg>', 'text', ['a<b>']],
  ['cdata in HTML is a comment', '<p>a<![CDATA[b]]>c', 'p', ['ac']],
  ['void elements have no content', '<br>x</br><img src=/i>y</img>', 'img@src', ['/i']],
  ['plaintext never ends', '<p>a<plaintext><b>b</b>', 'plaintext', ['<b>b</b>']],
  ['noscript in the body has elements', '<noscript><img src=/n></noscript>', 'noscript > img@src', []],
  [
    'noscript in the head ends at the first element of the body',
    '<head><noscript><img src=/n></noscript>',
    'body > img@src',
    ['/n'],
  ],
  ['the first of two equal attributes', '<a href=/1 HREF=/2>x</a>', 'a@href', ['/1']],
  ['image is img', '<image src=/i>', 'img@src', ['/i']],
  ['isindex is an ordinary element', '<isindex prompt=x>y', 'isindex', ['y']],
  ['a NUL is dropped', '<p>a\0b', 'p', ['ab']],
  ['a NUL in an attribute', '<p title="a\0b">x', 'p@title', ['a�b']],
  ['CR LF is one newline', '<pre>a\r\nb\rc</pre>', 'pre', ['a\nb\nc']],
  ['the first newline of pre', '<pre>\n\na</pre>', 'pre', ['\na']],
  ['the first newline of a textarea', '<textarea>\n\na</textarea>', 'textarea', ['\na']],
  ['entities without semicolon', '<p>&copy2 &notit; &ampx', 'p', ['©2 ¬it; &x']],
  ['entities in an attribute', '<a href="?a=1&copy=2&copy;&copyx">x</a>', 'a@href', ['?a=1&copy=2©&copyx']],
  ['numeric entities of windows-1252', '<p>&#128;&#150;&#0;&#xD800;', 'p', ['€–��']],
  ['ruby', '<ruby>a<rt>b<rp>c<rt>d</ruby>', 'ruby > rt', ['b', 'd']],
  ['definition lists', '<dl><dt>a<dd>b<dt>c</dl>', 'dl > dt', ['a', 'c']],
  ['lists in lists', '<ul><li>a<ul><li>b</ul><li>c</ul>', 'ul > li', ['ab', 'b', 'c']],
  ['a heading in a heading', '<h1>a<h2>b</h2>', 'h1 > h2', []],
  ['a button in a button', '<button>a<button>b', 'button', ['a', 'b']],
  ['options out of a select', '<option>a<option>b', 'body > option', ['a', 'b']],
  ['a caption', '<table><caption>a<tr><td>b</table>', 'caption', ['a']],
  ['columns', '<table><col><tr><td>x</table>', 'table > colgroup > col', ['']],
  ['a hidden input in a table', '<table><input type=hidden value=v><tr><td>x</table>', 'table > input@value', ['v']],
  ['a script in a comment in a script', '<script><!--<script>a</script>--></script><p>x', 'p', ['x']],
  ['raw text', '<style><b>x</b></style><xmp><b>y</b></xmp><iframe><b>z</b></iframe>', 'b', []],
  ['a title is text', '<title><b>x</title>', 'title', ['<b>x']],
  ['a tag in upper case', '<DIV CLASS=X>x</DIV>', 'div.X', ['x']],
  ['an unclosed tag at the end', '<p>a<a href="/x', 'p', ['a']],
  ['an unclosed comment', '<p>a<!-- b <p>c', 'p', ['a']],
  ['a comment that ends early', '<!--><p>a<!---><p>b', 'p', ['a', 'b']],
  ['a processing instruction is no text', '<p>a<?php echo 1 > 2 ?>', 'p', ['a 2 ?>']],
  ['a list item in a div in a list item', '<ul><li><div><li>x</ul>', 'ul > li', ['', 'x']],
  ['nobr', '<nobr>a<nobr>b', 'nobr + nobr', ['b']],
  ['an applet keeps formatting inside', '<applet><b>x</applet>y', 'b', ['x']],
  ['a space between table rows', '<table>\n<tr>\n<td>x</table>', 'tr', ['\nx']],
  ['a custom element', '<my-tag>a<p>b</my-tag>c', 'my-tag', ['abc']],
]

function page(body: string, contentType = 'text/html; charset=utf-8'): Page {
  return createPage({
    url: 'https://x.example/a/b',
    requestedUrl: 'https://x.example/a/b',
    status: 200,
    headers: { 'content-type': contentType },
    body: Buffer.from(body),
    route: 'r',
    depth: 1,
    attempt: 1,
    data: null,
  })
}

/** Through `page.$`, and as strings: what is not there is left out. */
function found({ $ }: Page, selector: string): string[] {
  const [css = '', attribute] = selector.split('@')
  return $(css)
    .toArray()
    .map((element) => (attribute === undefined ? $(element).text() : ($(element).attr(attribute) ?? '')))
}

describe('the tree of a page is that of a browser', () => {
  it.each(BROWSER)('%s', (_, html, selector, expected) => {
    expect(found(page(html), selector)).toEqual(expected)
    const extractor = compileExtractor([textRule(selector, { first: false })])
    expect(extractor.run(html)).toEqual([expected])
  })

  it('prints it as innerHTML does', () => {
    const html =
      '<svg viewBox="0 0"><linearGradient/><use xlink:href="#a"/></svg><template><tr><td>x</template><noscript>a &lt; b</noscript>'
    const inner =
      '<svg viewBox="0 0"><linearGradient></linearGradient><use xlink:href="#a"></use></svg><template><tr><td>x</td></tr></template><noscript>a &lt; b</noscript>'
    const { $ } = page(`<div>${html}</div>`)
    expect($('div').html()).toBe(inner)
    expect($.html('template')).toBe('<template><tr><td>x</td></tr></template>')
    expect($('template').html()).toBe('<tr><td>x</td></tr>')
    expect($.html()).toBe(`<html><head></head><body><div>${inner}</div></body></html>`)
    const harvester = compileHarvest({ fields: { inner: { select: 'div', as: 'html' } } })
    expect(harvester.run(page(`<div>${html}</div>`)).fields).toEqual({ inner })
  })

  it('reads fragments that a spider adds by the same rules', () => {
    const { $ } = page('<table><tbody></tbody></table><template>old</template><div></div>')
    $('tbody').append('<tr><td>1')
    $('tbody').append($('<tr><td>2'))
    $('div').html('<p>a<p>b<template><i>c</i></template>')
    $('template').first().html('new')
    expect($('tbody > tr > td').text()).toBe('12')
    expect($('div').html()).toBe('<p>a</p><p>b<template><i>c</i></template></p>')
    expect($('div i')).toHaveLength(0)
    expect($('template').first().html()).toBe('new')
  })

  it('finds attributes whatever they are called', () => {
    const { $ } = page('<p __proto__=a constructor=b toString=c>x</p><p>y</p>')
    const extractor = compileExtractor([
      textRule('p@constructor', { first: false }),
      textRule('p:not([x])@__proto__', { first: false }),
    ])
    expect($('p').attr('__proto__')).toBe('a')
    expect($('[tostring]')).toHaveLength(1)
    expect(extractor.run('<p __proto__=a constructor=b>x</p><p>y</p>')).toEqual([['b'], ['a']])
  })

  it('is cut off at the depth of browsers', () => {
    const { $ } = page(`${'<div>'.repeat(600)}<p>x</p><a href=/deep>y</a>`)
    expect($('p').parents()).toHaveLength(512)
    expect($('div')).toHaveLength(600)
    expect($('body').text()).toBe('xy')
  })
})

describe('the base of a page', () => {
  const HARVESTER = compileHarvest({ links: [{}], fields: { link: { select: 'a@href', as: 'url' } } })

  it.each([
    ['of svg does not count', '<svg><base href="https://wrong.example/"/></svg>', null],
    ['of math does not count', '<math><base href="https://wrong.example/"/></math>', null],
    ['inside a template does not count', '<template><base href="https://wrong.example/"></template>', null],
    ['needs an href', '<base target=_top><base href="/base/">', 'https://x.example/base/'],
    ['is the first one', '<base href="/base/"><base href="https://wrong.example/">', 'https://x.example/base/'],
    ['may be in the body', '<p>x<base href="/base/">', 'https://x.example/base/'],
    ['after svg counts', '<svg><base href="/no/"/></svg><base href="/base/">', 'https://x.example/base/'],
    ['that is not a URL does not count', '<base href="https://:99999/">', null],
    ['that is data: does not count', '<base href="data:text/html,">', null],
    ['that is javascript: does not count', '<base href="javascript:void 0">', null],
  ])('%s', (_, html, base) => {
    const one = page(`${html}<a href=c>x</a><a rel=next href="?page=2">2</a>`)
    const link = new URL('c', base ?? one.url).href
    expect(HARVESTER.run(one).fields).toEqual({ link })
    expect(one.$('a').prop('href')).toBe(link)
    expect(one.pagination.next).toBe(new URL('?page=2', base ?? one.url).href)
    const route = { follow: [{ links: 'a[href]', nofollow: false, allow: [], deny: [] }], record: undefined }
    const links: FoundLink[] = []
    compileExtract('r', route as unknown as CheckedRoute)?.(one, { links })
    expect(new URL(String(links[0]?.href), one.url).href).toBe(link)
  })
})

describe('XHTML that is served as XML', () => {
  const XHTML = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="/s.js"/><base href="/base/"/></head>
<body><a id="top"/><p>a&nbsp;<![CDATA[<b>]]></p><a href="one">1</a><div/><a href="two" viewBox="x">2</a></body></html>`

  it.each(['application/xhtml+xml', 'application/xml; charset=utf-8', 'text/xml'])('keeps its links as %s', (type) => {
    const one = page(XHTML, type)
    expect(found(one, 'body > a[href]@href')).toEqual(['one', 'two'])
    expect(one.$('p').text()).toBe('a\u00a0<b>')
    expect(one.$('a').last().prop('href')).toBe('https://x.example/base/two')
    const { links, base } = compileHarvest({ links: [{}, { select: 'a[viewBox]@viewBox' }] }).run(one)
    expect(links).toEqual([['one', 'two'], ['x']])
    expect(base).toBe('/base/')
  })

  it('is read as HTML if it is not well-formed, so that nothing is lost', () => {
    const broken = XHTML.replace('</p>', '')
    expect(found(page(broken, 'application/xhtml+xml'), 'body a[href]@href')).toEqual(['one', 'two'])
    expect(compileHarvest({ links: [{}] }).run(page(broken, 'text/xml')).links).toEqual([['one', 'two']])
    const mild =
      '<html xmlns="http://www.w3.org/1999/xhtml"><body><a href=one>1</a><br><a href="two">2</a></body></html>'
    expect(found(page(mild, 'application/xhtml+xml'), 'body > a@href')).toEqual(['one', 'two'])
    expect(compileHarvest({ links: [{}] }).run(page(mild, 'application/xhtml+xml')).links).toEqual([['one', 'two']])
  })

  it('reads a feed as a browser does: a link has text, names have their case', () => {
    const feed = '<rss><channel><item><link>https://x.example/1</link><pubDate>now</pubDate></item></channel></rss>'
    const one = page(feed, 'application/rss+xml')
    expect(found(one, 'item > link')).toEqual(['https://x.example/1'])
    expect(found(one, 'pubDate')).toEqual(['now'])
    expect(one.$.html('item')).toBe('<item><link>https://x.example/1</link><pubDate>now</pubDate></item>')
  })

  it('is refused if it is too complex, not too deep for the stack', () => {
    const deep = `${'<a>'.repeat(60_000)}${'</a>'.repeat(60_000)}`
    expect(() => page(deep, 'text/xml').$).toThrowError(expect.objectContaining({ code: 'html_too_complex' }))
  })
})
