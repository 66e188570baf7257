import { describe, expect, it } from 'vitest'
import { readNumber } from '../../src/spider/convert.js'
import { compileHarvest, type FieldDefinition } from '../../src/spider/fields.js'
import { createPage } from '../../src/spider/page.js'

function page(body: string, contentType = 'text/html') {
  return createPage({
    url: 'https://x.example/a/',
    requestedUrl: 'https://x.example/a/',
    status: 200,
    headers: { 'content-type': contentType },
    body: Buffer.from(body),
    route: 'r',
    depth: 0,
    attempt: 1,
    data: undefined,
  })
}

function fieldsOf(fields: Record<string, FieldDefinition>, body: string, contentType?: string) {
  return compileHarvest({ fields }).run(page(body, contentType)).fields
}

const SHOP = `<!doctype html><base href="/shop/"><meta name="ROBOTS" content="noindex, nofollow">
<meta http-equiv=Refresh content="0; URL='/next'">
<h1>  Reel
  <b>A</b> </h1><p class="price">£51.77</p><p class=sku>R-1</p><img src="i.png">
<a class=tag href="t1">one</a><a class=tag href="t2" rel="nofollow">two</a><a class="more" href="m?a=1&amp;b=2">more</a>
<time>2026-03-01 06:30</time><i class=stock>yes</i><p class=rating>Rated 4 of 5</p><div class=html><b>x</b> &amp; y</div>`

describe('fields', () => {
  it('reads text, attributes and conversions', () => {
    const fields = fieldsOf(
      {
        title: 'h1',
        price: { select: '.price', as: 'number' },
        sku: '.sku',
        tags: { select: 'a.tag', all: true },
        image: 'img@src',
        link: { select: 'a.more@href', as: 'url' },
        when: { select: 'time', as: 'date' },
        stock: { select: '.stock', as: 'boolean' },
        rating: { select: '.rating', pattern: /(\d) of/g, as: 'integer' },
        html: { select: '.html', as: 'html' },
        missing: '.nothing',
        unreadable: { select: 'h1', as: 'number' },
        fallback: { select: '.nothing', default: 'none' },
        none: { select: '.nothing', all: true },
      },
      SHOP,
    )
    expect(fields).toEqual({
      title: 'Reel A',
      price: 51.77,
      sku: 'R-1',
      tags: ['one', 'two'],
      image: 'i.png',
      link: 'https://x.example/shop/m?a=1&b=2',
      when: '2026-03-01T06:30:00.000Z',
      stock: true,
      rating: 4,
      html: '<b>x</b> &amp; y',
      unreadable: null,
      fallback: 'none',
      none: [],
    })
  })

  it('reads JSON pages by path', () => {
    const json = '{"a":{"b":[{"c":1},{"c":"2"}]},"price":"1.234,50 €","a key":true,"__proto__":{"x":1}}'
    const fields = fieldsOf(
      {
        first: '$.a.b[0].c',
        dotted: { path: 'a.b.1.c', as: 'number' },
        all: { path: 'a.b[*].c', all: true },
        price: { path: 'price', as: 'number' },
        quoted: { path: '["a key"]' },
        whole: { path: '$.a.b' },
        proto: { path: 'constructor.name' },
        own: { path: '__proto__.x' },
        css: 'h1',
      },
      json,
      'application/json',
    )
    expect(fields).toEqual({
      first: 1,
      dotted: 2,
      all: [1, '2'],
      price: 1234.5,
      quoted: true,
      whole: [{ c: 1 }, { c: '2' }],
      own: 1,
    })
  })

  it('may be called anything', () => {
    const fields = fieldsOf({ ['__proto__']: 'h1' }, '<h1>x</h1>')
    expect(Object.entries(fields)).toEqual([['__proto__', 'x']])
  })

  it.each<[string, FieldDefinition, string]>([
    ['neither select nor path', {}, 'spider_invalid'],
    ['both', { select: 'a', path: 'a' }, 'spider_invalid'],
    ['an unknown option', { select: 'a', sel: 'b' } as FieldDefinition, 'spider_invalid'],
    ['an unknown conversion', { select: 'a', as: 'money' } as unknown as FieldDefinition, 'spider_invalid'],
    ['a bad selector', 'a[', 'bad_selector'],
    ['a bad path', '$.a[', 'bad_selector'],
  ])('refuses %s', (_, definition, code) => {
    expect(() => compileHarvest({ fields: { x: definition } })).toThrowError(expect.objectContaining({ code }))
  })

  it.each<[string, number | null]>([
    ['£51.77', 51.77],
    ['1,234.50', 1234.5],
    ['1.234,50 €', 1234.5],
    ['1 234,5', 1234.5],
    ['1\u00a0234\u202f567', 1_234_567],
    ['CHF 1’234.–', 1234],
    ['1,234', 1234],
    ['1.234', 1.234],
    ['1,5', 1.5],
    ['1.234.567', 1_234_567],
    ['from -3.5 to 7', -3.5],
    ['.5', 0.5],
    ['USD 10.', 10],
    ['2e3', 2000],
    ['1e999', null],
    ['none', null],
    ['', null],
  ])('reads the number in %j', (text, number) => {
    expect(readNumber(text)).toBe(number)
  })
})

describe('links', () => {
  it('come per rule, as they stand on the page, with the facts needed to judge them', () => {
    const found = compileHarvest({ links: [{}, { select: 'a.tag', nofollow: true }, { select: 'img@src' }] }).run(
      page(SHOP),
    )
    expect(found).toEqual({
      links: [['t1', 'm?a=1&b=2'], ['t1', 't2'], ['i.png']],
      fields: {},
      base: '/shop/',
      nofollow: true,
      refresh: '/next',
    })
  })

  it('are the same when the page needs the tree', () => {
    const harvester = compileHarvest({ links: [{ select: 'a' }], fields: { title: 'h1' } })
    const found = harvester.run(page(`${SHOP}<p><b>misnested</p>x</b>`))
    expect(found.links).toEqual([['t1', 'm?a=1&b=2']])
    expect(found).toMatchObject({ base: '/shop/', nofollow: true, refresh: '/next', fields: { title: 'Reel A' } })
    expect(harvester.pages).toEqual({ scanned: 0, tree: 1 })
  })

  it('are not looked for in pictures', () => {
    const harvester = compileHarvest({ links: [{}] })
    expect(harvester.run(page('<a href=x>', 'image/png')).links).toEqual([[]])
    expect(harvester.pages).toEqual({ scanned: 0, tree: 0 })
  })
})
