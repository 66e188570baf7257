import { median } from '../measure.js'
import { round } from '../report.js'
import { fillRecords, fitting } from './fill.js'
import { startServer } from './server.js'
import { openWriter } from './writer.js'

const FEW = 100_000
/** Relative to the rate at FEW rows. */
const LEAST_SHARE = 0.6
const BATCH = 200
const WRITERS = 2
/** Records all over the table, in no order; prime, so that each comes once. */
const STRIDE = 7_368_787
const BYTES = [1_024, 300]
const STEPS = ['new', 'changed']
const FIGURES = ['perSecond', 'cpuUs', 'serverCpuUs', 'logBytes']

/** The rate of upserts into a table with few rows and into one with many, on the same server, in turns. */
export async function compareGrowth({ rows, records, rounds }) {
  const { bytes, many } = sizeFor(rows)
  const sizes = [FEW, many]
  const server = await startServer()
  let figures
  try {
    figures = await compareSizes(server, sizes, { bytes, records, rounds })
  } finally {
    await server.end()
  }
  return {
    title:
      `Postgres, default durability and settings, at ${FEW} and at ${many} rows${shortened(rows, many, bytes)}: ${rounds} turns of ${records} records of ` +
      `${bytes} bytes each, ${BATCH} a batch, ${WRITERS} writers; median of the turns: rows per second, CPU of the client and of the server in µs per row, log of the server per row`,
    head: ['rows in the table', ...STEPS.flatMap((step) => [`${step}/s`, 'client', 'server', 'log KB'])],
    rows: sizes.map((size) => [
      size,
      ...STEPS.flatMap((step) => [
        Math.round(figures[size][step].perSecond),
        round(figures[size][step].cpuUs, 1),
        round(figures[size][step].serverCpuUs, 1),
        round(figures[size][step].logBytes / 1_000, 1),
      ]),
    ]),
    bars: STEPS.map((step) => {
      const share = figures[many][step].perSecond / figures[FEW][step].perSecond
      return {
        text: `${step} records at ${many} rows: at least ${LEAST_SHARE * 100} % of the rate at ${FEW}`,
        value: `${round(share * 100, 0)} %`,
        holds: share >= LEAST_SHARE,
      }
    }),
    figures,
  }
}

/** Smaller records rather than fewer of them. */
function sizeFor(rows) {
  const bytes = BYTES.find((size) => fitting(rows, size) === rows) ?? BYTES.at(-1)
  return { bytes, many: fitting(rows, bytes) }
}

function shortened(rows, many, bytes) {
  return many < rows || bytes < BYTES[0] ? ` (${rows} of ${BYTES[0]} bytes do not fit on this disk)` : ''
}

async function compareSizes(server, sizes, { bytes, records, rounds }) {
  const tables = []
  try {
    for (const size of sizes) {
      const address = await server.createDatabase()
      await fillRecords(address, size, bytes)
      const task = { contender: 'shoal', address, postmaster: server.pid, writers: WRITERS, batch: BATCH, bytes }
      tables.push({ size, writer: await openWriter(task), new: [], changed: [] })
    }
    // The first turn is a warm-up, and the first after a checkpoint, when every page is written to the WAL as a whole.
    for (let nth = 0; nth <= rounds; nth++) {
      for (const step of STEPS) for (const table of tables) table[step].push(await take(table, step, nth, records))
      const rates = tables.map(
        (table) => `${table.size} ${STEPS.map((step) => Math.round(table[step][nth].perSecond))}`,
      )
      console.error(`turn ${nth} of ${rounds}  rows, new/s, changed/s: ${rates.join('; ').replaceAll(',', ' ')}`)
    }
  } finally {
    for (const { writer } of tables) await writer.end()
  }
  return Object.fromEntries(
    tables.map((table) => [table.size, Object.fromEntries(STEPS.map((step) => [step, medians(table[step].slice(1))]))]),
  )
}

function take({ size, writer }, step, nth, records) {
  const from = nth * records
  return writer.write({
    ...(step === 'new' ? { from: 2 * size + from } : { from, stride: STRIDE, of: size }),
    ...{ count: records, lease: nth + 1, content: nth + 1 },
  })
}

function medians(samples) {
  return Object.fromEntries(FIGURES.map((key) => [key, median(samples.map((sample) => sample[key]))]))
}
