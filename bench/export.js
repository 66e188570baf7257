import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SqliteDb } from '../dist/sqlite/db.js'
import { prepareBatch } from '../dist/store/prepare.js'
import { migrateStore } from '../dist/store/sqlite/schema.js'
import { storeEngines } from '../dist/store/sqlite/store-engines.js'
import { printBars, round, table, versions } from './report.js'
import { fillRecords } from './store/fill.js'
import { startServer } from './store/server.js'

const STORES = ['sqlite', 'postgres']
const FORMATS = ['jsonl', 'csv', 'parquet', 'sql', 'jsonl.gz']
/** The smallest shows the baseline of a process: it ends before its heap has settled. */
const SMALL = 10_000
/** Flat: ten times the records of a settled run need at most this much more memory. */
const GROWTH = 1.2
const BIN = fileURLToPath(new URL('../bin/shoal.js', import.meta.url))

/** `only` takes formats and stores. */
export async function run({ pages: records = 1_000_000, only, json }) {
  const unknown = (only ?? []).filter((name) => !FORMATS.includes(name) && !STORES.includes(name))
  if (unknown.length > 0) throw new Error(`--only knows ${[...FORMATS, ...STORES].join(', ')}, not ${unknown}`)
  const of = (all) => (all.some((name) => only?.includes(name)) ? all.filter((name) => only.includes(name)) : all)
  const { title, head, rows, bars, figures } = await measureExports({
    records,
    formats: of(FORMATS),
    stores: of(STORES),
  })
  console.log(`\n${title}\n${versions()}\n\n${table(head, rows)}\n`)
  const passed = printBars(bars)
  if (json) console.log(JSON.stringify({ bench: 'export', results: figures }))
  return passed
}

export async function measureExports({ records: many, formats, stores = STORES }) {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-bench-export-'))
  const sizes = [...new Set([SMALL, many / 10, many])]
  const results = []
  try {
    for (const store of stores)
      results.push(...(await OPEN[store](dir, sizes, (places) => exportAll(store, dir, places, formats))))
  } finally {
    rmSync(dir, { recursive: true })
  }
  return {
    title: 'Peak resident memory of `shoal export`, records of 1 KB',
    head: ['store', 'format', 'records', 'peak MB', 'seconds', 'records/s', 'file MB'],
    rows: results.map(({ store, format, records, mb, seconds, bytes }) => [
      ...[
        store,
        format,
        records,
        round(mb, 0),
        round(seconds, 1),
        Math.round(records / seconds),
        round(bytes / 1e6, 0),
      ],
    ]),
    bars: stores.flatMap((store) =>
      formats.map((format) => {
        const [tenth, all] = [many / 10, many].map((records) =>
          results.find((one) => one.format === format && one.store === store && one.records === records),
        )
        const ratio = all.mb / tenth.mb
        return {
          text: `${store}, ${format}: ${many} records need at most ${GROWTH} × the memory of ${many / 10}`,
          value: `${round(ratio, 2)} ×`,
          holds: tenth.mb > 0 && ratio <= GROWTH,
        }
      }),
    ),
    figures: results,
  }
}

/** Each creates a database of each size. */
const OPEN = {
  sqlite: (dir, sizes, work) =>
    work(sizes.map((records) => ({ records, address: `sqlite:${fill(join(dir, `${records}.db`), records)}` }))),
  async postgres(_, sizes, work) {
    const server = await startServer()
    try {
      const places = []
      for (const records of sizes) {
        const address = await server.createDatabase()
        await fillRecords(address, records, 1_024)
        places.push({ records, address })
      }
      return await work(places)
    } finally {
      await server.end()
    }
  },
}

async function exportAll(store, dir, places, formats) {
  const results = []
  for (const format of formats) {
    for (const { records, address } of places) {
      const out = join(dir, `out.${format}`)
      const result = { store, format, records, ...(await exported(address, out, dir)), bytes: statSync(out).size }
      console.error(`${store} ${format} ${records} records: ${round(result.mb, 0)} MB, ${round(result.seconds, 1)} s`)
      results.push(result)
      rmSync(out)
    }
  }
  return results
}

function fill(file, records) {
  const db = new SqliteDb(file)
  migrateStore(db)
  const { writer } = storeEngines(db)
  for (let from = 0; from < records; from += 1000) {
    const rows = Array.from({ length: Math.min(1000, records - from) }, (_, n) => recordOf(from + n))
    db.transaction(() => writer.write(prepareBatch({ records: rows, rejected: [], fetches: [] }).prepared))
  }
  db.close()
  return file
}

/** About 1 KB as JSON, of every type that a column can have. */
function recordOf(n) {
  return {
    ...{
      spider: 'books',
      site: 'books.example',
      kind: 'book',
      key: `B-${n}`,
      url: `https://books.example/catalogue/${n}`,
    },
    data: {
      ...{ title: `Book number ${n}`, price: (n % 5000) / 100, stock: n % 40, available: n % 3 > 0 },
      ...{ publishedAt: new Date(1_600_000_000_000 + n * 1000).toISOString(), tags: ['fiction', `shelf-${n % 100}`] },
      description: `${n} lorem ipsum dolor sit amet, consectetur, adipisci velit. `.repeat(13),
    },
    ...{
      crawl: 'crawl-1',
      gen: 1,
      epoch: '1',
      scrapedAt: 1_700_000_000_000 + n,
      freshMs: 0,
      identity: null,
      history: false,
    },
  }
}

/** The kernel keeps the peak; it is read while the process runs, so its last moments may be missed. */
function exported(address, out, dir) {
  const queue = address.startsWith('sqlite:') ? address : `sqlite:${join(dir, 'queue.db')}`
  const args = [BIN, 'export', '--queue', queue, '--store', address, '--out', out]
  const began = performance.now()
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  let mb = 0
  const watch = setInterval(() => {
    try {
      const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))
      mb = Math.max(mb, peak === null ? 0 : Number(peak[1]) / 1024)
    } catch {
      // Gone, or a system without /proc: the target is missed rather than guessed.
    }
  }, 20)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => {
      clearInterval(watch)
      if (code !== 0) return reject(new Error(`shoal export ended with ${code}`))
      resolve({ mb, seconds: (performance.now() - began) / 1000 })
    })
  })
}
