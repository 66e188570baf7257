import { readdirSync, readFileSync } from 'node:fs'
import { openSite } from './measure.js'
import { printBars, round, table, versions } from './report.js'
import { runShoal } from './shoal.js'

const MAX_MB = 300
/** Flat: the last quarter of the crawl needs at most this much more than the part after the first tenth. */
const GROWTH = 1.1
const CONCURRENCY = 32

export async function run({ pages = 200_000, json }) {
  const site = await openSite()
  const samples = []
  try {
    await site.begin(pages)
    await runShoal('./spider.js', {
      origin: site.origin,
      concurrency: CONCURRENCY,
      withRecords: false,
      async watch(pid) {
        const mb = largestProcessMb(pid)
        const { served } = await site.report()
        if (mb > 0) samples.push({ served, mb })
      },
    })
  } finally {
    site.close()
  }
  const between = (from, to) =>
    samples.filter(({ served }) => served >= from * pages && served < to * pages).map(({ mb }) => mb)
  const tenths = Array.from({ length: 10 }, (_, tenth) => between(tenth / 10, (tenth + 1) / 10))
  console.log(`\nResident memory of the largest process of \`shoal run\`, ${pages} pages, ${CONCURRENCY} at once`)
  console.log(`${versions()}\n`)
  console.log(
    table(
      ['pages', 'mean MB', 'peak MB'],
      tenths.map((all, tenth) => [`${((tenth + 1) * pages) / 10}`, round(mean(all), 0), round(Math.max(0, ...all), 0)]),
    ),
  )
  console.log('')
  const peak = Math.max(0, ...samples.map(({ mb }) => mb))
  const early = mean(between(0.1, 0.3))
  const late = mean(between(0.75, 1.01))
  const passed = printBars([
    { text: `peak at most ${MAX_MB} MB`, value: `${round(peak, 0)} MB`, holds: peak > 0 && peak <= MAX_MB },
    {
      text: `the last quarter at most ${GROWTH} × the fifth after the first tenth`,
      value: `${round(late / early, 3)} ×`,
      holds: late <= early * GROWTH,
    },
  ])
  if (json)
    console.log(
      JSON.stringify({
        bench: 'memory',
        pages,
        peakMb: round(peak, 1),
        earlyMb: round(early, 1),
        lateMb: round(late, 1),
      }),
    )
  return passed
}

function mean(numbers) {
  return numbers.length === 0 ? 0 : numbers.reduce((sum, number) => sum + number, 0) / numbers.length
}

/** From /proc: on systems without it the benchmark reports 0 and misses its target rather than guess. */
function largestProcessMb(root) {
  const parents = new Map()
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      parents.set(Number(pid), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
    } catch {
      // Gone since the listing.
    }
  }
  const belongs = (pid) => pid === root || (parents.has(pid) && belongs(parents.get(pid)))
  let largest = 0
  for (const pid of parents.keys()) {
    if (!belongs(pid)) continue
    try {
      const rss = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
      largest = Math.max(largest, rss === null ? 0 : Number(rss[1]) / 1024)
    } catch {
      // Gone since the listing.
    }
  }
  return largest
}
