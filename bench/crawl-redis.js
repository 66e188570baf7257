import { startRedis } from './frontier/redis-server.js'
import { median, openSite } from './measure.js'
import { printBars, round, table, versions } from './report.js'
import { runShoal } from './shoal.js'
import { digestOf, siteDigest } from './site.js'

const CONCURRENCY = 64
const NAMES = ['shoal', 'shoal-redis']

/** The same crawl with the queue in SQLite and in Redis; the records go to SQLite both times. */
export async function run({ pages = 20_000, rounds = 3, json }) {
  const site = await openSite()
  const samples = new Map(NAMES.map((name) => [name, []]))
  try {
    for (let nth = 1; nth <= rounds; nth++) {
      for (const name of NAMES) {
        const sample = await runOnce(name, site, pages)
        samples.get(name).push(sample)
        console.error(
          `round ${nth} of ${rounds}  ${name.padEnd(11)} ${round(sample.cpuPer1k, 3)} CPU s per 1,000 pages, Redis ${round(sample.redisCpuPer1k, 3)}`,
        )
      }
    }
  } finally {
    site.close()
  }
  const middle = (all, key, digits) => round(median(all.map((one) => one[key])), digits)
  const figures = Object.fromEntries(
    [...samples].map(([name, all]) => [
      name,
      {
        cpuPer1k: middle(all, 'cpuPer1k', 4),
        redisCpuPer1k: middle(all, 'redisCpuPer1k', 4),
        pagesPerSecond: middle(all, 'pagesPerSecond', 0),
      },
    ]),
  )
  const { shoal, 'shoal-redis': redis } = figures
  console.log(
    `\n${pages} pages, ${CONCURRENCY} at once, median of ${rounds} rounds; CPU s per 1,000 pages\n${versions()}\n`,
  )
  console.log(
    table(
      ['contender', 'pages/s', 'worker', 'redis-server'],
      NAMES.map((name) => [name, figures[name].pagesPerSecond, figures[name].cpuPer1k, figures[name].redisCpuPer1k]),
    ),
  )
  console.log('')
  const atMost = (text, value, limit) => ({
    text: `${text}, at most ${limit}`,
    value: String(round(value, 3)),
    holds: value <= limit,
  })
  const passed = printBars([
    atMost('CPU of the worker, × the embedded run', redis.cpuPer1k / shoal.cpuPer1k, 1.3),
    atMost('CPU of Redis, × that of the worker', redis.redisCpuPer1k / redis.cpuPer1k, 0.15),
  ])
  if (json) console.log(JSON.stringify({ bench: 'crawl', queue: 'redis', contenders: figures }))
  return passed
}

async function runOnce(name, site, pages) {
  const server = name === 'shoal' ? null : await startRedis()
  try {
    await site.begin(pages)
    const before = await server?.cpuUs()
    const { cpuSeconds, records } = await runShoal('./spider.js', {
      origin: site.origin,
      concurrency: CONCURRENCY,
      ...(server === null ? {} : { queue: server.url }),
    })
    const redisSeconds = server === null ? 0 : ((await server.cpuUs()) - before) / 1e6
    const seen = await site.report()
    if (seen.missing > 0 || seen.strangers.length > 0 || seen.twice > 0)
      throw new Error(`${name} did not fetch the site once: ${seen.missing} pages missing, ${seen.twice} fetched again`)
    if (digestOf(records) !== siteDigest(pages)) throw new Error(`the records of ${name} are not those of the site`)
    return {
      cpuPer1k: (cpuSeconds / pages) * 1_000,
      redisCpuPer1k: (redisSeconds / pages) * 1_000,
      pagesPerSecond: pages / seen.seconds,
    }
  } finally {
    await server?.close()
  }
}
