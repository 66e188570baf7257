import { describe, expect, it } from 'vitest'
import type { Harvest } from '../../src/spider/spider.js'
import { asksForBrowser, lacksWanted } from '../../src/worker/needs-browser.js'

const TEXT = 'This page says a great deal without the help of any script. '.repeat(6)

describe('a page asks for a browser', () => {
  it.each<[string, string, string | null]>([
    ['React', '<body><div id="root"></div><script src="/app.js"></script>', 'empty app'],
    ['Vue, unquoted', '<body><div id=app></div><script type=module src=/a.js></script>', 'empty app'],
    ['Next, with a comment', '<div id="__next" class="x"><!-- app --></div><script>1</script>', 'empty app'],
    ['Angular', '<app-root></app-root><script src="main.js"></script>', 'empty app'],
    ['a root in capitals', '<DIV ID="ROOT"> </DIV><SCRIPT SRC=/a.js></SCRIPT>', 'empty app'],
    ['a root that is filled', `<div id="root"><h1>Tome</h1></div><script src="/app.js"></script>`, null],
    ['an empty root and no script', '<div id="root"></div>', null],
    ['an empty root and much text', `<div id="root"></div><p>${TEXT}</p><script></script>`, null],
    [
      'much text inside scripts only',
      `<div id="app"></div><script>'${TEXT}'</script><style>${TEXT}</style>`,
      'empty app',
    ],
    [
      'noscript that demands scripts',
      '<script src=a></script><noscript>You need to enable JavaScript to run this app.</noscript>',
      'demands scripts',
    ],
    ['the other way round', '<script></script><noscript>JavaScript is required.</noscript>', 'demands scripts'],
    ['without noscript', '<p>Please turn on JavaScript and reload the page.</p><script></script>', 'demands scripts'],
    [
      'noscript on a page with much text',
      `<p>${TEXT}</p><script></script><noscript>Please enable JavaScript.</noscript>`,
      null,
    ],
    ['noscript for statistics', '<script></script><noscript><img src="/pixel.gif"></noscript><h1>Tome</h1>', null],
    ['a challenge', '<meta http-equiv="refresh" content="5; url=/captcha?back=/"><p>Checking …</p>', 'challenge'],
    ['an ordinary refresh', '<meta http-equiv="refresh" content="0; url=/en/">', null],
    ['a page that is never closed', `<script>${'<script '.repeat(50_000)}`, null],
    ['tags that are never closed', '<div id="root" '.repeat(20_000), null],
    ['empty', '', null],
  ])('%s', (_what, html, answer) => {
    expect(asksForBrowser({ headers: { 'content-type': 'text/html' }, body: Buffer.from(html) }, () => html)).toBe(
      answer,
    )
  })

  it.each([
    ['one tag with every id', `<div ${'id=root '.repeat(40_000)}`],
    ['a root and a long gap', `<div id=root ${' '.repeat(300_000)}x`],
    ['one endless name', `<${'a'.repeat(300_000)}`],
    ['one tag that refreshes again and again', `<meta ${'http-equiv=refresh '.repeat(15_000)}`],
    ['elements without an end', '<div id=root> '.repeat(20_000)],
    ['gaps after tags', `<i>${' '.repeat(300)}`.repeat(1_000)],
  ])('in no more time than its length takes: %s', (_what, hostile) => {
    const html = `<script></script>${hostile}`
    const began = performance.now()
    asksForBrowser({ headers: {}, body: Buffer.from('x') }, () => html)
    // Tried from every place to every other, 300 KB take half a minute.
    expect(performance.now() - began).toBeLessThan(2_000)
  })

  it('never, when it is no HTML', () => {
    const body = Buffer.from('<div id="root"></div><script></script>')
    expect(asksForBrowser({ headers: { 'content-type': 'application/json' }, body }, () => body.toString())).toBe(null)
  })
})

describe('a page lacks what is wanted', () => {
  const record = (data: Record<string, null | string | readonly string[]>) => ({ kind: 'book', key: 'k', data })
  const harvest = (part: Partial<Harvest>): Harvest => ({ records: [], rejected: [], links: [], ...part })
  const rejected = [{ ...record({ title: null }), issues: [{ field: 'title', message: 'missing' }] }]

  it.each<[string, Harvest, boolean, boolean]>([
    ['a record with a field', harvest({ records: [record({ title: 'Tome', price: null })] }), true, false],
    ['a record with none', harvest({ records: [record({ title: null, tags: [], price: '' })] }), true, true],
    ['one of two with a field', harvest({ records: [record({ title: null }), record({ title: 'x' })] }), true, false],
    ['only rejected ones', harvest({ rejected }), true, true],
    ['rejected ones and a good one', harvest({ rejected, records: [record({ title: 'x' })] }), true, false],
    ['links alone', harvest({ links: [{ href: '/a' }] }), true, false],
    ['nothing', harvest({}), true, true],
    ['nothing, from a route that only follows links', harvest({}), false, false],
  ])('%s', (_what, found, givesRecords, answer) => {
    expect(lacksWanted(found, { givesRecords })).toBe(answer)
  })
})
