import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineSpider } from '../../src/index.js'
import { testSpider } from '../../src/test.js'

const books = defineSpider({
  name: 'books',
  start: ['https://books.example/'],
  scope: { hosts: ['books.example'], maxDepth: 5 },
  handlerTimeout: '100ms',
  // Not set in this process: nothing is sent, so nobody needs it.
  secrets: { key: { env: 'BOOKS_KEY_NOT_SET', origins: ['https://books.example'] } },
  records: { book: z.object({ title: z.string(), price: z.number(), rank: z.number().optional() }) },
  routes: {
    listing: {
      match: ['/', '/page-*'],
      follow: [{ links: 'article a', route: 'book' }, { links: 'a.next', route: 'listing' }, { links: 'a.out' }],
    },
    book: {
      match: '/b/*',
      record: { kind: 'book', fields: { title: 'h1', price: { select: '.price', as: 'number' } } },
    },
    ranked: {
      data: z.object({ rank: z.number() }),
      handler(page, out) {
        page.log('rank', page.data.rank)
        page.count('ranked', 2)
        out.record('book', page.url, { title: page.$('h1').text(), price: 1, rank: page.data.rank })
      },
    },
    api: {
      match: '/api/*',
      handler(page, out) {
        const { title } = page.json as { title: string }
        out.record('book', page.requestedUrl, { title, price: page.depth })
      },
    },
    broken: {
      match: '/broken/*',
      async handler(page) {
        if (page.url.endsWith('/late')) await new Promise((done) => setTimeout(done, 5_000).unref())
        if (page.url.endsWith('/text')) throw 'a text'
        throw new RangeError('no price here')
      },
    },
  },
})

const tested = testSpider(books)

