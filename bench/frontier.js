import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import { openPlant } from '../dist/wire.js'
import { median } from './measure.js'
import { printBars, round, table, versions } from './report.js'

const BATCH = 100
/**
 * Links of a batch are spread over this many hosts. The bare statements keep no hosts, while the frontier keeps the pace of each: one
 * site is its easiest load, a broad and polite crawl with one link of each host its hardest. The hardest is the figure of the JSON line.
 */
const HOST_COUNTS = [1, 10, 100]
const CRAWL = 'bench'

const CONTENDERS = { bare: openBare, 'shoal-sqlite': openShoal }
const KEYS = ['addPerSecond', 'duplicatePerSecond', 'leaseSettlePerSecond']

/** The frontier as a worker uses it, against the least that SQL can do: the same links and leases in the same tables, and no decisions. */
export async function run({ pages = 100_000, rounds = 3, json }) {
  const rows = []
  const bars = []
  let figures = {}
  for (const hosts of HOST_COUNTS) {
    figures = await compare(batchesOf(makeLinks(pages, hosts)), { pages, hosts, rounds })
    for (const [name, figure] of Object.entries(figures)) rows.push([name, hosts, ...KEYS.map((key) => figure[key])])
    const bar = (key, text, least) => {
      const ratio = figures['shoal-sqlite'][key] / figures.bare[key]
      bars.push({
        text: `${text}, hosts: ${hosts}, at least ${least} × bare statements`,
        value: `${round(ratio, 3)} ×`,
        holds: ratio >= least,
      })
    }
    bar('addPerSecond', 'adds', 0.5)
    bar('leaseSettlePerSecond', 'lease+settle', 0.4)
  }
  console.log(`\n${pages} links in batches of ${BATCH}, median of ${rounds} rounds`)
  console.log(`${versions()}\n`)
  console.log(table(['contender', 'hosts', 'adds/s', 'duplicates/s', 'lease+settle/s'], rows))
  console.log('')
  const passed = printBars(bars)
  if (json)
    console.log(
      JSON.stringify({
        bench: 'frontier',
        contenders: { 'shoal-sqlite': figures['shoal-sqlite'], bare: figures.bare },
      }),
    )
  return passed
}

async function compare(batches, { pages, hosts, rounds }) {
  const samples = new Map(Object.keys(CONTENDERS).map((name) => [name, []]))
  for (let nth = 1; nth <= rounds; nth++) {
    for (const [name, open] of Object.entries(CONTENDERS)) {
      const sample = await measure((file) => open(file, hosts), batches, pages)
      samples.get(name).push(sample)
      console.error(`hosts: ${hosts}, round ${nth} of ${rounds}  ${name.padEnd(13)} ${JSON.stringify(sample)}`)
    }
  }
  const figure = (all) =>
    Object.fromEntries(KEYS.map((key) => [key, round(median(all.map((sample) => sample[key])), 0)]))
  return Object.fromEntries([...samples].map(([name, all]) => [name, figure(all)]))
}

async function measure(open, batches, pages) {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-bench-'))
  const queue = await open(join(dir, 'frontier.db'))
  try {
    const perSecond = async (work) => {
      const from = performance.now()
      const done = await work()
      if (done !== pages) throw new Error(`the frontier handled ${done} of ${pages} links`)
      return Math.round((pages / (performance.now() - from)) * 1_000)
    }
    const addAll = (key) => async () => {
      let sum = 0
      for (const batch of batches) sum += (await queue.add(batch))[key]
      return sum
    }
    return {
      addPerSecond: await perSecond(addAll('added')),
      duplicatePerSecond: await perSecond(addAll('known')),
      leaseSettlePerSecond: await perSecond(async () => {
        let settled = 0
        for (let seq = 1; settled < pages; seq++) {
          const count = await queue.leaseAndSettle(seq)
          if (count === 0) break
          settled += count
        }
        return settled
      }),
    }
  } finally {
    await queue.close()
    rmSync(dir, { recursive: true, force: true })
  }
}

async function openShoal(file) {
  const plant = await openPlant({ queue: `sqlite:${file}`, store: `sqlite:${file}` })
  const { frontier } = plant
  await frontier.open({
    id: CRAWL,
    spider: CRAWL,
    spiderHash: '',
    order: 'priority',
    limits: { delayMs: 0, concurrency: 1_000 },
    routeLimits: {},
    visibilityMs: 30_000,
    retryPriorityStep: 10,
    agingMs: 1_000,
    maxReclaims: 3,
    maxPending: 10_000_000,
    overflow: 'refuse',
    budget: {},
    gen: 1,
  })
  return {
    add: (links) => frontier.add(CRAWL, links),
    async leaseAndSettle(seq) {
      const { leases } = await frontier.lease({ worker: 'bench', seq, want: BATCH, spiders: [CRAWL] })
      const settled = await frontier.settle(
        leases.map((lease) => ({ lease, outcome: { kind: 'done', links: [], bytes: 10_240 } })),
      )
      return settled.filter(Boolean).length
    },
    close: () => plant.close(),
  }
}

