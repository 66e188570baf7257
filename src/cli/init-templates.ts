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

export const GITIGNORE = `.shoal/
node_modules/
`
