#!/usr/bin/env node
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const HELP = `npm run bench -- <bench> [options]

  crawl      Shoal against undici, htmlparser2, cheerio and Crawlee on the same site: CPU per page, pages per second
  docs       1,000 pages of Debian's documentation: shoal crawl against the same record from a tree, and its Markdown
  frontier   the Redis frontier against BullMQ, the way of scrapy-redis and plain SADD on a private redis-server: CPU of Redis,
             memory, growth; and the SQLite frontier against bare prepared statements. Takes a while with 10 million URLs
  slow-hosts what a host that hangs and one that takes 20 s do to the CPU and the page order of other hosts
  polite     a polite crawl of 100 hosts with its queue in Redis: CPU of Redis per page, calls per page
  memory     memory of a long crawl
  scale      pages per minute by workers, hosts and proxies: CPU-bound, I/O-bound and mixed pages, spread over the workers, CPU of Redis.
             --only takes cpu, io, mixed, sqlite, proxies, auto; --quick ends in under 3 minutes, the full run takes about 12
  sizing     what a page and a URL cost worker, Redis, Postgres and SQLite: CPU, bytes, calls, network; compared with src/simulate/figures.ts.
             --only takes crawls, redis, postgres, sqlite; about 3 minutes
  latency    one host, one request at a time, a server that takes 5 ms
  pages      cost of keeping raw pages, in files and in S3: CPU and bytes per page, S3 requests
  export     memory and speed of exports of 10,000 and 1,000,000 records
  sitemap    sitemaps of 100,000 and 1,000,000 URLs into the queue: rate compared with plain frontier adds, memory, a kill in the middle
  api        p50 and p99 of every GET of the API with 10 million URLs in the queue
  watchers   CPU per page that 200 dashboard clients add which read slowly or not at all
  store      Postgres: writes against hand-written loops, growth to 10 million rows, exports, reparse, retention

  --pages N      pages of the largest contender (crawl 20000, docs 1000, slow-hosts 30000, memory 200000, latency 2000), links (frontier) or records (export)
  --rounds N     runs of each contender, in turns; the median counts (default 3)
  --only a,b     only these contenders; of frontier also the parts speed, masters, footprint, sqlite;
                 of store also the parts write, growth, export, reparse, retention
  --quick        scale: only the cells of the targets; frontier, store: one round, and 1 million URLs or rows where it would be 10 million
  --queue redis  crawl: Shoal on a redis-server against Shoal on SQLite only; api: on Redis and Postgres
  --urls N       api: URLs in the queue (10000000)
  --features     crawl: what the robots.txt check, proxy selection, adaptive pace and guard add to a page; Shoal only (10000 pages, 5 rounds)
  --json         print one line of JSON at the end

Exit code 1: a target was missed, or a contender did not find exactly the pages and records of the site.`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    pages: { type: 'string' },
    urls: { type: 'string' },
    rounds: { type: 'string' },
    only: { type: 'string' },
    quick: { type: 'boolean', default: false },
    queue: { type: 'string' },
    features: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
})

const BENCHES = [
  'crawl',
  'docs',
  'slow-hosts',
  'frontier',
  'polite',
  'memory',
  'latency',
  'scale',
  'sizing',
  'pages',
  'export',
  'sitemap',
  'store',
  'api',
  'watchers',
]
const bench = positionals[0]
if (values.help || !BENCHES.includes(bench)) {
  console.log(HELP)
  process.exit(values.help ? 0 : 2)
}

const count = (name) => {
  if (values[name] === undefined) return undefined
  const number = Number(values[name])
  if (Number.isInteger(number) && number > 0) return number
  console.error(`--${name} takes a whole number above 0, not '${values[name]}'`)
  process.exit(2)
}

const queues = { crawl: ['redis'], api: ['redis', 'sqlite'] }[bench] ?? []
if (values.queue !== undefined && !queues.includes(values.queue)) {
  console.error("--queue takes 'redis', and only the benches crawl and api have it")
  process.exit(2)
}
if (values.features && (bench !== 'crawl' || values.queue !== undefined)) {
  console.error('--features: only the bench crawl has it, and only with its queue in SQLite')
  process.exit(2)
}

requireBuild()
installContenders()
// process.exit(), because its handlers stop the servers of the bench.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))
const file = values.features ? 'features' : bench === 'crawl' && values.queue === 'redis' ? 'crawl-redis' : bench
const { run } = await import(`./${file}.js`)
try {
  const passed = await run({
    pages: count('pages'),
    urls: count('urls'),
    queue: values.queue,
    rounds: count('rounds'),
    // Some contenders have a comma in their name.
    only: values.only?.split(/,(?! )/),
    quick: values.quick,
    json: values.json,
  })
  process.exitCode = passed ? 0 : 1
} catch (error) {
  console.error(`bench: ${error.message}`)
  process.exitCode = 1
}

function requireBuild() {
  if (existsSync(new URL('../dist/index.js', import.meta.url))) return
  console.error('bench: Shoal is not built; run `npm run build` first')
  process.exit(2)
}

/** The contenders have their own manifest and are installed on the first run. */
function installContenders() {
  const here = fileURLToPath(new URL('.', import.meta.url))
  const { dependencies } = JSON.parse(readFileSync(`${here}package.json`, 'utf8'))
  if (Object.keys(dependencies).every((name) => existsSync(`${here}node_modules/${name}`))) return
  console.error('bench: installing the contenders into bench/node_modules (first run only) …')
  const { status } = spawnSync('npm', ['ci', '--prefix', here, '--ignore-scripts', '--no-audit', '--no-fund'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (status === 0) return
  console.error('bench: the contenders could not be installed; is the npm registry reachable?')
  process.exit(2)
}
