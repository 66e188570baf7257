/** The spider that `shoal init` creates, for a public site built for practising. */
export const SPIDER = `import { defineSpider } from 'shoal'
import { z } from 'zod'

export default defineSpider({
  name: 'books',
  start: ['https://books.toscrape.com/'],

  // Links to other hosts are not followed.
  scope: { hosts: ['books.toscrape.com'], maxDepth: 60 },

  // Per host, across all workers. robots.txt is respected too.
  pace: { delay: '500ms', concurrency: 2 },

  // Keeps the first run short: remove this line to crawl the whole shop.
  budget: { pages: 60 },

  // The schema of a record. List records that do not match with: shoal records rejected
  records: {
    book: z.object({ title: z.string(), price: z.number(), upc: z.string() }),
  },

  routes: {
    listing: {
      match: ['/', '/index.html', '/catalogue/page-*'],
      priority: 10,
      follow: [
        { links: 'article.product_pod h3 a', route: 'book' },
        { links: 'li.next a', route: 'listing' },
      ],
    },
    book: {
      match: '/catalogue/*/index.html',
      record: {
        kind: 'book',
        key: 'upc',
        fields: {
          title: 'h1',
          price: { select: '.price_color', as: 'number' },
          upc: 'table td',
        },
      },
      // Or with code:
      // handler(page, out) {
      //   out.record('book', upc, { title: page.$('h1').text(), price, upc })
      //   out.follow(href, { route: 'book', priority: 5 })
      // },
    },
  },
})
`

const SPIDER_MODULE = './books.ts'

/** Needs no test runner but Node's own, and no network: the page is in `fixtures`. */
export const TEST = `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testSpider } from 'shoal/test'
import books from '${SPIDER_MODULE}'

test('a book page gives one book', async () => {
  const { records, rejected } = await testSpider(books).fixture('fixtures/book.html')
  assert.deepEqual(rejected, [])
  assert.deepEqual(records, [
    {
      kind: 'book',
      key: 'f1c2a8d04b7e9563',
      data: { title: 'The Harbour at Low Tide', price: 23.5, upc: 'f1c2a8d04b7e9563' },
    },
  ])
})

test('a listing leads to its books and to the next page', async () => {
  const { links } = await testSpider(books).page({
    url: 'https://books.toscrape.com/',
    html: \`
      <article class="product_pod"><h3><a href="catalogue/a-book_1/index.html">A book</a></h3></article>
      <ul class="pager"><li class="next"><a href="catalogue/page-2.html">next</a></li></ul>\`,
  })
  assert.deepEqual(
    links.map(({ route, url }) => [route, url]),
    [
      ['book', 'https://books.toscrape.com/catalogue/a-book_1/index.html'],
      ['listing', 'https://books.toscrape.com/catalogue/page-2.html'],
    ],
  )
})
`

/** A page in the shape of those of the practice site. */
export const BOOK_PAGE = `<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <title>The Harbour at Low Tide | Books to Scrape</title>
</head>
<body>
  <ul class="breadcrumb">
    <li><a href="../../index.html">Home</a></li>
    <li class="active">The Harbour at Low Tide</li>
  </ul>
  <article class="product_page">
    <div class="product_main">
      <h1>The Harbour at Low Tide</h1>
      <p class="price_color">£23.50</p>
      <p class="instock availability">In stock (7 available)</p>
    </div>
    <table class="table table-striped">
      <tr><th>UPC</th><td>f1c2a8d04b7e9563</td></tr>
      <tr><th>Product Type</th><td>Books</td></tr>
      <tr><th>Availability</th><td>In stock (7 available)</td></tr>
    </table>
  </article>
</body>
</html>
`

/** What `shoal try --save` would have written for it. */
export const BOOK_EXPECTED = {
  spider: 'books',
  url: 'https://books.toscrape.com/catalogue/the-harbour-at-low-tide_7/index.html',
  status: 200,
  headers: { 'content-type': 'text/html' },
  route: 'book',
  depth: 1,
  expect: {
    records: [
      {
        kind: 'book',
        key: 'f1c2a8d04b7e9563',
        data: { title: 'The Harbour at Low Tide', price: 23.5, upc: 'f1c2a8d04b7e9563' },
      },
    ],
    rejected: [],
    links: [],
  },
}

/** As a bundler resolves, which suits every package; `.ts` in imports is what Node and Shoal want. */
export const TSCONFIG = {
  compilerOptions: {
    target: 'es2023',
    lib: ['es2023'],
    module: 'preserve',
    moduleResolution: 'bundler',
    allowImportingTsExtensions: true,
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    types: ['node'],
  },
  include: ['**/*.ts'],
}

export const GITIGNORE = `.shoal/
node_modules/
`
