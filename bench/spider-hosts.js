import { defineSpider } from '../dist/index.js'
import bench from './spider.js'
import dom from './spider-dom.js'

const { origins, badOrigins = [], pages = [], delay = '0ms', tree = false } = JSON.parse(process.env.BENCH_TASK)
const all = [...origins, ...badOrigins]
const hosts = all.map((origin) => new URL(origin).host)

/**
 * Product defaults except the delay, which a task may set, and a timeout long enough for a host that takes 20 s. With `tree` pages are read with `page.$`.
 * The bad hosts have as many pages waiting as the others.
 */
export default defineSpider({
  ...(tree ? dom : bench).definition,
  start: origins.map((origin) => `${origin}/`),
  async *seeds() {
    for (const origin of badOrigins) for (const path of pages) yield `${origin}${path}`
  },
  scope: { hosts },
  allowPrivate: hosts,
  pace: { delay },
  fetch: { headersTimeout: '25s' },
})
