/** What `shoal init` writes: a spider for a public site that was made for practising. */
export const SPIDER = `import { defineSpider } from 'shoal'
import { z } from 'zod'

export default defineSpider({
  name: 'books',
  start: ['https://books.toscrape.com/'],

  // Links that lead elsewhere are left alone.
  scope: { hosts: ['books.toscrape.com'], maxDepth: 60 },

  // For each host, over all workers. robots.txt is respected too.
  pace: { delay: '500ms', concurrency: 2 },

  // A first run should end soon: take this line out for the whole shop.
  budget: { pages: 60 },

  // What a record must look like. What does not fit is kept aside: shoal records rejected
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
