import { median } from '../measure.js'
import { round } from '../report.js'
import { makeTables } from './fill.js'
import { LOOPS } from './loops.js'
import { startServer, withClient } from './server.js'
import { openWriter } from './writer.js'

export const CONTENDERS = Object.keys(LOOPS)
const HAND_WRITTEN = ['jsonb_to_recordset', 'unnest', 'copy']
const SINGLE = 'row by row'
const BATCHES = [200, 1_000]
const WRITERS = [1, 2]
/** Relative to the best hand-written loop. */
const LEAST_SHARE = 0.85
/** Times the rate of one row per statement. */
const LEAST_TIMES = 5
const MOST_CPU_US = 60
/** Each row is a separate commit, so fewer rows give the same precision. */
const SINGLE_SHARE = 1 / 10
const WARM_UP = 4_000
/** Written this often before the measurement, with and without fetches, new and changed: compilers on both sides are warm by then. */
const WARM_PASSES = 4
/** Records come in a different order each time; prime, so that each comes once. */
const STRIDES = { changed: 7_368_787, unchanged: 6_291_469 }
const FIGURES = ['perSecond', 'cpuUs', 'serverCpuUs']

/** Pages of a crawl; the same pages, all changed; once more, none changed; and new pages with a row of the fetch log for each. */
const STEPS = {
  new: { lease: 0, content: 0 },
  changed: { lease: 1, content: 1 },
  unchanged: { lease: 2, content: 1 },
  'new + fetches': { lease: 3, content: 1, fetches: true },
}
/** An unchanged record is confirmed by Shoal and rewritten by the others: for information. */
const COMPARED = ['new', 'changed', 'new + fetches']

/** All contenders on one server, each in its own database, in turns of `records` records: what disturbs one disturbs all. */
export async function compareWrites({ records, rounds, contenders }) {
  // Autovacuum would run for some and not for others.
  const server = await startServer({ autovacuum: 'off' })
  const figures = []
  try {
    for (const batch of BATCHES)
      for (const writers of WRITERS) {
        figures.push(...(await compareOnce(server, contenders, { batch, writers, records, rounds })))
      }
  } finally {
    await server.end()
  }
  const steps = Object.keys(STEPS)
  return {
    title:
      `Postgres, default durability: ${rounds} turns of ${records} records of 1 KB each (${SINGLE}: ${singles(records)}), into the columns and indexes of ` +
      'shoal.records; median of the turns: rows per second, CPU of the client and of the server in µs per row',
    head: ['loop, rows a batch, writers', ...steps.flatMap((step) => [`${step}/s`, 'client', 'server']), 'HOT'],
    rows: figures.map((figure) => [
      `${figure.name}, ${figure.name === SINGLE ? 1 : figure.batch}, ${figure.writers}`,
      ...steps.flatMap((step) => [
        Math.round(figure[step].perSecond),
        round(figure[step].cpuUs, 1),
        round(figure[step].serverCpuUs, 1),
      ]),
      `${round(figure.hot * 100, 0)} %`,
    ]),
    bars: [...shareBars(figures), ...singleBars(figures), ...cpuBars(figures)],
    figures,
  }
}

function singles(records) {
  return Math.ceil(records * SINGLE_SHARE)
}

async function compareOnce(server, names, { batch, writers, records, rounds }) {
  const turns = []
  try {
    for (const name of names) turns.push(await openTurn(server, { name, batch, writers, records, rounds }))
    for (const turn of turns) await turn.warmUp()
    for (const step of Object.keys(STEPS)) {
      await server.query('CHECKPOINT')
      for (let nth = 0; nth < rounds; nth++) for (const turn of rotated(turns, nth)) await turn.take(step, nth)
      const rates = turns.map((turn) => `${turn.name} ${Math.round(turn.medians(step).perSecond)}/s`)
      console.error(`${batch} a batch, ${plural(writers)}, ${step}: ${rates.join(', ')}`)
    }
    const figures = []
    for (const turn of turns) figures.push(await turn.end())
    return figures
  } finally {
    for (const turn of turns) await turn.close()
  }
}

/** So that no contender always comes first. */
function rotated(turns, nth) {
  const first = nth % turns.length
  return [...turns.slice(first), ...turns.slice(0, first)]
}

