import { fileURLToPath } from 'node:url'
import { median, openSite, runMeasured } from '../measure.js'
import { round } from '../report.js'
import { runShoal } from '../shoal.js'

const CONCURRENCY = 64
const MOST_SHARE = 0.6
const FIXED = fileURLToPath(new URL('./fixed-spider.js', import.meta.url))

/** CPU of a crawl of the benchmark's site, of one that keeps its pages, and of a reparse of those with a spider that extracts one more field. */
export async function compareReparse({ pages, rounds }) {
  const site = await openSite()
  const samples = { crawl: [], 'crawl, keeping pages': [], reparse: [] }
  try {
    for (let nth = 1; nth <= rounds; nth++) {
      const crawl = await crawlOnce(site, pages, {})
      const { reparse, ...keeping } = await crawlOnce(site, pages, { savePages: true })
      for (const [name, sample] of Object.entries({ crawl, 'crawl, keeping pages': keeping, reparse })) {
        samples[name].push(sample)
        console.error(`round ${nth} of ${rounds}  ${name.padEnd(22)} ${round(sample.cpuUs, 0)} µs of CPU a page`)
      }
    }
  } finally {
    site.close()
  }
  const figures = Object.fromEntries(
    Object.entries(samples).map(([name, all]) => [
      name,
      {
        cpuUs: round(median(all.map(({ cpuUs }) => cpuUs)), 0),
        pagesPerSecond: round(median(all.map(({ seconds }) => pages / seconds)), 0),
      },
    ]),
  )
  const share = figures.reparse.cpuUs / figures.crawl.cpuUs
  return {
    title: `SQLite: ${pages} pages of 10 KB from loopback, and the same pages again from the disk, every record changed; median of ${rounds} rounds, CPU of all threads, start-up included`,
    head: ['what', 'CPU µs / page', 'pages/s', 'of crawl'],
    rows: Object.entries(figures).map(([name, { cpuUs, pagesPerSecond }]) => [
      name,
      cpuUs,
      pagesPerSecond,
      `${round(cpuUs / figures.crawl.cpuUs)} ×`,
    ]),
    bars: [
      {
        text: `CPU of a reparsed page at most ${MOST_SHARE} × that of a page crawled from loopback (and not kept)`,
        value: `${round(share)} ×`,
        holds: share <= MOST_SHARE,
      },
    ],
    figures,
  }
}

async function crawlOnce(site, pages, task) {
  await site.begin(pages)
  const { origin } = site
  let reparse
  const look = async (shoal, addresses) => {
    if (task.savePages) reparse = await reparseOnce(shoal, addresses, { origin, pages })
  }
  const { cpuSeconds } = await runShoal('./spider.js', {
    ...{ origin, concurrency: CONCURRENCY, withRecords: false, task, look },
  })
  const { seconds, served } = await site.report()
  if (served !== pages) throw new Error(`the crawl fetched ${served} of ${pages} pages`)
  return { ...perPage(cpuSeconds, seconds, pages), reparse }
}

async function reparseOnce(shoal, addresses, { origin, pages }) {
  const env = { BENCH_TASK: JSON.stringify({ origin, concurrency: CONCURRENCY }) }
  const { cpuSeconds, lastLine } = await runMeasured([...shoal, 'reparse', FIXED, '--json', ...addresses], { env })
  const summary = JSON.parse(lastLine)
  const [kind] = summary.kinds
  if (summary.pages !== pages || kind.written !== pages) throw new Error(`the reparse went wrong: ${lastLine}`)
  return perPage(cpuSeconds, summary.seconds, pages)
}

function perPage(cpuSeconds, seconds, pages) {
  return { cpuUs: (cpuSeconds / pages) * 1e6, seconds }
}
