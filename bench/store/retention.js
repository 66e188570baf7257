import { fork } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../dist/clock.js'
import { applyRetention } from '../../dist/store/export/apply-retention.js'
import { openPostgresMaintenance } from '../../dist/store/postgres/maintenance.js'
import { openPostgresStore } from '../../dist/store/postgres/open-postgres.js'
import { median } from '../measure.js'
import { round } from '../report.js'
import { fetchOf, recordOf } from './rows.js'
import { startServer, withClient } from './server.js'

const WORKERS = 2
const BATCH = 200
const MOST_MS = 1_000
const DAY_MS = 86_400_000
/** Writes before and after the drop, for comparison. */
const ALONE_MS = 2_000
const PROCESS = fileURLToPath(new URL('./writing-process.js', import.meta.url))

/** A month of the fetch log is detached and dropped while workers write to the current one. */
export async function measureRetention({ rows, rounds }) {
  const server = await startServer()
  const samples = []
  try {
    for (let nth = 1; nth <= rounds; nth++) {
      const sample = await measureOne(server, rows)
      samples.push(sample)
      console.error(
        `round ${nth} of ${rounds}  detach ${round(sample.detachMs, 0)} ms, drop ${round(sample.dropMs, 0)} ms, longest write ${round(sample.longestWriteMs, 0)} ms`,
      )
    }
  } finally {
    await server.end()
  }
  const worst = Math.max(...samples.map(({ allMs }) => allMs))
  const longest = Math.max(...samples.map(({ longestWriteMs }) => longestWriteMs))
  return {
    title: `Postgres, default durability: a month of ${rows} fetches goes while ${WORKERS} workers write ${BATCH} records and fetches at a time; every round`,
    head: ['detach ms', 'drop ms', 'all ms', 'longest write ms', 'longest before', 'median before', 'writes meanwhile'],
    rows: samples.map((sample) => [
      round(sample.detachMs, 0),
      round(sample.dropMs, 0),
      round(sample.allMs, 0),
      round(sample.longestWriteMs, 0),
      round(sample.longestBeforeMs, 0),
      round(sample.medianBeforeMs, 0),
      sample.writes,
    ]),
    bars: [
      {
        text: `a month of ${rows} rows goes in less than ${MOST_MS} ms`,
        value: `${round(worst, 0)} ms`,
        holds: worst < MOST_MS,
      },
      { text: `no write takes ${MOST_MS} ms meanwhile`, value: `${round(longest, 0)} ms`, holds: longest < MOST_MS },
    ],
    figures: samples,
  }
}

async function measureOne(server, rows) {
  const address = await server.createDatabase()
  await fillOldMonth(address, rows)
  const workers = await Promise.all(Array.from({ length: WORKERS }, (_, number) => startWriting(address, number)))
  await sleep(ALONE_MS)
  const maintenance = await openPostgresMaintenance(address)
  const took = {}
  const timed = (name) => async (partition) => {
    const from = performance.now()
    await maintenance[name](partition)
    took[name] = performance.now() - from
  }
  await maintenance.setRetention({ unit: 'month', fetchesMs: 40 * DAY_MS, versionsMs: null, archive: null })
  const from = Date.now()
  let gone = 0
  await applyRetention({ ...maintenance, detach: timed('detach'), drop: timed('drop') }, null, Date.now(), () => gone++)
  const to = Date.now()
  await maintenance.close()
  await sleep(ALONE_MS / 4)
  const writes = (await Promise.all(workers.map((worker) => worker.stop()))).flat()
  if (gone !== 1) throw new Error(`${gone} partitions went instead of one`)
  const meanwhile = writes.filter(({ at, ms }) => at + ms >= from && at <= to).map(({ ms }) => ms)
  const before = writes.filter(({ at, ms }) => at + ms < from).map(({ ms }) => ms)
  if (meanwhile.length === 0 || before.length === 0) throw new Error('nobody was writing')
  return {
    detachMs: took.detach,
    dropMs: took.drop,
    allMs: to - from,
    longestWriteMs: Math.max(...meanwhile),
    longestBeforeMs: Math.max(...before),
    medianBeforeMs: median(before),
    writes: meanwhile.length,
  }
}

/** One row as Shoal writes it, which creates the partition; the server generates the others from it. */
async function fillOldMonth(address, rows) {
  const store = await openPostgresStore(address, { clock: systemClock, create: true })
  const now = new Date()
  const at = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 3, 2)
  await store.records.write({
    records: [],
    rejected: [],
    fetches: [{ ...fetchOf(recordOf(1, { lease: 0, content: 0 })), at }],
  })
  await store.close()
  await withClient(address, async (client) => {
    await client.query(
      `INSERT INTO shoal.fetches (at, spider, crawl, fp, url, host, route, depth, status, bytes, ms, attempt, worker, gen, epoch)
       SELECT at + n * interval '1 second', spider, crawl, hashint8extended(n, 0), url || n, host, route, depth, status, bytes, ms, attempt, worker, gen, epoch
       FROM shoal.fetches, generate_series(1, $1::bigint - 1) AS n`,
      [rows],
    )
    await client.query('VACUUM (ANALYZE) shoal.fetches')
    await client.query('CHECKPOINT')
  })
}

async function startWriting(address, number) {
  const child = fork(PROCESS, [JSON.stringify({ address, number, batch: BATCH })])
  const next = () =>
    new Promise((resolve, reject) => {
      child.once('message', resolve)
      child.once('exit', (code) => reject(new Error(`a writing worker ended with ${code}`)))
    })
  await next()
  return {
    async stop() {
      const answer = next()
      child.send('stop')
      const writes = await answer
      child.removeAllListeners('exit')
      return writes
    },
  }
}
