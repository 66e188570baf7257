import { fileURLToPath } from 'node:url'
import { median, runMeasured } from '../measure.js'
import { round } from '../report.js'
import { fillRecords, fitting } from './fill.js'
import { startServer } from './server.js'

const FEW = 100_000
/** Of the rate at FEW rows. */
const LEAST_SHARE = 0.6
const BATCH = 200
const WRITERS = 2
/** Records all over the table, in no order; prime, so that each comes once. */
const STRIDE = 7_368_787
const BYTES = [1_024, 300]
const PROCESS = fileURLToPath(new URL('./write-process.js', import.meta.url))

/** The rate of upserts into a table with few rows and into one with many, on the same server, in turns. */
export async function compareGrowth({ rows, records, rounds }) {
  const { bytes, many } = sizeFor(rows)
  // What sizing in the docs says for such a table; durability is as by default.
  const server = await startServer()
  const sizes = [FEW, many]
  const samples = new Map(sizes.map((size) => [size, []]))
  try {
    const databases = []
    for (const size of sizes) {
      const address = await server.createDatabase()
      await fillRecords(address, size, bytes)
      databases.push({ size, address })
    }
    for (let nth = 0; nth <= rounds; nth++) {
      for (const { size, address } of databases) {
        const sample = await measureOne(server, address, { size, bytes, records, nth })
        console.error(
          `round ${nth} of ${rounds}  ${String(size).padEnd(9)} new ${Math.round(sample.new.perSecond)}/s, changed ${Math.round(sample.changed.perSecond)}/s${nth === 0 ? ' (warm-up)' : ''}`,
        )
        if (nth > 0) samples.get(size).push(sample)
      }
    }
  } finally {
    await server.end()
  }
  const of = (size, step, key) => median(samples.get(size).map((sample) => sample[step][key]))
  const figures = Object.fromEntries(
    sizes.map((size) => [
      size,
      Object.fromEntries(
        ['new', 'changed'].map((step) => [
          step,
          Object.fromEntries(['perSecond', 'cpuUs', 'serverCpuUs'].map((key) => [key, round(of(size, step, key), 1)])),
        ]),
      ),
    ]),
  )
  return {
    title:
      `Postgres, default durability and settings: upserts of ${records} records of ${bytes} bytes, ${BATCH} a batch, ${WRITERS} writers, at ${FEW} and at ${many} rows` +
      `${many < rows || bytes < BYTES[0] ? ` (${rows} rows of ${BYTES[0]} bytes do not fit on this disk)` : ''}, median of ${rounds} rounds`,
    head: ['rows in the table', 'new/s', 'client', 'server', 'changed/s', 'client', 'server'],
    rows: sizes.map((size) => [
      size,
      ...['new', 'changed'].flatMap((step) => [
        Math.round(figures[size][step].perSecond),
        figures[size][step].cpuUs,
        figures[size][step].serverCpuUs,
      ]),
    ]),
    bars: ['new', 'changed'].map((step) => {
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

/** Smaller records before fewer of them. */
function sizeFor(rows) {
  const bytes = BYTES.find((size) => fitting(rows, size) === rows) ?? BYTES.at(-1)
  return { bytes, many: fitting(rows, bytes) }
}

async function measureOne(server, address, { size, bytes, records, nth }) {
  const lease = nth + 1
  const steps = [
    { name: 'warm-up', count: 2_000, from: 2 * size + nth * 2_000, lease, content: lease, checkpoint: false },
    { name: 'new', count: records, from: 10 * size + nth * records, lease, content: lease, checkpoint: false },
    {
      name: 'changed',
      count: records,
      from: nth * 101,
      stride: STRIDE,
      of: size,
      lease,
      content: lease,
      checkpoint: false,
    },
  ]
  const task = { contender: 'shoal', address, postmaster: server.pid, writers: WRITERS, batch: BATCH, bytes, steps }
  const { lastLine } = await runMeasured([process.execPath, '--expose-gc', PROCESS, JSON.stringify(task)])
  return JSON.parse(lastLine)
}
