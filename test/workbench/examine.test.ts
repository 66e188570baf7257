import { describe, expect, it } from 'vitest'
import { defineSpider } from '../../src/spider/definition.js'
import type { FieldDefinition } from '../../src/spider/fields.js'
import { createPage } from '../../src/spider/page.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import { createAdmitter } from '../../src/url/admit.js'
import { type Examination, examine } from '../../src/workbench/examine.js'

const BOOK = `<!doctype html><html lang="en"><head><title>Tome 1</title><script src="/app.js"></script></head><body>
  <nav class="main-nav"><a href="/">Home</a></nav>
  <article class="product_page" id="content_inner">
    <div class="col-sm-6 product_main">
      <h1>Tome 1</h1>
      <p class="price_color">£12.50</p>
      <p class="instock availability">In stock</p>
      <span itemprop="isbn" data-testid="isbn">978</span>
      <p class="askUs">ask us</p>
    </div>
    <img class="cover" data-src="/tome-1.jpg" alt="Tome 1">
    <ul class="tags"><li>one</li><li>two</li></ul>
  </article>
  <aside><p class="note">Free delivery</p></aside>
  <ul class="related">
    <li class="card"><a href="/tome_2.html">Tome 2</a></li>
    <li class="card"><a href="/tome_3.html" rel="nofollow">Tome 3</a></li>
    <li class="card"><a href="https://elsewhere.example/x">Elsewhere</a></li>
    <li class="card"><a href="/login?next=1">Log in</a></li>
  </ul></body></html>`

function examined(
  route: { fields?: Record<string, FieldDefinition>; follow?: readonly object[]; each?: string },
  body = BOOK,
  type = 'text/html; charset=utf-8',
): Examination {
  const { fields = {}, follow = [], each } = route
  const spider = spiderFromDefinition(
    defineSpider({
      name: 'books',
      start: ['https://books.example/'],
      records: { book: {} },
      routes: {
        book: {
          match: '**',
          follow: follow as never,
          record: { kind: 'book', fields: fields as never, ...(each && { each }) },
        },
      },
    }),
  )
  const found = spider.routes.get('book')
  if (found === undefined) throw new Error('no route')
  const page = createPage({
    ...{ url: 'https://books.example/tome_1.html', requestedUrl: 'https://books.example/tome_1.html', status: 200 },
    ...{ headers: { 'content-type': type }, body: Buffer.from(body), route: 'book', depth: 0, attempt: 1, data: null },
  })
  return examine(found, page, createAdmitter(spider.admit))
}

function field(definition: FieldDefinition, body?: string, type?: string) {
  const [report] = examined({ fields: { it: definition } }, body, type).fields
  if (report === undefined) throw new Error('no report')
  return report
}

describe('a field that matches', () => {
  it.each<[FieldDefinition, number, unknown]>([
    ['h1', 1, 'Tome 1'],
    ['.tags li', 2, 'one'],
    [{ select: '.tags li', all: true }, 2, ['one', 'two']],
    [{ select: '.price_color', as: 'number' }, 1, 12.5],
    ['img@data-src', 1, '/tome-1.jpg'],
    [{ select: 'img@data-src', as: 'url' }, 1, 'https://books.example/tome-1.jpg'],
  ])('%j', (definition, matches, value) => {
    expect(field(definition)).toMatchObject({ matches, value, problem: null })
  })
})

