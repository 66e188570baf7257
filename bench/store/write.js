import { fileURLToPath } from 'node:url'
import { systemClock } from '../../dist/clock.js'
import { openPostgresStore } from '../../dist/store/postgres/open-postgres.js'
import { median, runMeasured } from '../measure.js'
import { round } from '../report.js'
import { LOOPS } from './loops.js'
import { startServer, withClient } from './server.js'

export const CONTENDERS = Object.keys(LOOPS)
const HAND_WRITTEN = ['jsonb_to_recordset', 'unnest', 'copy']
const SINGLE = 'row by row'
const BATCHES = [200, 1_000]
const WRITERS = [1, 2]
/** Of the best hand-written loop. */
const LEAST_SHARE = 0.85
/** Times one row per statement. */
const LEAST_TIMES = 5
const MOST_CPU_US = 60
/** Each row is a commit of its own: fewer of them tell as much. */
const SINGLE_SHARE = 1 / 10
const WARM_UP = 2_000
const PROCESS = fileURLToPath(new URL('./write-process.js', import.meta.url))

/** A crawl of new pages; the pages again, all changed; once more, none changed; and new pages with a line of the fetch log for each. */
const STEPS = {
  new: { lease: 0, content: 0 },
  changed: { lease: 1, content: 1 },
  unchanged: { lease: 2, content: 1 },
  'new + fetches': { lease: 3, content: 1, fetches: true },
}
/** An unchanged record is confirmed by Shoal and written anew by the others: for information. */
const COMPARED = ['new', 'changed', 'new + fetches']

export async function compareWrites({ records, rounds, contenders }) {
  const cases = contenders.flatMap((name) =>
    (name === SINGLE ? [200] : BATCHES).flatMap((batch) => WRITERS.map((writers) => ({ name, batch, writers }))),
  )
  const samples = new Map(cases.map((one) => [one, []]))
  // Vacuum comes when it likes, and would come to some and not to others.
  const server = await startServer({ autovacuum: 'off' })
  try {
    for (let nth = 1; nth <= rounds; nth++) {
      for (const one of cases) {
        const count = one.name === SINGLE ? Math.ceil(records * SINGLE_SHARE) : records
        const sample = await measureOne(server, one, count)
        samples.get(one).push(sample)
        console.error(`round ${nth} of ${rounds}  ${describe(one).padEnd(34)} ${describeSample(sample)}`)
      }
    }
  } finally {
    await server.end()
  }
  const figures = cases.map((one) => ({ ...one, ...medians(samples.get(one)) }))
  return {
    title:
      `Postgres, default durability: ${records} records of 1 KB a step (${SINGLE}: ${Math.ceil(records * SINGLE_SHARE)}), into the columns and ` +
      `indexes of shoal.records, median of ${rounds} rounds; rows per second, CPU of the client and of the server in µs per row`,
    head: [
      'loop, rows a batch, writers',
      ...Object.keys(STEPS).flatMap((step) => [`${step}/s`, 'client', 'server']),
      'HOT',
    ],
    rows: figures.map((figure) => [
      describe(figure),
      ...Object.keys(STEPS).flatMap((step) => [
        Math.round(figure[step].perSecond),
        round(figure[step].cpuUs, 1),
        round(figure[step].serverCpuUs, 0),
      ]),
      `${round(figure.hot * 100, 0)} %`,
    ]),
    bars: barsOf(figures),
    figures,
  }
}

function describe({ name, batch, writers }) {
  return name === SINGLE ? `${name}, ${writers}` : `${name}, ${batch}, ${writers}`
}

function describeSample(sample) {
  return Object.keys(STEPS)
    .map((step) => `${step} ${Math.round(sample[step].perSecond)}/s`)
    .join(', ')
}

