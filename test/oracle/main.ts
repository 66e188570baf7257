import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { SEPARATOR } from './answers.js'
import { openChromium } from './chromium.js'
import { generateDocuments } from './documents.js'
import { allPages } from './pages/all.js'
import { comparePages, compareTexts, emptyReport, type Report } from './run.js'

const HELP = `npm run oracle [-- options]: the same pages through Chromium and through Shoal

Compares encoding, base URL, links, text, attributes and selectors as a browser without scripts sees them, with what the scanner, the tree, fields
and page.$ answer. Exits with 1 if a difference has no reason in test/oracle/known.ts, or if more than 0.1 % of the values differ.

  --pages <n>       pages of the tables, loaded over HTTP (default: all)
  --documents <n>   generated documents (default: 20000)
  --seed <n>        of the generator (default: 1)
  --only <word>     pages with this word in their name
  --save <folder>   write documents with unexplained differences there
  --json            print the result as JSON

Example: npm run oracle -- --documents 2000 --seed 7 --save /tmp/differences`

const { values: options } = parseArgs({
  options: {
    pages: { type: 'string' },
    documents: { type: 'string', default: '20000' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    save: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  console.log(HELP)
  process.exit(0)
}

/** A listed, reasoned remainder may be this large. */
const BAR = 0.001
/** Unexplained differences that are printed; all are saved with --save. */
const PRINTED = 20

const named = allPages().filter(({ name }) => options.only === undefined || name.includes(options.only))
const pages = named.slice(0, options.pages === undefined ? undefined : count('pages', options.pages))
const texts = options.only === undefined ? generateDocuments(count('documents', options.documents), seed()) : []
const report = emptyReport()
const chromium = await openChromium()
try {
  await comparePages(pages, chromium, report, progress('pages', pages.length))
  await compareTexts(texts, chromium, report, progress('documents', texts.length))
} finally {
  await chromium.close()
}
if (options.save !== undefined) save(report, options.save)
const all = [...report.known.values()]
const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)
const share = report.values === 0 ? 0 : sum(all.map(({ values }) => values)) / report.values
const passed = report.documents > 0 && report.unexplained.length === 0 && share <= BAR
if (options.json) {
  const { documents, values, known, unexplained } = report
  console.log(
    JSON.stringify({
      chromium: chromium.version,
      seed: seed(),
      pages: pages.length,
      documents,
      values,
      known: Object.fromEntries(known),
      unexplained: unexplained.flatMap(({ differences }) => differences),
      share,
      passed,
    }),
  )
} else print(report)
process.exitCode = passed ? 0 : 1

function print({ documents, values, known, unexplained }: Report): void {
  const number = (value: number) => value.toLocaleString('en')
  console.log(
    `Chromium ${chromium.version}: ${number(pages.length)} pages and ${number(documents - pages.length)} generated documents (seed ${seed()}), ${number(values)} values compared`,
  )
  for (const [reason, count] of known) {
    console.log(`  ${number(count.values)} values of ${number(count.documents)} documents differ: ${reason}`)
  }
  for (const { document, differences } of unexplained.slice(0, PRINTED)) {
    const [{ way, question, chromium: theirs, shoal }] = differences as [(typeof differences)[number]]
    console.log(`\nUNEXPLAINED ${document.name}: ${differences.length} values, first ${question} by ${way}`)
    const [ours, browsers] = firstDifference(shoal, theirs)
    console.log(`  document ${shown(Buffer.from(document.body).toString('latin1'))}`)
    console.log(`  Chromium ${browsers}`)
    console.log(`  Shoal    ${ours}`)
  }
  if (unexplained.length > PRINTED) console.log(`\n… and ${number(unexplained.length - PRINTED)} more documents`)
  const documentsWith = number(sum([...known.values()].map((count) => count.documents)))
  console.log(
    `${passed ? 'pass' : 'MISS'}  ${number(unexplained.length)} documents with unexplained differences; ${(share * 100).toFixed(3)} % of the values differ for a listed reason (bar ${BAR * 100} %), in ${documentsWith} documents`,
  )
}

function save({ unexplained }: Report, folder: string): void {
  mkdirSync(folder, { recursive: true })
  for (const { document, differences } of unexplained) {
    const file = join(folder, document.name.replace(/[^\w.-]+/g, '-'))
    writeFileSync(`${file}.html`, document.body)
    writeFileSync(`${file}.json`, JSON.stringify({ contentType: document.contentType, differences }, null, 2))
  }
}

function progress(what: string, total: number): (done: number) => void {
  const started = performance.now()
  let next = started + 2_000
  return (done) => {
    const now = performance.now()
    if (now < next && done < total) return
    next = now + 2_000
    const left = Math.round((((now - started) / done) * (total - done)) / 1_000)
    process.stderr.write(`${what} ${done} of ${total}, about ${left} s left\n`)
  }
}

/** Of two lists the first entry that is not the same, and its place. */
function firstDifference(ours: string, theirs: string): readonly [string, string] {
  const [left, right] = [ours.split(SEPARATOR), theirs.split(SEPARATOR)]
  const at = left.findIndex((value, index) => value !== right[index])
  const place = at === -1 ? left.length : at
  const entry = (list: readonly string[]) => `[${place + 1} of ${list.length}] ${shown(list[place] ?? '')}`
  return [entry(left), entry(right)]
}

function shown(text: string): string {
  return JSON.stringify(text).slice(0, 240)
}

function seed(): number {
  return count('seed', options.seed)
}

function count(name: string, text: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= 0) return value
  console.error(`--${name} must be a whole number, not ${JSON.stringify(text)}`)
  process.exit(2)
}