describe('a selector that matches nothing names the nearest thing on the page', () => {
  it.each<[select: string, suggestion: string | null]>([
    // Hyphens, underscores, case, singular and plural, a typing mistake, one word of several.
    ['.price-color', '.price_color'],
    ['.Price_Color', '.price_color'],
    ['.askus', '.askUs'],
    ['.tag li', '.tags li'],
    ['.pirce_color', '.price_color'],
    ['.price', '.price_color'],
    ['.cards', '.card'],
    // Of another kind.
    ['cover', '.cover'],
    ['.h1', 'h1'],
    ['#product_page', '.product_page'],
    ['.content_inner', '#content_inner'],
    ['#content-inner h1', '#content_inner h1'],
    // The whole selector is repaired.
    ['.product-main > .price-color', '.product_main > .price_color'],
    ['article.product_page > .price_color', 'article.product_page .price_color'],
    ['.product_main + img', '.product_main + img'],
    ['h1 + img', 'img'],
    ['.product_main .note', '.note'],
    ['.prodct .price_color', '.price_color'],
    // Within a compound only what its elements have counts.
    ['div.price_color', 'p.price_color'],
    ['p.price_color.instock', null],
    ['p.instok', 'p.instock'],
    // Attributes.
    ['[itemprop="isbn13"]', '[itemprop="isbn"]'],
    ['[data-test-id="isbn"]', '[data-testid="isbn"]'],
    ['[data-testids]', '[data-testid]'],
    // Pseudo-classes are left out.
    ['.tags li:nth-child(7)', '.tags li'],
    // Nothing is near.
    ['.zzzzzz', null],
    ['.product_main .zzzzzz', null],
  ])('%s → %s', (select, suggestion) => {
    const { matches, problem } = field(select)
    if (matches > 0) return expect(select).toBe(suggestion)
    expect(problem).toMatchObject({ code: 'no_match', suggestion })
    expect(problem?.message).toMatch(/`/)
  })

  it('says what does not match, and where', () => {
    expect(field('.product_main .note').problem?.message).toBe(
      '1 element matches `.note`, none of them inside `.product_main`',
    )
    expect(field('article > .price_color').problem?.message).toBe('`.price_color` is not a child of `article`')
    expect(field('.price-color').problem?.message).toBe('no element has the class `price-color`')
    expect(field('.product_main .zzzzzz').problem?.message).toBe('nothing inside `.product_main` matches `.zzzzzz`')
  })

  it('keeps the attribute in the suggestion', () => {
    expect(field('.covers@alt').problem?.suggestion).toBe('.cover@alt')
  })
})

describe('an element that is there, without what is asked of it', () => {
  it('names the attributes that it has', () => {
    expect(field('img@src')).toMatchObject({
      matches: 0,
      problem: { code: 'no_attribute', suggestion: 'img@data-src' },
    })
  })

  it('shows the text that could not be converted', () => {
    expect(field({ select: '.askUs', as: 'number' })).toMatchObject({
      matches: 1,
      value: null,
      problem: { code: 'not_converted', message: "matched 'ask us': no number in it, or more than one reading" },
    })
    expect(field({ select: 'h1', pattern: /ISBN (\d+)/ })).toMatchObject({
      matches: 1,
      problem: { code: 'no_pattern', message: "matched 'Tome 1' does not match /ISBN (\\d+)/" },
    })
  })

  it('reports the problem even where a default hides it', () => {
    expect(field({ select: '.price-color', default: '0' })).toMatchObject({
      value: '0',
      problem: { suggestion: '.price_color' },
    })
    expect(field({ select: '.askUs', as: 'number', default: 0 })).toMatchObject({
      value: 0,
      problem: { code: 'not_converted' },
    })
  })
})

describe('several records per page', () => {
  const inEach = (each: string, fields: Record<string, FieldDefinition>, body?: string, type?: string) =>
    examined({ fields, each }, body, type)

  it('counts the records that have each field, and looks for near misses inside them', () => {
    const { each, fields } = inEach('.card', { name: 'a', link: 'a@href', price: '.price', title: 'a@titel', b: 'b' })
    expect(each).toEqual({ selector: '.card', matches: 4, problem: null })
    expect(fields.map(({ name, matches, value }) => [name, matches, value])).toEqual([
      ['name', 4, 'Tome 2'],
      ['link', 4, '/tome_2.html'],
      ['price', 0, undefined],
      ['title', 0, undefined],
      ['b', 0, undefined],
    ])
    expect(fields[2]?.problem?.message).toBe('nothing inside `.card` matches `.price`')
    expect(fields[3]?.problem?.code).toBe('no_attribute')
  })

  it('says when there is no record at all', () => {
    const { each, fields } = inEach('.cards', { name: 'a' })
    expect(each).toMatchObject({ matches: 0, problem: { suggestion: '.card' } })
    expect(fields[0]).toMatchObject({ matches: 0, problem: null })
  })

  it('reads JSON', () => {
    const json = JSON.stringify({ items: [{ productName: 'a' }, { productName: 'b' }] })
    const { each, fields } = inEach('$.items[*]', { name: '$.product_name' }, json, 'application/json')
    expect(each?.matches).toBe(2)
    expect(fields[0]?.problem?.message).toBe('`$.items[*]` has no key `product_name`; it has `productName`')
  })
})

describe('a path into JSON', () => {
  const json = JSON.stringify({ data: { items: [{ productName: 'Tome 1', price: { amount: 12 } }], total: 1 } })
  const at = (path: string) => field(path, json, 'application/json')

  it.each<[path: string, message: string, suggestion: string | null]>([
    ['$.data.item[0].price', '`$.data` has no key `item`; it has `items`, `total`', '$.data.items[0].price'],
    [
      '$.data.items[0].product_name',
      '`$.data.items[0]` has no key `product_name`; it has `productName`, `price`',
      '$.data.items[0].productName',
    ],
    ['$.data.items.price', '`$.data.items` is a list', '$.data.items[*].price'],
    ['$.data.items[3].price', '`$.data.items` is a list of 1', null],
    ['$.data.total.sum', '`$.data.total` is a number, which has no keys', null],
    ['$.nothing', 'the page has no key `nothing`; it has `data`', null],
  ])('%s', (path, message, suggestion) => {
    expect(at(path)).toMatchObject({ matches: 0, problem: { code: 'no_match', message, suggestion } })
  })

  it('counts what matches', () => {
    expect(at('$.data.items[*].price.amount')).toMatchObject({ matches: 1, value: 12, problem: null })
  })

  it('says when the page is of another type', () => {
    expect(field('$.a').problem).toMatchObject({ code: 'wrong_type' })
    expect(field('h1', '{}', 'application/json').problem).toMatchObject({ code: 'wrong_type' })
  })
})

describe('a follow rule', () => {
  it('counts links by what becomes of them', () => {
    const { follow } = examined({ follow: [{ links: '.related a', deny: '**/login*' }] })
    expect(follow).toEqual([
      {
        ...{ selector: '.related a', route: null, matches: 4, accepted: 1, problem: null },
        rejected: { nofollow: 1, patterns: 1, out_of_scope: 1 },
      },
    ])
  })

  it('names the nearest match, and elements that are not links', () => {
    const { follow } = examined({ follow: [{ links: '.relatd a' }, { links: '.card' }] })
    expect(follow.map(({ problem }) => [problem?.code, problem?.suggestion])).toEqual([
      ['no_match', '.related a'],
      ['no_attribute', '.card a[href]'],
    ])
  })
})

describe('hostile pages', () => {
  it('take bounded time', () => {
    const classes = Array.from({ length: 20_000 }, (_, n) => `<p class="price_${n} ${'x'.repeat(50)}">`).join('')
    const deep = '<div class="a">'.repeat(500)
    const began = process.cpuUsage()
    for (const body of [
      classes,
      deep,
      `<p class="${'pricf '.repeat(200_000)}">`,
      '<i>'.repeat(100_000),
      '<div>'.repeat(100_000),
    ])
      for (const select of ['.pricex .b > .c', '.a .a .a .a .a .zz', 'i i i i i i > b'])
        field(select, `<!doctype html><body>${body}`)
    const { user } = process.cpuUsage(began)
    expect(user / 1e6).toBeLessThan(20)
  })
})

it('says nothing untrue about a page that is too large to be searched for every mistake', () => {
  const misses = Object.fromEntries(Array.from({ length: 18 }, (_, n) => [`f${n}`, `.wrong-${n} > .worse b`]))
  const page = `${'<i class="filler"></i>'.repeat(300_000)}<p class="price">5</p>`
  const reports = examined({ fields: { ...misses, price: '.price' } }, page).fields
  expect(reports.at(-1)).toMatchObject({ name: 'price', matches: 1, value: '5', problem: null })
  expect(reports.at(-2)).toMatchObject({ problem: { message: expect.stringContaining('too large to say why') } })
})
