import { describe, expect, it } from 'vitest'
import type { SpiderDefinition } from '../../src/spider/definition.js'
import { createPage } from '../../src/spider/page.js'
import { resolveSpider } from '../../src/spider/resolve.js'
import type { Harvest } from '../../src/spider/spider.js'

const URL = 'https://shop.example/list'

function harvest(record: Record<string, unknown>, body: string, type = 'text/html', more = {}): Harvest {
  const definition = {
    name: 'shop',
    start: [URL],
    records: { item: {} },
    routes: { list: { match: '/**', record: { kind: 'item', ...record }, ...more } },
  }
  const spider = resolveSpider(definition as unknown as SpiderDefinition, 'hash')
  const page = createPage({
    ...{ url: URL, requestedUrl: URL, status: 200, route: 'list', depth: 0, attempt: 1, data: null },
    headers: { 'content-type': `${type}; charset=utf-8` },
    body: Buffer.from(body),
  })
  return spider.routes.get('list')?.harvest(page) as Harvest
}

const data = (record: Record<string, unknown>, body: string, type?: string) =>
  harvest(record, body, type).records.map((one) => one.data)

const PRODUCTS = `<base href="/p/"><ul>
  <li class="product" data-id="7"><h2>Lamp</h2><b class="price">£2.50</b><a href="lamp">more</a><i>a</i><i>b</i></li>
  <li class="product" data-id="8"><h2>Chair</h2><a href="chair">more</a></li>
</ul><h2>Not a product</h2>`

describe('record.each', () => {
  it('gives one record per element, with fields relative to it', () => {
    const fields = {
      id: ':scope@data-id',
      name: 'h2',
      price: { select: '.price', as: 'number', default: null },
      link: { select: 'a@href', as: 'url' },
      notes: { select: 'i', all: true },
    }
    expect(data({ each: '.product', key: 'id', fields }, PRODUCTS)).toEqual([
      { id: '7', name: 'Lamp', price: 2.5, link: 'https://shop.example/p/lamp', notes: ['a', 'b'] },
      { id: '8', name: 'Chair', price: null, link: 'https://shop.example/p/chair', notes: [] },
    ])
  })

  it('keys records by a field, or by the URL and their position', () => {
    const keys = (key: string | undefined) =>
      harvest({ each: 'li', ...(key && { key }), fields: { id: ':scope@data-id' } }, PRODUCTS).records.map(
        (record) => record.key,
      )
    expect(keys('id')).toEqual(['7', '8'])
    expect(keys(undefined)).toEqual([`${URL}#1`, `${URL}#2`])
  })

  it('rejects only the record whose key is missing', () => {
    const html = '<li id="a">1<li>2<li id="c">3'
    const { records, rejected } = harvest({ each: 'li', key: 'id', fields: { id: ':scope@id', text: ':scope' } }, html)
    expect(records.map(({ key }) => key)).toEqual(['a', 'c'])
    expect(rejected).toMatchObject([{ data: { text: '2' }, issues: [{ field: 'id' }] }])
  })

  it.each([
    ['h2', ['A', 'B']],
    [':scope > h2', ['A', undefined]],
    ['> h2', ['A', undefined]],
    ['.box h2', ['A', 'B']],
    ['div h2', [undefined, 'B']],
    ['main h2', [undefined, undefined]],
    ['h2:not(.x)', ['A', undefined]],
    [':scope', ['A', 'B']],
    [':scope.second@class', [undefined, 'box second']],
    ['h2 + p', [undefined, 'C']],
  ])('takes %s relative to the element', (select, expected) => {
    const html =
      '<main><section class="box"><h2>A</h2></section><section class="box second"><div><h2 class="x">B</h2></div></section></main>'
    const page = select === 'h2 + p' ? html.replace('B</h2>', 'B</h2><p>C</p>') : html
    expect(data({ each: '.box', fields: { f: select } }, page)).toEqual(
      expected.map((value) => (value === undefined ? {} : { f: value })),
    )
  })

  it('finds elements inside elements', () => {
    const html = '<div class=c id=1><p>a</p><div class=c id=2><p>b</p></div></div>'
    expect(data({ each: '.c', fields: { id: ':scope@id', text: { select: 'p', all: true } } }, html)).toEqual([
      { id: '1', text: ['a', 'b'] },
      { id: '2', text: ['b'] },
    ])
  })

  it('reads XML with its own names', () => {
    const xml = '<?xml version="1.0"?><feed><Entry><Title>a</Title></Entry><Entry><Title>b</Title></Entry></feed>'
    expect(data({ each: 'Entry', fields: { title: 'Title' } }, xml, 'application/xml')).toEqual([
      { title: 'a' },
      { title: 'b' },
    ])
  })

  it('follows links in addition, and finds nothing in a picture', () => {
    const record = { each: 'li', fields: { name: 'h2' } }
    const { links, records } = harvest(record, PRODUCTS, 'text/html', { follow: [{ links: 'a[href]' }] })
    expect([links.length, records.length]).toEqual([2, 2])
    expect(data(record, PRODUCTS, 'image/png')).toEqual([])
  })

  it('gives one record per value of a path, and keeps all digits', () => {
    const json = '{"items":[{"id":9007199254740993,"name":{"full":"Lamp"},"tags":["a","b"]},{"id":2},3]}'
    const fields = { id: '$.id', name: '$.name.full', tags: { path: 'tags[*]', all: true } }
    const { records, rejected } = harvest({ each: '$.items[*]', key: 'id', fields }, json, 'application/json')
    expect(records).toEqual([
      { kind: 'item', key: '9007199254740993', data: { id: '9007199254740993', name: 'Lamp', tags: ['a', 'b'] } },
      { kind: 'item', key: '2', data: { id: 2, tags: [] } },
    ])
    expect(rejected).toHaveLength(1)
  })

  it.each([
    [{ each: 'li[', fields: {} }, 'bad_selector', 'routes.list.record.each'],
    [{ each: 'a@href', fields: {} }, 'bad_selector', 'must find elements'],
    [{ each: 'li', fields: { a: 'h1[' } }, 'bad_selector', 'routes.list.record.fields.a'],
    [{ each: 'li', fields: { a: '$.name' } }, 'spider_invalid', 'fields are selectors'],
    [{ each: '$.items[*]', fields: { a: 'h1' } }, 'spider_invalid', "like '$.a'"],
    [{ each: '', fields: {} }, 'spider_invalid', 'record.each'],
    [{ each: '$.a..b', fields: {} }, 'bad_selector', 'record.each'],
  ])('refuses %j', (record, code, message) => {
    expect(() => harvest(record, '')).toThrow(expect.objectContaining({ code }))
    expect(() => harvest(record, '')).toThrow(message)
  })

  it('bounds the work for elements inside elements', () => {
    const html = `${'<div>'.repeat(400)}${'<b>x</b>'.repeat(20_000)}`
    expect(() => harvest({ each: 'div', fields: { none: 'u' } }, html)).toThrow(
      expect.objectContaining({ code: 'html_too_complex' }),
    )
  })
})
