import { z } from 'zod'
import { defineSpider } from '../dist/index.js'

const { origin, concurrency, savePages = false } = JSON.parse(process.env.BENCH_TASK)
const { host } = new URL(origin)

// Product defaults, except the delay.
export default defineSpider({
  name: 'bench',
  start: [`${origin}/`],
  scope: { hosts: [host] },
  allowPrivate: [host],
  pace: { delay: '0ms', concurrency },
  budget: { pagesPerHost: 10_000_000 },
  savePages,
  records: { book: z.object({ title: z.string(), price: z.number(), sku: z.string() }) },
  routes: {
    book: {
      match: ['/', '/catalogue/*/index.html'],
      follow: [{ links: 'a' }],
      record: {
        kind: 'book',
        key: 'sku',
        fields: { title: 'h1', price: { select: '.price', as: 'number' }, sku: '.sku' },
      },
    },
  },
})
