import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { openBackends } from '../../dist/wire/backends.js'
import { median } from '../measure.js'
import { round } from '../report.js'

const BATCH = 100
/**
 * Links of a batch are spread over this many hosts, each with a row for its pace and one for its queue: one site is the easiest load, a broad and
 * polite crawl with one link per host the hardest. The hardest is the figure in the JSON line.
 */
const HOST_COUNTS = [1, 10, 100]
const CRAWL = 'bench'

const CONTENDERS = { bare: openBare, 'shoal-sqlite': openShoal }
const HEAD = ['contender', 'hosts', 'adds/s', 'duplicates/s', 'lease+settle/s']
const KEYS = ['addPerSecond', 'duplicatePerSecond', 'leaseSettlePerSecond']

/**
 * The frontier as a worker uses it, against the minimum of SQL: the same inserts and updates of links, leases, hosts and lanes in the same tables,
 * without any decisions.
 */
export async function compareSqlite({ pages = 100_000, rounds = 3 }) {
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
  return {
    title: `SQLite: ${pages} links in batches of ${BATCH}, median of ${rounds} rounds`,
    head: HEAD,
    rows,
    bars,
    figures,
  }
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
  const backends = await openBackends({ queue: `sqlite:${file}`, store: `sqlite:${file}` })
  const { frontier } = backends
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
      const { leases } = await frontier.lease({ worker: 'bench', seq, want: BATCH, busy: 0, spiders: [CRAWL] })
      const settled = await frontier.settle(
        leases.map((lease) => ({ lease, outcome: { kind: 'done', links: [], bytes: 10_240 } })),
      )
      return settled.filter(Boolean).length
    },
    close: () => backends.close(),
  }
}

/** The links and leases of the frontier's own schema, with the same columns and indexes. */
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
  );
  CREATE TABLE hosts (
    num INTEGER PRIMARY KEY, host TEXT NOT NULL UNIQUE, started_at REAL NOT NULL DEFAULT 0, arrival_at REAL NOT NULL DEFAULT 0,
    in_flight INTEGER NOT NULL DEFAULT 0, blocked_until REAL NOT NULL DEFAULT 0, blocked_at REAL NOT NULL DEFAULT 0,
    throttle_level INTEGER NOT NULL DEFAULT 0, latency REAL, set_delay INTEGER, set_concurrency INTEGER, floor INTEGER
  );
  CREATE TABLE lanes (
    num INTEGER PRIMARY KEY, crawl INTEGER NOT NULL, host INTEGER NOT NULL, route TEXT NOT NULL, phase INTEGER NOT NULL DEFAULT 0,
    wake_at INTEGER NOT NULL DEFAULT 0, score INTEGER NOT NULL DEFAULT 0, served_at INTEGER NOT NULL DEFAULT 0,
    queued INTEGER NOT NULL DEFAULT 0, leased INTEGER NOT NULL DEFAULT 0, done INTEGER NOT NULL DEFAULT 0,
    started_at REAL NOT NULL DEFAULT 0, in_flight INTEGER NOT NULL DEFAULT 0, UNIQUE (crawl, host, route)
  );
  CREATE INDEX lanes_waiting ON lanes (crawl, wake_at) WHERE phase = 1;
  CREATE INDEX lanes_ready ON lanes (crawl, score, num) WHERE phase = 2;
  CREATE INDEX lanes_host ON lanes (host)`

/** One prepared statement per row and step, one transaction per batch and step. */
function openBare(file, hosts) {
  const db = new DatabaseSync(file, { returnArrays: true })
  for (const pragma of ['journal_mode = WAL', 'synchronous = NORMAL', 'cache_size = -32768', 'temp_store = MEMORY'])
    db.exec(`PRAGMA ${pragma}`)
  db.exec(BARE_TABLES)
  const insert = db.prepare(
    `INSERT INTO links (crawl, fp, lane, state, rank, seq, route, depth, priority, added_at, due_at, url)
     VALUES (1, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  )
  const heads = db.prepare('SELECT num, url FROM links WHERE lane = ? AND state = 0 ORDER BY rank, seq LIMIT ?')
  const setLeased = db.prepare('UPDATE links SET state = 2, epoch = ? WHERE num = ?')
  const addLease = db.prepare(
    `INSERT INTO leases (link, crawl, lane, host, worker, seq, epoch, granted_at, deadline, permit_ms, slot_at, held, solo)
     VALUES (?, 1, ?, ?, 'bench', ?, ?, ?, ?, 2000, ?, 1, 0)`,
  )
  const setDone = db.prepare('UPDATE links SET state = 3, settled_epoch = epoch, ended_at = ? WHERE num = ?')
  const dropLease = db.prepare('DELETE FROM leases WHERE link = ?')
  const saveHost = db.prepare('UPDATE hosts SET started_at = ?, in_flight = ?, latency = ? WHERE num = ?')
  const saveLane = db.prepare(
    'UPDATE lanes SET phase = 2, score = ?, served_at = ?, queued = ?, leased = ?, done = ?, in_flight = ? WHERE num = ?',
  )
  const counts = Array.from({ length: hosts }, () => ({ queued: 0, leased: 0, done: 0 }))
  for (let num = 0; num < hosts; num++) {
    db.prepare('INSERT INTO hosts (num, host) VALUES (?, ?)').run(num, `shop${num}.example`)
    db.prepare("INSERT INTO lanes (num, crawl, host, route) VALUES (?, 1, ?, '')").run(num, num)
  }
  /** What the frontier stores about each host that a batch touches. */
  const keep = (touched, now) => {
    for (const num of touched) {
      const { queued, leased, done } = counts[num]
      saveHost.run(now, leased, 5, num)
      saveLane.run(now, now, queued, leased, done, leased, num)
    }
  }
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
        const touched = new Set()
        for (const { fp, host, route, depth, priority, url } of links) {
          const key = BigInt.asIntN(64, BigInt(`0x${fp}`))
          const lane = hostNumber(host)
          const { changes } = insert.run(key, lane, -priority, nextSeq++, route, depth, priority, now, now, url)
          if (changes === 0) continue
          added++
          counts[lane].queued++
          touched.add(lane)
        }
        keep(touched, now)
        return { added, known: links.length - added }
      })
    },
    leaseAndSettle(seq) {
      const now = Date.now()
      const share = Math.ceil(BATCH / hosts)
      const taken = inTransaction(() => {
        const rows = []
        const touched = new Set()
        for (let tried = 0; tried < hosts && rows.length < BATCH; tried++) {
          for (const [num] of heads.all(lane, Math.min(share, BATCH - rows.length))) {
            rows.push({ num, lane })
            setLeased.run(++epoch, num)
            addLease.run(num, lane, lane, seq, epoch, now, now + 30_000, now)
            counts[lane].queued--
            counts[lane].leased++
            touched.add(lane)
          }
          lane = (lane + 1) % hosts
        }
        keep(touched, now)
        return rows
      })
      inTransaction(() => {
        for (const { num, lane: of } of taken) {
          setDone.run(now, num)
          dropLease.run(num)
          counts[of].leased--
          counts[of].done++
        }
        keep(new Set(taken.map((row) => row.lane)), now)
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