describe('testSpider', () => {
  it('gives the records of a page by the route that matches', async () => {
    const html = '<h1>A</h1><p class="price">£5.00</p>'
    expect(await tested.page({ url: 'https://books.example/b/1', html })).toEqual({
      route: 'book',
      records: [{ kind: 'book', key: 'https://books.example/b/1', data: { title: 'A', price: 5 } }],
      rejected: [],
      links: [],
      refused: [],
      logs: [],
      counts: {},
    })
  })

  it('gives rejected records with the reasons of the schema', async () => {
    const { records, rejected } = await tested.page({ url: 'https://books.example/b/1', html: '<h1>A</h1>' })
    expect(records).toEqual([])
    expect(rejected).toMatchObject([{ kind: 'book', issues: [{ field: 'price' }] }])
  })

  it('gives links as the filter accepts or refuses them, each once', async () => {
    const html = `<article><a href="b/1#x">1</a><a href="/b/1">1</a></article><a class=next href="/page-2">next</a>
      <a class=out href="https://other.example/">out</a>`
    const { links, refused } = await tested.page({ url: 'https://books.example/', html })
    expect(links).toMatchObject([
      { url: 'https://books.example/b/1', route: 'book', depth: 1 },
      { url: 'https://books.example/page-2', route: 'listing', depth: 1 },
    ])
    expect(refused).toMatchObject([{ href: 'https://other.example/', code: 'out_of_scope' }])
  })

  it('takes a route by name, with the data of its link', async () => {
    const { route, records, logs, counts } = await tested.page({
      url: 'https://books.example/any',
      route: 'ranked',
      data: { rank: 3 },
      html: '<h1>R</h1>',
    })
    expect(route).toBe('ranked')
    expect(logs).toEqual(['rank 3'])
    expect(counts).toEqual({ ranked: 2 })
    expect(records[0]?.data).toEqual({ title: 'R', price: 1, rank: 3 })
    await expect(
      tested.page({ url: 'https://books.example/any', route: 'ranked', data: { rank: 'x' } as never }),
    ).rejects.toThrow("the link's data does not match the schema of route 'ranked': rank")
  })

  it('takes JSON, bytes in any encoding, and a redirect', async () => {
    const json = await tested.page({
      url: 'https://books.example/api/new',
      requestedUrl: 'https://books.example/api/old',
      json: { title: 'J' },
      depth: 2,
    })
    expect(json.records).toEqual([
      { kind: 'book', key: 'https://books.example/api/old', data: { title: 'J', price: 2 } },
    ])
    const body = Buffer.from('<h1>caf\xe9</h1><p class=price>1</p>', 'latin1')
    const headers = { 'Content-Type': 'text/html; charset=iso-8859-1' }
    const bytes = await tested.page({ url: 'https://books.example/b/1', body, headers })
    expect(bytes.records[0]?.data.title).toBe('café')
    // The text of a test is text, whatever the header says of its encoding in the wild.
    const html = '<h1>café</h1><p class=price>1</p>'
    const text = await tested.page({ url: 'https://books.example/b/1', html, headers })
    expect(text.records[0]?.data.title).toBe('café')
  })

  it("throws the handler's own error, with its own stack", async () => {
    const failed = tested.page({ url: 'https://books.example/broken/now', html: '' })
    await expect(failed).rejects.toThrow(new RangeError('no price here'))
    await expect(failed).rejects.toMatchObject({ stack: expect.stringContaining('test-spider.test.ts:') })
    await expect(tested.page({ url: 'https://books.example/broken/text' })).rejects.toMatchObject({
      code: 'handler_error',
      message: expect.stringContaining('a text'),
    })
  })

  it('ends a handler at its handlerTimeout', async () => {
    await expect(tested.page({ url: 'https://books.example/broken/late' })).rejects.toMatchObject({
      code: 'handler_timeout',
    })
  })

  it('refuses what a crawl would not hand to a route', async () => {
    const table: readonly [Parameters<typeof tested.page>[0], string][] = [
      [{ url: 'https://other.example/' }, 'out_of_scope'],
      [{ url: 'https://books.example/nowhere' }, 'no_route'],
      [{ url: 'https://books.example/b/1', route: 'bok' as never }, 'no_route'],
      [{ url: 'https://books.example/b/1', depth: 6 }, 'too_deep'],
      [{ url: 'nonsense' }, 'bad_url'],
      [{ url: 'https://books.example/b/1', status: 404 }, 'http_error'],
      [{ url: 'https://books.example/b/1', html: '', json: {} }, 'usage'],
      [{ url: 'https://books.example/b/1', json: new Map() }, 'usage'],
    ]
    for (const [page, code] of table)
      await expect(tested.page(page), JSON.stringify(page)).rejects.toMatchObject({ code })
  })

  it('refuses what is not a spider, and a spider that `run` would refuse', () => {
    expect(() => testSpider({} as never)).toThrow('this is not a spider')
    expect(() => testSpider(defineSpider({ name: 'a b', start: ['https://a.example/'], routes: {} }))).toThrow('name')
  })
})

describe('a fixture', () => {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-test-spider-'))
  afterAll(() => rmSync(dir, { recursive: true, force: true }))

  it('is handled like a page, and compared with what was expected', async () => {
    const file = join(dir, 'book.html')
    const url = 'https://books.example/b/1'
    writeFileSync(file, '<h1>A</h1><p class=price>5</p>')
    expect((await tested.fixture(file, { url })).differences).toEqual([])
    const record = { kind: 'book', key: url, data: { title: 'A', price: 4 } }
    writeFileSync(`${file}.json`, JSON.stringify({ url, expect: { records: [record] } }))
    const result = await tested.fixture(pathToFileURL(file))
    expect(result.records).toMatchObject([{ data: { price: 5 } }])
    expect(result.differences).toEqual([{ part: 'record', name: `book ${url}`, field: 'price', expected: 4, now: 5 }])
    await expect(tested.fixture(join(dir, 'none.html'))).rejects.toMatchObject({ code: 'fixture_invalid' })
  })
})

it('builds a spider with arguments', async () => {
  const shop = defineSpider(z.object({ category: z.string() }), ({ category }) =>
    defineSpider({
      name: 'shop',
      start: [`https://shop.example/${category}`],
      records: { item: z.object({ category: z.string() }) },
      routes: { all: { match: '**', handler: (page, out) => out.record('item', page.url, { category }) } },
    }),
  )
  const { records } = await testSpider(shop, { args: { category: 'shoes' } }).page({ url: 'https://shop.example/1' })
  expect(records[0]?.data.category).toBe('shoes')
  expect(() => testSpider(shop)).toThrow('category')
})
