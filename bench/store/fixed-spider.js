import { z } from 'zod'
import { defineSpider } from '../../dist/index.js'
import bench from '../spider.js'

/** The spider of the benchmark, with one more field in every record. */
const { book } = bench.definition.routes
export default defineSpider({
  ...bench.definition,
  records: { book: z.object({ title: z.string(), price: z.number(), sku: z.string(), shelf: z.string() }) },
  routes: {
    book: { ...book, record: { ...book.record, fields: { ...book.record.fields, shelf: '.nav a' } } },
  },
})
