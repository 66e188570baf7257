import { fileURLToPath } from 'node:url'
import { median, openSite, runMeasured } from './measure.js'
import { printBars, round, table, versions } from './report.js'
import { runShoal } from './shoal.js'
import { digestOf, LINKS_PER_PAGE, PAGE_BYTES, siteDigest } from './site.js'

const CONCURRENCY = 64

/** `share` of the pages: slow contenders crawl a smaller site of the same kind; startup counts for all of them. */
const CONTENDERS = {
  undici: { share: 1, run: script('undici') },
  htmlparser2: { share: 1 / 2, run: script('htmlparser2') },
  'cheerio-lenient': { share: 1, run: script('cheerio-lenient') },
  cheerio: { share: 1, run: script('cheerio') },
  shoal: { share: 1, run: shoal('./spider.js') },
  shoal$: { share: 1, run: shoal('./spider-dom.js') },
  crawlee: { share: 1 / 10, run: script('crawlee') },
}

export async function run({ pages = 20_000, rounds = 3, only, json }) {
  const names = Object.keys(CONTENDERS).filter((name) => only === undefined || only.includes(name))
  const site = await openSite()
  const samples = new Map(names.map((name) => [name, []]))
  try {
    for (let nth = 1; nth <= rounds; nth++) {
      for (const name of names) {
        const sample = await runOnce(name, site, Math.max(10, Math.round(pages * CONTENDERS[name].share)))
        samples.get(name).push(sample)
        console.error(
          `round ${nth} of ${rounds}  ${name.padEnd(15)} ${round(sample.cpuPer1k, 3)} CPU s per 1,000 pages`,
        )
      }
    }
  } finally {
    site.close()
  }

  const figures = Object.fromEntries(
    [...samples].map(([name, all]) => [
      name,
      {
        cpuPer1k: round(median(all.map((one) => one.cpuPer1k)), 4),
        pagesPerSecond: round(median(all.map((one) => one.pagesPerSecond)), 0),
        pages: all[0].pages,
      },
    ]),
  )
  const times = (name, base) =>
    figures[base] === undefined ? '' : `${round(figures[name].cpuPer1k / figures[base].cpuPer1k, 3)} ×`
  console.log(
    `\nPages of ${PAGE_BYTES} bytes with ${LINKS_PER_PAGE} links, ${CONCURRENCY} at once, median of ${rounds} rounds; CPU of all processes and threads, start-up included`,
  )
  console.log(`${versions('undici', 'htmlparser2', 'cheerio', '@crawlee/cheerio')}\n`)
  console.log(
    table(
      ['contender', 'pages', 'pages/s', 'CPU s / 1,000', 'of undici', 'of crawlee'],
      names.map((name) => [
        name,
        figures[name].pages,
        figures[name].pagesPerSecond,
        figures[name].cpuPer1k.toFixed(3),
        times(name, 'undici'),
        times(name, 'crawlee'),
      ]),
    ),
  )
  console.log('')
  const passed = printBars(
    [
      bar(figures, 'shoal', 'undici', 3),
      bar(figures, 'shoal', 'crawlee', 1 / 20),
      bar(figures, 'shoal$', 'cheerio', 1.3),
    ].filter((one) => one !== null),
  )
  if (json) {
    const contenders = Object.fromEntries(
      names.map((name) => [name, { cpuPer1k: figures[name].cpuPer1k, pagesPerSecond: figures[name].pagesPerSecond }]),
    )
    console.log(JSON.stringify({ bench: 'crawl', contenders }))
  }
  return passed
}

function bar(figures, name, base, limit) {
  if (figures[name] === undefined || figures[base] === undefined) return null
  const ratio = figures[name].cpuPer1k / figures[base].cpuPer1k
  return { text: `CPU of ${name} at most ${limit} × ${base}`, value: `${round(ratio, 3)} ×`, holds: ratio <= limit }
}

/** One contender, once; what it fetched and what it found must match the site, or its figure is worthless. */
async function runOnce(name, site, pages) {
  await site.begin(pages)
  const { cpuSeconds, digest } = await CONTENDERS[name].run({ origin: site.origin, pages, concurrency: CONCURRENCY })
  const seen = await site.report()
  if (seen.missing > 0 || seen.strangers.length > 0 || seen.twice > 0) {
    throw new Error(
      `${name} did not fetch the site once: ${seen.missing} pages missing, ${seen.twice} fetched again, unknown ones ${JSON.stringify(seen.strangers)}`,
    )
  }
  if (digest !== null && digest !== siteDigest(pages))
    throw new Error(`the records of ${name} are not those of the site`)
  return { pages, cpuPer1k: (cpuSeconds / pages) * 1_000, pagesPerSecond: pages / seen.seconds }
}

function script(name) {
  const file = fileURLToPath(new URL(`./contenders/${name}.js`, import.meta.url))
  return async (task) => {
    const { cpuSeconds, lastLine } = await runMeasured([process.execPath, file, JSON.stringify(task)])
    return { cpuSeconds, digest: JSON.parse(lastLine).digest ?? null }
  }
}

function shoal(spider) {
  return async ({ origin, concurrency }) => {
    const { cpuSeconds, records } = await runShoal(spider, { origin, concurrency })
    return { cpuSeconds, digest: digestOf(records) }
  }
}
