import { z } from 'zod'
import { defineSpider } from '../dist/index.js'

const { origin, concurrency } = JSON.parse(process.env.BENCH_TASK)
const { host } = new URL(origin)

// The same crawl written with page.$: a tree for every page.
export default defineSpider({
  name: 'bench-dom',
  start: [`${origin}/`],
  scope: { hosts: [host] },
  allowPrivate: [host],
  pace: { delay: '0ms', concurrency },
  budget: { pagesPerHost: 10_000_000 },
  records: { book: z.object({ title: z.string(), price: z.number(), sku: z.string() }) },
  routes: {
    book: {
      match: ['/', '/catalogue/*/index.html'],
      handler({ $ }, out) {
        const sku = $('.sku').text()
        out.record('book', sku, { title: $('h1').text(), price: Number($('.price').text().slice(1)), sku })
        for (const element of $('a[href]').toArray()) out.follow(element.attribs.href)
      },
    },
  },
})
