import { defineSpider } from 'shoal'
import { z } from 'zod'

/** The demo shop of compose.yaml, reached by its service name. Replace it with spiders of your own: docs/containers.md. */
export default defineSpider({
  name: 'shop',
  start: ['http://shop:8080/'],
  scope: { hosts: ['shop:8080'], deny: ['/events/*'], maxDepth: 1_000 },
  // The network of Compose has private addresses, which are refused. This is the one exception.
  allowPrivate: ['shop:8080'],
  pace: { delay: '100ms', concurrency: 1 },
  retries: { max: 3, backoff: ['200ms', '500ms', '1s'] },
  // The service `scheduler` starts a crawl every night.
  schedule: '0 3 * * *',
  records: { product: z.object({ title: z.string(), price: z.number(), sku: z.string(), stock: z.string() }) },
  routes: {
    listing: {
      match: ['/', '/catalogue/page-*', '/category/*/*'],
      priority: 10,
      follow: [{ links: 'nav a' }, { links: 'article a', route: 'product' }, { links: 'a.next', route: 'listing' }],
    },
    product: {
      match: ['/catalogue/*/index.html', '/old/*'],
      follow: [{ links: '.related a', route: 'product' }],
      record: {
        kind: 'product',
        key: 'sku',
        fields: { title: 'h1', price: { select: '.price', as: 'number' }, sku: '.sku', stock: '.stock' },
      },
    },
    info: { match: ['/about.html', '/private/*'], follow: [{ links: 'main a' }] },
  },
})
