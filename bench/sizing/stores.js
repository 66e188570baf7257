import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { openBackends } from '../../dist/wire/backends.js'
import { linkBatches } from '../frontier/links.js'
import { batchesOf } from '../store/rows.js'
import { startServer, withClient } from '../store/server.js'
import { openWriter } from '../store/writer.js'

const RECORDS = 20_000
const RECORD_BYTES = 1_024
const BATCH = 50
const URLS = 50_000
const HOSTS = 500
const CRAWL = 'bench'

/** Records of 1 KB and rows of the fetch log in Postgres, written as a worker writes them. Autovacuum would write WAL of its own. */
export async function measurePostgres() {
  const server = await startServer({ autovacuum: 'off', max_wal_size: '8GB' })
  try {
    const address = await server.createDatabase()
    const task = { contender: 'shoal', address, postmaster: server.pid, writers: 2, batch: BATCH, bytes: RECORD_BYTES }
    const writer = await openWriter(task)
    // The first turn compiles the client and fills the caches.
    await writer.write({ count: RECORDS / 4, from: 4 * RECORDS, lease: 1, content: 1 })
    const alone = await writer.write({ count: RECORDS, from: 0, lease: 1, content: 1 })
    const withFetch = await writer.write({ count: RECORDS, from: RECORDS, lease: 1, content: 1, fetches: true })
    await writer.end()
    const sizes = await withClient(address, async (client) => {
      const { rows } = await client.query(SIZES)
      return rows[0]
    })
    console.error(`postgres  ${RECORDS} records: ${alone.serverCpuUs.toFixed(1)} µs each`)
    return {
      bytesPerRecord: sizes.records / (2.25 * RECORDS),
      bytesPerFetch: sizes.fetches / RECORDS,
      usPerRecord: alone.serverCpuUs,
      usPerFetch: Math.max(0, withFetch.serverCpuUs - alone.serverCpuUs),
      walBytesPerPage: withFetch.logBytes,
    }
  } finally {
    await server.end()
  }
}

/** With their indexes; the fetch log is in partitions. */
const SIZES = `
  SELECT pg_total_relation_size('shoal.records')::float8 AS records,
    (SELECT sum(pg_total_relation_size(inhrelid))::float8 FROM pg_inherits WHERE inhparent = 'shoal.fetches'::regclass) AS fetches`

/** The same rows in one SQLite file, and URLs that wait there and that are done. */
export async function measureSqlite() {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-bench-'))
  const file = join(dir, 'sizing.db')
  try {
    const queued = await onFile(file, async ({ frontier }) => {
      await frontier.open(DEFINITION)
      for (const links of linkBatches(URLS, HOSTS, { size: BATCH })) await frontier.add(CRAWL, links)
    })
    const done = await onFile(file, async ({ frontier }) => {
      for (let settled = 0, seq = 1; settled < URLS; seq++) {
        const { leases } = await frontier.lease({ worker: CRAWL, seq, want: 500, busy: 0, spiders: [CRAWL] })
        if (leases.length === 0) throw new Error(`leased and settled ${settled} of ${URLS} URLs`)
        const outcome = { kind: 'done', links: [], bytes: 10_240 }
        await frontier.settle(leases.map((lease) => ({ lease, outcome })))
        settled += leases.length
      }
    })
    const stored = await onFile(file, async ({ store }) => {
      const batches = batchesOf({
        count: RECORDS,
        batch: BATCH,
        lease: 1,
        content: 1,
        fetches: true,
        bytes: RECORD_BYTES,
      })
      for (const batch of batches) await store.records.write(batch)
    })
    const grown = (later, earlier, isOne) => bytesOf(later, isOne) - bytesOf(earlier, isOne)
    const isFetch = (table) => table.includes('fetch')
    console.error(`sqlite  ${URLS} URLs, ${RECORDS} records`)
    return {
      bytesPerQueued: bytesOf(queued, () => true) / URLS,
      bytesPerDone: bytesOf(done, () => true) / URLS,
      bytesPerRecord: grown(stored, done, (table) => !isFetch(table)) / RECORDS,
      bytesPerFetch: grown(stored, done, isFetch) / RECORDS,
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const DEFINITION = {
  ...{ id: CRAWL, spider: CRAWL, spiderHash: '', order: 'priority', limits: { delayMs: 0, concurrency: 1_000 } },
  ...{ routeLimits: {}, visibilityMs: 30_000, retryPriorityStep: 10, agingMs: 1_000, maxReclaims: 3 },
  ...{ maxPending: 10_000_000, overflow: 'refuse', budget: {}, gen: 1 },
}

/** Works on the file, then reads how many bytes each table has, indexes included. Free pages count for nobody: SQLite uses them again. */
async function onFile(file, work) {
  const backends = await openBackends({ queue: `sqlite:${file}`, store: `sqlite:${file}` })
  try {
    await work(backends)
  } finally {
    await backends.close()
  }
  const db = new DatabaseSync(file)
  try {
    return db
      .prepare(
        'SELECT s.tbl_name AS name, sum(d.pgsize) AS bytes FROM dbstat d JOIN sqlite_schema s ON s.name = d.name GROUP BY 1',
      )
      .all()
  } finally {
    db.close()
  }
}

function bytesOf(tables, isOne) {
  return tables.filter(({ name }) => isOne(name)).reduce((sum, { bytes }) => sum + bytes, 0)
}
