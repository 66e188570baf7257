import { defineSpider } from 'shoal'
import { z } from 'zod'

export default defineSpider({
  name: 'books',
  start: ['https://books.example/'],
  scope: { hosts: ['books.example'], maxDepth: 6 },
  pace: { delay: '500ms', concurrency: 2 },
  records: { book: z.object({ title: z.string(), price: z.number(), sku: z.string() }) },
  routes: {
    listing: {
      match: ['/', '/catalogue/page-*'],
      priority: 10,
      follow: [
        { links: 'article a', route: 'book' },
        { links: 'a.next', route: 'listing' },
      ],
    },
    book: {
      match: '/catalogue/*/index.html',
      retries: { max: 3, backoff: ['1s', '10s', '60s'] },
      record: {
        kind: 'book',
        key: 'sku',
        fields: { title: 'h1', price: { select: '.price', as: 'number' }, sku: '.sku' },
      },
    },
  },
})
