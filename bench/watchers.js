import { setMaxListeners } from 'node:events'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './free-port.js'
import { median, openSite } from './measure.js'
import { printBars, round, table, versions } from './report.js'
import { runShoal } from './shoal.js'

const CONCURRENCY = 64
const WATCHERS = 200
const MOST = 0.05
/** Every other client reads a little now and then; the rest never do. */
const SLOW_EVERY_MS = 5_000
const TOKEN = 'a-token-for-the-bench-alone'

/** A crawl with its dashboard, without clients and with many that do not read. */
export async function run({ pages = 20_000, rounds = 5, json }) {
  process.env.SHOAL_TOKEN = TOKEN
  const site = await openSite()
  const samples = { none: [], watched: [] }
  try {
    for (let nth = 1; nth <= rounds; nth++) {
      for (const name of nth % 2 === 1 ? ['none', 'watched'] : ['watched', 'none']) {
        const sample = await crawl(site, pages, name === 'watched')
        samples[name].push(sample)
        console.error(
          `round ${nth} of ${rounds}  ${name.padEnd(7)} ${round(sample.cpuPer1k, 3)} CPU s per 1,000 pages, ${sample.joined} watchers`,
        )
      }
    }
  } finally {
    site.close()
  }
  const changes = samples.none.map((alone, nth) => samples.watched[nth].cpuPer1k / alone.cpuPer1k - 1)
  const middle = (name, key) => median(samples[name].map((one) => one[key]))
  console.log(
    `\n${pages} pages with a dashboard, with and without ${WATCHERS} clients that read slowly or not at all; median of ${rounds} alternations\n${versions()}\n`,
  )
  console.log(
    table(
      ['watchers', 'CPU s / 1,000', 'pages/s'],
      ['none', 'watched'].map((name) => [
        name,
        middle(name, 'cpuPer1k').toFixed(3),
        round(middle(name, 'pagesPerSecond'), 0),
      ]),
    ),
  )
  console.log()
  const cpu = median(changes)
  const joined = Math.min(...samples.watched.map((one) => one.joined))
  const passed = printBars([
    { text: `${WATCHERS} watchers were there`, value: joined, holds: joined === WATCHERS },
    {
      text: `they add at most ${MOST * 100} % to the CPU of a page`,
      value: `${round(cpu * 100, 1)} %`,
      holds: cpu <= MOST,
    },
  ])
  if (json)
    console.log(JSON.stringify({ bench: 'watchers', cpu: round(cpu, 4), changes: changes.map((one) => round(one, 4)) }))
  return passed
}

async function crawl(site, pages, watched) {
  await site.begin(pages)
  const port = await freePort()
  const over = new AbortController()
  const watching = watched ? watch(port, over.signal) : Promise.resolve(0)
  try {
    const { cpuSeconds } = await runShoal('./spider.js', {
      ...{ origin: site.origin, concurrency: CONCURRENCY, withRecords: false },
      flags: ['--dashboard', '--port', String(port)],
    })
    over.abort()
    const { seconds } = await site.report()
    return { cpuPer1k: (cpuSeconds / pages) * 1_000, pagesPerSecond: pages / seconds, joined: await watching }
  } finally {
    over.abort()
  }
}

/** Half of them follow the crawl, half the overview. Returns how many were accepted. */
async function watch(port, signal) {
  let crawl
  while (crawl === undefined && !signal.aborted) {
    await sleep(50)
    crawl = await fetch(`http://127.0.0.1:${port}/api/overview`, { headers: { authorization: `Bearer ${TOKEN}` } })
      .then((answer) => answer.json())
      .then((overview) => overview.crawls[0]?.stats.id)
      .catch(() => undefined)
  }
  setMaxListeners(0, signal)
  const calls = Array.from({ length: WATCHERS }, (_, nth) =>
    listen(port, nth % 4 < 2 ? `?crawl=${crawl}` : '', nth % 2 === 0, signal),
  )
  return (await Promise.all(calls)).filter(Boolean).length
}

function listen(port, query, reads, signal) {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${TOKEN}` }
    const call = request({ port, host: '127.0.0.1', path: `/api/events${query}`, headers, signal }, (response) => {
      response.on('error', () => {})
      response.pause()
      // A client that never reads does not notice the end.
      signal.addEventListener('abort', () => response.destroy(), { once: true })
      if (reads) {
        const timer = setInterval(() => response.read(100), SLOW_EVERY_MS)
        response.once('close', () => clearInterval(timer))
      }
      resolve(response.statusCode === 200)
    })
    call.on('error', () => resolve(false))
    call.end()
  })
}