async function openTurn(server, { name, batch, writers, records, rounds }) {
  const count = name === SINGLE ? singles(records) : records
  const all = count * rounds
  const address = await server.createDatabase()
  await makeTables(address)
  // The hand-written loops keep no history.
  if (name !== 'shoal')
    await withClient(address, (client) => client.query('DROP TRIGGER keep_version ON shoal.records'))
  const task = { contender: name, address, postmaster: server.pid, writers, batch: Math.min(batch, count) }
  const writer = await openWriter(task)
  const samples = new Map(Object.keys(STEPS).map((step) => [step, []]))
  const medians = (step) =>
    Object.fromEntries(FIGURES.map((key) => [key, median(samples.get(step).map((sample) => sample[key]))]))
  const warm = name === SINGLE ? count : WARM_UP
  return {
    name,
    medians,
    async warmUp() {
      for (let lease = 0; lease < WARM_PASSES; lease++)
        await writer.write({ count: warm, from: 10 * all, lease, content: lease % 2, fetches: lease % 2 === 0 })
    },
    async take(step, nth) {
      const from = (step === 'new + fetches' ? all : 0) + nth * count
      samples.get(step).push(await writer.write({ count, from, stride: STRIDES[step], of: all, ...STEPS[step] }))
    },
    async end() {
      await writer.end()
      const found = await withClient(address, countRows)
      const expected = { records: 2 * all + warm, second: 2 * all + warm, fetches: all + (warm * WARM_PASSES) / 2 }
      for (const [what, number] of Object.entries(expected))
        if (found[what] !== number) throw new Error(`${name} left ${found[what]} ${what} where ${number} were written`)
      await server.query(`DROP DATABASE ${new URL(address).pathname.slice(1)}`)
      const steps = Object.fromEntries(Object.keys(STEPS).map((step) => [step, medians(step)]))
      // A change touches indexed columns, so HOT updates are confirmations.
      return { name, batch, writers, ...steps, hot: found.hot / all }
    },
    close: () => writer.end(),
  }
}

async function countRows(client) {
  const { rows } = await client.query(`SELECT
    (SELECT count(*) FROM shoal.records)::integer AS records,
    (SELECT count(*) FROM shoal.records WHERE data ->> 'version' = '1')::integer AS second,
    (SELECT count(*) FROM shoal.fetches)::integer AS fetches,
    (SELECT n_tup_hot_upd FROM pg_stat_user_tables WHERE relid = 'shoal.records'::regclass)::integer AS hot`)
  return rows[0]
}

function shareBars(figures) {
  return figures.flatMap((shoal) => {
    const peers = figures.filter(
      ({ name, batch, writers }) => HAND_WRITTEN.includes(name) && batch === shoal.batch && writers === shoal.writers,
    )
    if (shoal.name !== 'shoal' || peers.length < HAND_WRITTEN.length) return []
    return COMPARED.map((step) => {
      const best = peers.reduce((a, b) => (a[step].perSecond > b[step].perSecond ? a : b))
      const share = shoal[step].perSecond / best[step].perSecond
      return {
        text: `${step}, ${shoal.batch} a batch, ${plural(shoal.writers)}: at least ${LEAST_SHARE * 100} % of the best hand-written loop (${best.name})`,
        value: `${round(share * 100, 0)} %`,
        holds: share >= LEAST_SHARE,
      }
    })
  })
}

function singleBars(figures) {
  return figures
    .filter(({ name }) => name === 'shoal')
    .flatMap((shoal) => {
      const single = figures.find(
        ({ name, batch, writers }) => name === SINGLE && batch === shoal.batch && writers === shoal.writers,
      )
      if (single === undefined) return []
      const times = Math.min(...COMPARED.map((step) => shoal[step].perSecond / single[step].perSecond))
      return {
        text: `${shoal.batch} a batch, ${plural(shoal.writers)}: at least ${LEAST_TIMES} × one row per statement (worst of ${COMPARED.join(', ')})`,
        value: `${round(times, 1)} ×`,
        holds: times >= LEAST_TIMES,
      }
    })
}

function cpuBars(figures) {
  return figures
    .filter(({ name }) => name === 'shoal')
    .map((shoal) => {
      const worst = Math.max(...Object.keys(STEPS).map((step) => shoal[step].cpuUs))
      return {
        text: `${shoal.batch} a batch, ${plural(shoal.writers)}: CPU of the write path at most ${MOST_CPU_US} µs a record (worst step)`,
        value: `${round(worst, 1)} µs`,
        holds: worst <= MOST_CPU_US,
      }
    })
}

function plural(writers) {
  return writers === 1 ? '1 writer' : `${writers} writers`
}
