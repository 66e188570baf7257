import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { median, openSite, runMeasured } from './measure.js'
import { printBars, round, table } from './report.js'
import { runShoal } from './shoal.js'
import { PAGE_BYTES } from './site.js'

const CONCURRENCY = 64

/** The service accepts any credentials, but the SDK needs some. */
Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'bench', AWS_SECRET_ACCESS_KEY: 'bench' })

/** The cost of keeping raw pages: the same crawl without them, with packs in files and with packs in S3. */
export async function run({ pages = 5_000, rounds = 3, only, json }) {
  const names = ['none', 'files', 's3'].filter((name) => only === undefined || only.includes(name))
  const site = await openSite()
  const s3 = await openS3()
  const samples = new Map(names.map((name) => [name, []]))
  try {
    for (let nth = 1; nth <= rounds; nth++) {
      for (const name of names) {
        const sample = await runOnce(name, site, s3, pages)
        samples.get(name).push(sample)
        console.error(`round ${nth} of ${rounds}  ${name.padEnd(6)} ${round(sample.cpuUs, 0)} µs of CPU a page`)
      }
    }
  } finally {
    site.close()
    s3.close()
  }
  const middle = (name, field) => median(samples.get(name).map((one) => one[field]))
  const figures = Object.fromEntries(
    names.map((name) => [
      name,
      {
        cpuUs: Math.round(middle(name, 'cpuUs')),
        pagesPerSecond: Math.round(middle(name, 'pagesPerSecond')),
        bytesPerPage: Math.round(middle(name, 'bytesPerPage')),
        putsPer1k: round(middle(name, 'putsPer1k'), 1),
        requestsPer1k: round(middle(name, 'requestsPer1k'), 1),
      },
    ]),
  )
  console.log(`\n${pages} pages of ${PAGE_BYTES} bytes, ${CONCURRENCY} at once, median of ${rounds} rounds\n`)
  console.log(
    table(
      ['pages in', 'pages/s', 'CPU µs / page', 'for keeping it', 'bytes / page', 'PUTs / 1,000', 'requests / 1,000'],
      names.map((name) => [
        name,
        figures[name].pagesPerSecond,
        figures[name].cpuUs,
        figures.none === undefined ? '' : figures[name].cpuUs - figures.none.cpuUs,
        figures[name].bytesPerPage,
        figures[name].putsPer1k,
        figures[name].requestsPer1k,
      ]),
    ),
  )
  console.log('')
  if (json) console.log(JSON.stringify({ bench: 'pages', places: figures }))
  return printBars(
    figures.s3 === undefined
      ? []
      : [
          {
            text: 'S3 requests for 1,000 pages at most 100',
            value: figures.s3.requestsPer1k,
            holds: figures.s3.requestsPer1k <= 100,
          },
        ],
  )
}

async function runOnce(name, site, s3, pages) {
  await site.begin(pages)
  await s3.counts()
  const prefix = Math.random().toString(36).slice(2)
  const flags = name === 's3' ? ['--pages', `s3://bench/${prefix}?endpoint=${s3.endpoint}&region=us-east-1`] : []
  let asked = {}
  let kept = { pages: 0, storedBytes: 0, damaged: 0 }
  const look = async (shoal, where) => {
    asked = await s3.counts()
    const { lastLine } = await runMeasured([...shoal, 'pages', 'check', '--json', ...where])
    kept = JSON.parse(lastLine)
  }
  const { cpuSeconds } = await runShoal('./spider.js', {
    ...{ origin: site.origin, concurrency: CONCURRENCY, withRecords: false, flags, look },
    task: { savePages: name !== 'none' },
  })
  const seen = await site.report()
  if (seen.missing > 0 || seen.twice > 0) throw new Error('the site was not fetched once')
  if (kept.pages !== (name === 'none' ? 0 : pages) || kept.damaged > 0)
    throw new Error(`not the pages of the site: ${JSON.stringify(kept)}`)
  const requests = Object.values(asked).reduce((sum, one) => sum + one, 0)
  return {
    cpuUs: (cpuSeconds / pages) * 1e6,
    pagesPerSecond: pages / seen.seconds,
    bytesPerPage: kept.storedBytes / pages,
    putsPer1k: ((asked.PUT ?? 0) / pages) * 1_000,
    requestsPer1k: (requests / pages) * 1_000,
  }
}

async function openS3() {
  const child = fork(fileURLToPath(new URL('./s3-process.js', import.meta.url)))
  const answer = () => new Promise((resolve) => child.once('message', resolve))
  const { port } = await answer()
  return {
    endpoint: `http://127.0.0.1:${port}`,
    counts() {
      const answered = answer()
      child.send({})
      return answered
    },
    close: () => child.disconnect(),
  }
}
