import { z } from 'zod'
import { defineSpider, type TaggedDefinition } from '../spider/definition.js'

/** The spider of `shoal demo`: what a user would write for the demo shop. */
export function demoDefinition({ origin }: { readonly origin: string }): TaggedDefinition {
  const { host } = new URL(origin)
  return defineSpider({
    name: 'demo',
    start: [`${origin}/`],
    scope: {
      hosts: [host],
      // An endless calendar.
      deny: ['/events/*'],
      // A large shop has long chains of listings: page 150 is 150 clicks from the first.
      maxDepth: 100_000,
    },
    allowPrivate: [host],
    pace: { delay: '20ms', concurrency: 8 },
    retries: { max: 3, backoff: ['200ms', '500ms', '1s'] },
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
      // robots.txt disallows the account pages among them: they end as skipped.
      info: { match: ['/about.html', '/private/*'], follow: [{ links: 'main a' }] },
    },
  })
}
