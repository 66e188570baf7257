import { fileURLToPath } from 'node:url'
import { median, openSite, runMeasured } from './measure.js'
import { printBars, round, table, versions } from './report.js'
import { runShoal } from './shoal.js'

const SERVER_MS = 5
const LEAST = 0.7

const CONTENDERS = {
  async undici(task) {
    const file = fileURLToPath(new URL('./contenders/undici.js', import.meta.url))
    await runMeasured([process.execPath, file, JSON.stringify(task)])
  },
  async shoal({ origin, concurrency }) {
    await runShoal('./spider.js', { origin, concurrency, withRecords: false })
  },
}

/** One request at a time: a slot that waited for a batch to be written would show here. */
export async function run({ pages = 2_000, rounds = 3, json }) {
  const names = Object.keys(CONTENDERS)
  const site = await openSite()
  const rates = new Map(names.map((name) => [name, []]))
  try {
    for (let nth = 1; nth <= rounds; nth++) {
      for (const name of names) {
        await site.begin(pages, SERVER_MS)
        await CONTENDERS[name]({ origin: site.origin, pages, concurrency: 1 })
        const { served, seconds } = await site.report()
        if (served !== pages) throw new Error(`${name} fetched ${served} of ${pages} pages`)
        rates.get(name).push(pages / seconds)
      }
    }
  } finally {
    site.close()
  }
  const figures = Object.fromEntries(names.map((name) => [name, { pagesPerSecond: round(median(rates.get(name)), 1) }]))
  const ratio = figures.shoal.pagesPerSecond / figures.undici.pagesPerSecond
  console.log(
    `\nOne request at a time, a server that takes ${SERVER_MS} ms, ${pages} pages, median of ${rounds} rounds`,
  )
  console.log(`${versions('undici')}\n`)
  console.log(
    table(
      ['contender', 'pages/s'],
      names.map((name) => [name, figures[name].pagesPerSecond]),
    ),
  )
  console.log('')
  const passed = printBars([
    { text: `pages/s of shoal at least ${LEAST} × undici`, value: `${round(ratio, 3)} ×`, holds: ratio >= LEAST },
  ])
  if (json) console.log(JSON.stringify({ bench: 'latency', contenders: figures }))
  return passed
}
