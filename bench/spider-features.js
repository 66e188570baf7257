import { defineSpider } from '../dist/index.js'
import bench from './spider.js'

const { origins, pace, robots, out } = JSON.parse(process.env.BENCH_TASK)
const hosts = origins.map((origin) => new URL(origin).host)
const plain = bench.definition
const proxied = { match: '/through-a-proxy/*', proxy: 'bench' }

/** The spider of the crawl benchmark on one host or many, with each feature on or off. `out`: null, the proxy ledger alone, or a selection of ten. */
export default defineSpider({
  ...plain,
  start: origins.map((origin) => `${origin}/`),
  scope: { hosts },
  allowPrivate: hosts,
  pace,
  robots,
  ...(out === 'pool' && { proxy: 'bench' }),
  // A route that no page takes makes the others ask the ledger for a request without a proxy.
  ...(out === 'ledger' && { routes: { ...plain.routes, proxied } }),
})
