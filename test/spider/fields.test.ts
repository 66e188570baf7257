import { describe, expect, it } from 'vitest'
import { compileHarvest, type FieldDefinition } from '../../src/spider/fields.js'
import { createPage } from '../../src/spider/page.js'

function page(body: string, contentType = 'text/html', headers: Record<string, string> = {}) {
  return createPage({
    url: 'https://x.example/a/',
    requestedUrl: 'https://x.example/a/',
    status: 200,
    headers: { 'content-type': contentType, ...headers },
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
    ['an unknown order', { select: 'a', as: 'date', order: 'dym' } as unknown as FieldDefinition, 'spider_invalid'],
    ['an order of no date', { select: 'a', order: 'dmy' }, 'spider_invalid'],
    ['a decimal mark of no number', { select: 'a', as: 'date', decimal: ',' }, 'spider_invalid'],
    [
      'an unknown decimal mark',
      { select: 'a', as: 'number', decimal: ';' } as unknown as FieldDefinition,
      'spider_invalid',
    ],
    ['a bad selector', 'a[', 'bad_selector'],
    ['a bad path', '$.a[', 'bad_selector'],
  ])('refuses %s', (_, definition, code) => {
    expect(() => compileHarvest({ fields: { x: definition } })).toThrowError(expect.objectContaining({ code }))
  })

  it('reads numbers and dates in the language of the page', () => {
    const fields: Record<string, FieldDefinition> = {
      price: { select: 'p', as: 'number' },
      stock: { select: 'p', as: 'integer' },
      day: { select: 'i', as: 'date' },
    }
    const body = '<p>1.234</p><i>03/04/2026</i>'
    const german = { price: 1234, stock: 1234, day: '2026-04-03T00:00:00.000Z' }
    const american = { price: 1.234, stock: null, day: '2026-03-04T00:00:00.000Z' }
    const unknown = { price: 1.234, stock: null, day: null }
    expect(fieldsOf(fields, `<!doctype html><html lang="de">${body}`)).toEqual(german)
    expect(fieldsOf(fields, `<!-- <html lang=en-US> --><HTML class=x LANG=de_AT>${body}`)).toEqual(german)
    expect(fieldsOf(fields, `<meta http-equiv="Content-Language" content="de">${body}`)).toEqual(german)
    expect(fieldsOf(fields, `<html lang="en-US">${body}`)).toEqual(american)
    expect(fieldsOf(fields, `<html lang="">${body}`)).toEqual(unknown)
    expect(fieldsOf(fields, `<html lang="no language at all">${body}`)).toEqual(unknown)
    expect(fieldsOf(fields, body)).toEqual(unknown)
    const withHeader = (language: string) =>
      compileHarvest({ fields }).run(page(body, 'text/html', { 'content-language': language })).fields
    expect(withHeader('de')).toEqual(german)
    expect(withHeader('de, en')).toEqual(unknown)
  })

  it('reads what programs write without the language of the page', () => {
    const body = '<html lang=de><meta itemprop=price content="1.234"><img alt="1.234 Stück">'
    expect(
      fieldsOf({ price: { select: 'meta@content', as: 'number' }, pieces: { select: 'img@alt', as: 'number' } }, body),
    ).toEqual({ price: 1.234, pieces: 1234 })
    expect(fieldsOf({ price: { path: 'price', as: 'number' } }, '{"price":"1.234"}', 'application/json')).toEqual({
      price: 1.234,
    })
  })

  it('reads numbers and dates as the spider says', () => {
    const body = '<html lang=en-US><p>1.234</p><i>03/04/26</i>'
    expect(
      fieldsOf(
        { price: { select: 'p', as: 'number', decimal: ',' }, day: { select: 'i', as: 'date', order: 'dmy' } },
        body,
      ),
    ).toEqual({ price: 1234, day: '2026-04-03T00:00:00.000Z' })
  })
})

describe('links', () => {
  it('come per rule, as they stand on the page, with the facts needed to judge them', () => {
    const found = compileHarvest({ links: [{}, { select: 'a.tag', nofollow: true }, { select: 'img@src' }] }).run(
      page(SHOP),
    )
    expect(found).toEqual({
      links: [['t1', 'm?a=1&b=2'], ['t1', 't2'], ['i.png']],
      more: [],
      fields: {},
      base: '/shop/',
      nofollow: true,
      refreshes: ['/next'],
    })
  })

  it('are the same when the page needs the tree', () => {
    const harvester = compileHarvest({ links: [{ select: 'a' }], fields: { title: 'h1' } })
    const found = harvester.run(page(`${SHOP}<p><b>misnested</p>x</b>`))
    expect(found.links).toEqual([['t1', 'm?a=1&b=2']])
    expect(found).toMatchObject({ base: '/shop/', nofollow: true, refreshes: ['/next'], fields: { title: 'Reel A' } })
    expect(harvester.pages).toEqual({ scanned: 0, tree: 1 })
  })

  it('are not looked for in pictures', () => {
    const harvester = compileHarvest({ links: [{}] })
    expect(harvester.run(page('<a href=x>', 'image/png')).links).toEqual([[]])
    expect(harvester.pages).toEqual({ scanned: 0, tree: 0 })
  })
})