/** A new database for each, so that all begin alike. */
async function measureOne(server, { name, batch, writers }, count) {
  const address = await server.createDatabase()
  await makeTables(address, name === 'shoal')
  const steps = [
    { name: 'warm-up', from: 4 * count, count: WARM_UP, lease: 0, content: 0, fetches: true },
    ...Object.entries(STEPS).map(([step, versions]) => ({
      ...{ name: step, count, from: step === 'new + fetches' ? count : 0, ...versions },
    })),
  ]
  const task = { contender: name, address, postmaster: server.pid, writers, batch, steps }
  const { lastLine } = await runMeasured([process.execPath, '--expose-gc', PROCESS, JSON.stringify(task)])
  const found = await withClient(address, verify)
  const expected = { records: 2 * count + WARM_UP, second: 2 * count, fetches: count + WARM_UP }
  for (const [what, number] of Object.entries(expected))
    if (found[what] !== number) throw new Error(`${name} left ${found[what]} ${what} where ${number} were written`)
  await server.query(`DROP DATABASE ${new URL(address).pathname.slice(1)}`)
  // A change touches indexed columns, so what is HOT is a confirmation.
  return { ...JSON.parse(lastLine), hot: found.hot / count }
}

/** Those of Shoal; the hand-written loops go without its trigger. */
async function makeTables(address, withTrigger) {
  const store = await openPostgresStore(address, { clock: systemClock, create: true })
  await store.close()
  if (!withTrigger) await withClient(address, (client) => client.query('DROP TRIGGER keep_version ON shoal.records'))
}

async function verify(client) {
  const { rows } = await client.query(`SELECT
    (SELECT count(*) FROM shoal.records)::integer AS records,
    (SELECT count(*) FROM shoal.records WHERE data ->> 'version' = '1')::integer AS second,
    (SELECT count(*) FROM shoal.fetches)::integer AS fetches,
    (SELECT n_tup_hot_upd FROM pg_stat_user_tables WHERE relid = 'shoal.records'::regclass)::integer AS hot`)
  return rows[0]
}

function medians(samples) {
  const of = (read) => median(samples.map(read))
  const steps = Object.keys(STEPS).map((step) => [
    step,
    Object.fromEntries(['perSecond', 'cpuUs', 'serverCpuUs'].map((key) => [key, of((sample) => sample[step][key])])),
  ])
  return { ...Object.fromEntries(steps), hot: of(({ hot }) => hot) }
}

function barsOf(figures) {
  const bars = []
  const ours = figures.filter(({ name }) => name === 'shoal')
  for (const shoal of ours) {
    const same = figures.filter(({ batch, writers }) => batch === shoal.batch && writers === shoal.writers)
    const peers = same.filter(({ name }) => HAND_WRITTEN.includes(name))
    if (peers.length < HAND_WRITTEN.length) continue
    for (const step of COMPARED) {
      const best = peers.reduce((a, b) => (a[step].perSecond > b[step].perSecond ? a : b))
      const share = shoal[step].perSecond / best[step].perSecond
      bars.push({
        text: `${step}, ${shoal.batch} a batch, ${plural(shoal.writers)}: at least ${LEAST_SHARE * 100} % of the best hand-written loop (${best.name})`,
        value: `${round(share * 100, 0)} %`,
        holds: share >= LEAST_SHARE,
      })
    }
  }
  for (const single of figures.filter(({ name }) => name === SINGLE)) {
    for (const shoal of ours.filter(({ writers }) => writers === single.writers)) {
      const times = Math.min(...COMPARED.map((step) => shoal[step].perSecond / single[step].perSecond))
      bars.push({
        text: `${shoal.batch} a batch, ${plural(shoal.writers)}: at least ${LEAST_TIMES} × one row per statement (worst of ${COMPARED.join(', ')})`,
        value: `${round(times, 1)} ×`,
        holds: times >= LEAST_TIMES,
      })
    }
  }
  for (const shoal of ours) {
    const worst = Math.max(...Object.keys(STEPS).map((step) => shoal[step].cpuUs))
    bars.push({
      text: `${shoal.batch} a batch, ${plural(shoal.writers)}: CPU of the write path at most ${MOST_CPU_US} µs a record (worst step)`,
      value: `${round(worst, 1)} µs`,
      holds: worst <= MOST_CPU_US,
    })
  }
  return bars
}

function plural(writers) {
  return writers === 1 ? '1 writer' : `${writers} writers`
}
