import { fork } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { docsFolder } from './docs-pages.js'
import { median, runMeasured } from './measure.js'
import { printBars, round, table, versions } from './report.js'
import { runShoal } from './shoal.js'

const BIN = fileURLToPath(new URL('../bin/shoal.js', import.meta.url))
const MOST_OF_TREE = 1 / 4

/** `tree`: the record of `crawl` as it was built with page.$. Both crawl the same pages with the same rules for links. */
const CONTENDERS = {
  tree: ({ origin, pages }) => runShoal('./spider-docs.js', { origin, task: { pages }, concurrency: 16 }),
  crawl: (site) => crawl(site),
  markdown: (site) => crawl(site, '--format', 'markdown'),
}

export async function run({ pages = 1_000, rounds = 3, only, json }) {
  const names = Object.keys(CONTENDERS).filter((name) => only === undefined || only.includes(name))
  const site = await openDocs(pages)
  const samples = new Map(names.map((name) => [name, []]))
  try {
    for (let nth = 1; nth <= rounds; nth++) {
      for (const name of names) {
        // The start page is one more.
        const { cpuSeconds, records } = await CONTENDERS[name]({ origin: site.origin, pages: pages + 1 })
        const sample = { cpuSeconds, ...contentsOf(records) }
        samples.get(name).push(sample)
        console.error(
          `round ${nth} of ${rounds}  ${name.padEnd(9)} ${round(cpuSeconds)} CPU s, ${sample.stored} records`,
        )
      }
    }
  } finally {
    site.close()
  }
  const figures = Object.fromEntries(
    [...samples].map(([name, all]) => [
      name,
      { ...all[0], cpuSeconds: round(median(all.map((one) => one.cpuSeconds))) },
    ]),
  )
  console.log(
    `\n${pages} pages of Debian's documentation, median of ${rounds} rounds; CPU of all processes, start-up included`,
  )
  console.log(`${versions()}\n`)
  console.log(
    table(
      ['', 'CPU s', 'of tree', 'stored', 'without text'],
      names.map((name) => {
        const { cpuSeconds, stored, empty } = figures[name]
        const share = figures.tree === undefined ? '' : `${round(cpuSeconds / figures.tree.cpuSeconds, 3)} ×`
        return [name, cpuSeconds, share, stored, empty]
      }),
    ),
  )
  console.log('')
  const passed = printBars(barsOf(figures, pages + 1))
  if (json) console.log(JSON.stringify({ bench: 'docs', contenders: figures }))
  return passed
}

function barsOf({ tree, crawl, markdown }, pages) {
  const bars = []
  if (tree !== undefined && crawl !== undefined) {
    const share = crawl.cpuSeconds / tree.cpuSeconds
    bars.push({
      text: 'crawl needs at most 1/4 of the CPU of the tree',
      value: round(share, 3),
      holds: share <= MOST_OF_TREE,
    })
  }
  for (const [name, figure] of Object.entries({ crawl, markdown })) {
    if (figure === undefined) continue
    const { stored, empty } = figure
    bars.push({
      text: `${name}: a record with text for every page`,
      value: stored - empty,
      holds: stored - empty === pages,
    })
  }
  return bars
}

function contentsOf(records) {
  return { stored: records.length, empty: records.filter(({ text, markdown }) => !(text ?? markdown)).length }
}

async function crawl({ origin, pages }, ...flags) {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-bench-'))
  const out = join(dir, 'pages.jsonl')
  const { host } = new URL(origin)
  const database = `sqlite:${join(dir, 'bench.db')}`
  try {
    const limits = ['--max-pages', String(pages), '--delay', '0s', '--allow-private', host, '--concurrency', '16']
    const command = [BIN, 'crawl', `${origin}/`, '--follow', ...limits, '--queue', database, '--store', database]
    const { cpuSeconds } = await runMeasured([process.execPath, ...command, ...flags])
    await runMeasured([process.execPath, BIN, 'export', '--queue', database, '--store', database, '--out', out])
    const records = readFileSync(out, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).data)
    return { cpuSeconds, records }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function openDocs(pages) {
  const child = fork(fileURLToPath(new URL('./docs-process.js', import.meta.url)), [docsFolder(), String(pages)])
  const { port } = await new Promise((resolve) => child.once('message', resolve))
  return { origin: `http://127.0.0.1:${port}`, close: () => child.disconnect() }
}
