/** Checked by the compiler alone (npm run check): every @ts-expect-error below must really be an error. */
import { z } from 'zod'
import { defineSpider } from '../../src/spider/definition.js'

const book = z.object({ title: z.string(), price: z.number(), sku: z.string().optional() })
const basics = { name: 'types', start: ['https://books.example/'] } as const

defineSpider({
  ...basics,
  records: { book, shop: { schema: z.object({ id: z.string() }), fresh: '2h' }, anything: {} },
  steps: [
    (record) => (record.kind === 'book' ? { ...record, data: { ...record.data, price: record.data.price + 1 } } : null),
  ],
  routes: {
    listing: {
      match: ['/', /page-\d+/],
      follow: [{ links: 'article a', route: 'book' }, { links: 'a.next', route: 'listing' }, { links: 'nav a' }],
    },
    book: {
      match: '/book/*',
      record: { kind: 'book', key: 'title', fields: { title: 'h1', price: { select: '.price', as: 'number' } } },
    },
    coded: {
      data: z.object({ page: z.number() }),
      handler(page, out) {
        const number: number = page.data.page
        // @ts-expect-error it is a number
        const text: string = page.data.page
        out.record('book', number, { title: text, price: number })
        out.record('shop', 'id', { id: page.url })
        out.record('anything', 'id', { free: ['form'] })
        // @ts-expect-error no such kind
        out.record('bok', 'x', { title: '', price: 1 })
        // @ts-expect-error price is a number
        out.record('book', 'x', { title: '', price: '1' })
        // @ts-expect-error title is missing
        out.record('book', 'x', { price: 1 })
        // @ts-expect-error a key is text or a number
        out.record('book', null, { title: '', price: 1 })

        out.follow('/a')
        out.follow('/a', { priority: 5, delay: '2s', method: 'POST', body: 'x' })
        out.follow('/a', { route: 'listing', data: { free: 'form' } })
        out.follow('/a', { route: 'coded', data: { page: 1 } })
        // @ts-expect-error no such route
        out.follow('/a', { route: 'lising' })
        // @ts-expect-error the data does not fit
        out.follow('/a', { route: 'coded', data: { page: '1' } })
        // @ts-expect-error the route needs data
        out.follow('/a', { route: 'coded' })
        // @ts-expect-error not a duration
        out.follow('/a', { delay: '5 parsecs' })
      },
    },
    arrow: {
      match: '/arrow',
      handler: async (page, out) => out.follow(page.url, { route: 'coded', data: { page: 2 } }),
    },
    optional: {
      match: '/optional',
      data: z.object({ page: z.number() }).optional(),
      handler(page, out) {
        // @ts-expect-error it may be undefined
        page.data.page
        out.follow('/b', { route: 'optional' })
      },
    },
    free: {
      match: '/free',
      handler(page) {
        const data: unknown = page.data
        return data === null ? undefined : undefined
      },
    },
  },
})

// Neither records nor handlers.
defineSpider({ ...basics, routes: { all: { match: '/**', follow: [{ links: 'a', route: 'all' }] } } })

defineSpider({
  ...basics,
  routes: {
    all: {
      match: '/**',
      handler(_page, out) {
        // @ts-expect-error there are no record kinds
        out.record('book', 'x', {})
      },
    },
  },
})

defineSpider({
  ...basics,
  // @ts-expect-error no such route
  routes: { all: { match: '/**', follow: [{ links: 'a', route: 'al' }] } },
})

defineSpider({
  ...basics,
  records: { book },
  // @ts-expect-error no such kind
  routes: { all: { match: '/**', record: { kind: 'bok', key: 'title', fields: { title: 'h1' } } } },
})

defineSpider({
  ...basics,
  records: { book },
  // @ts-expect-error the key is no field of the kind
  routes: { all: { match: '/**', record: { kind: 'book', key: 'isbn', fields: { title: 'h1' } } } },
})

defineSpider({
  ...basics,
  records: { book },
  // @ts-expect-error the schema has no such field
  routes: { all: { match: '/**', record: { kind: 'book', key: 'title', fields: { title: 'h1', isbn: '.isbn' } } } },
})

// @ts-expect-error unknown option
defineSpider({ ...basics, rotues: {}, routes: { all: { match: '/**' } } })
// @ts-expect-error unknown option of a route
defineSpider({ ...basics, routes: { all: { match: '/**', retires: { max: 1 } } } })
// @ts-expect-error not a duration
defineSpider({ ...basics, pace: { delay: '5 parsecs' }, routes: { all: { match: '/**' } } })
// @ts-expect-error not a rate
defineSpider({ ...basics, pace: { rate: 'often' }, routes: { all: { match: '/**' } } })
// @ts-expect-error a spider has routes
defineSpider({ ...basics })

// A function with a typed parameter leaves the kinds as they are.
defineSpider({
  ...basics,
  records: {
    book: {
      schema: book,
      history: true,
      merge: {
        identity: (data: z.infer<typeof book>) => data.sku,
        prefer: { title: 'longest', price: { sites: ['books.example'] } },
        default: 'newest',
      },
    },
    shop: { merge: { identity: ['name', 'city'], ignoreCase: true } },
  },
  routes: {
    book: {
      match: '**',
      record: { kind: 'book', key: 'title', fields: { title: 'h1' } },
      handler(_page, out) {
        out.record('book', 'x', { title: '', price: 1 })
        // @ts-expect-error price is a number
        out.record('book', 'x', { title: '', price: '1' })
      },
    },
  },
})

defineSpider({
  ...basics,
  records: {
    // @ts-expect-error no such rule
    book: { schema: book, merge: { identity: 'sku', prefer: { price: 'cheapest' } } },
  },
  routes: { page: { match: '**' } },
})