/** The links and leases of the frontier's own schema, columns and indexes alike. */
const BARE_TABLES = `
  CREATE TABLE links (
    num INTEGER PRIMARY KEY, crawl INTEGER NOT NULL, fp INTEGER NOT NULL, lane INTEGER NOT NULL, state INTEGER NOT NULL,
    rank INTEGER NOT NULL, seq INTEGER NOT NULL, route TEXT NOT NULL, depth INTEGER NOT NULL, priority INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0, throttles INTEGER NOT NULL DEFAULT 0, reclaims INTEGER NOT NULL DEFAULT 0,
    bypass_fresh INTEGER NOT NULL DEFAULT 0, epoch INTEGER NOT NULL DEFAULT 0, settled_epoch INTEGER NOT NULL DEFAULT 0,
    added_at INTEGER NOT NULL, due_at REAL NOT NULL, ended_at INTEGER, url TEXT NOT NULL, code TEXT, request TEXT, data TEXT, failures TEXT
  );
  CREATE UNIQUE INDEX links_fp ON links (crawl, fp);
  CREATE INDEX links_queue ON links (lane, rank, seq) WHERE state = 0;
  CREATE INDEX links_due ON links (crawl, due_at) WHERE state = 1;
  CREATE INDEX links_dead ON links (crawl, code) WHERE state = 4;
  CREATE TABLE leases (
    link INTEGER PRIMARY KEY, crawl INTEGER NOT NULL, lane INTEGER NOT NULL, host INTEGER NOT NULL, worker TEXT NOT NULL,
    seq INTEGER NOT NULL, epoch INTEGER NOT NULL, granted_at INTEGER NOT NULL, deadline INTEGER NOT NULL, permit_ms REAL NOT NULL,
    slot_at INTEGER NOT NULL, held INTEGER NOT NULL, solo INTEGER NOT NULL
  )`

/** One prepared statement per row and step, one transaction per batch and step. */
function openBare(file, hosts) {
  const db = new Database(file)
  for (const pragma of ['journal_mode = WAL', 'synchronous = NORMAL', 'cache_size = -32768', 'temp_store = MEMORY'])
    db.exec(`PRAGMA ${pragma}`)
  db.exec(BARE_TABLES)
  const insert = db.prepare(
    `INSERT INTO links (crawl, fp, lane, state, rank, seq, route, depth, priority, added_at, due_at, url)
     VALUES (1, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  )
  const heads = db
    .prepare('SELECT num, url FROM links WHERE lane = ? AND state = 0 ORDER BY rank, seq LIMIT ?')
    .raw(true)
  const setLeased = db.prepare('UPDATE links SET state = 2, epoch = ? WHERE num = ?')
  const addLease = db.prepare(
    `INSERT INTO leases (link, crawl, lane, host, worker, seq, epoch, granted_at, deadline, permit_ms, slot_at, held, solo)
     VALUES (?, 1, ?, ?, 'bench', ?, ?, ?, ?, 2000, ?, 1, 0)`,
  )
  const setDone = db.prepare('UPDATE links SET state = 3, settled_epoch = epoch, ended_at = ? WHERE num = ?')
  const dropLease = db.prepare('DELETE FROM leases WHERE link = ?')
  const inTransaction = (work) => {
    db.exec('BEGIN IMMEDIATE')
    const result = work()
    db.exec('COMMIT')
    return result
  }
  let nextSeq = 0
  let lane = 0
  let epoch = 0
  return {
    add(links) {
      return inTransaction(() => {
        const now = Date.now()
        let added = 0
        for (const { fp, host, route, depth, priority, url } of links) {
          const key = BigInt.asIntN(64, BigInt(`0x${fp}`))
          added += insert.run([
            key,
            hostNumber(host),
            -priority,
            nextSeq++,
            route,
            depth,
            priority,
            now,
            now,
            url,
          ]).changes
        }
        return { added, known: links.length - added }
      })
    },
    leaseAndSettle(seq) {
      const now = Date.now()
      const taken = inTransaction(() => {
        let rows = []
        for (let tried = 0; tried < hosts && rows.length < BATCH; tried++) {
          rows = rows.concat(heads.all([lane, BATCH - rows.length]))
          if (rows.length < BATCH) lane = (lane + 1) % hosts
        }
        for (const [num] of rows) {
          setLeased.run([++epoch, num])
          addLease.run([num, lane, lane, seq, epoch, now, now + 30_000, now])
        }
        return rows
      })
      inTransaction(() => {
        for (const [num] of taken) {
          setDone.run([now, num])
          dropLease.run([num])
        }
      })
      return taken.length
    },
    close: () => db.close(),
  }
}

function hostNumber(host) {
  return Number.parseInt(host.slice(4), 10)
}

function makeLinks(count, hosts) {
  return Array.from({ length: count }, (_, index) => {
    const host = `shop${index % hosts}.example`
    const url = `https://${host}/catalogue/some-product-with-a-name_${index}/index.html`
    const fp = createHash('sha1').update(url).digest('hex').slice(0, 16)
    return { url, fp, host, route: 'product', depth: 2, priority: 0 }
  })
}

function batchesOf(links) {
  return Array.from({ length: Math.ceil(links.length / BATCH) }, (_, index) =>
    links.slice(index * BATCH, (index + 1) * BATCH),
  )
}
