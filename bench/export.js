import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SqliteDb } from '../dist/sqlite/db.js'
import { prepareBatch } from '../dist/store/prepare.js'
import { migrateStore } from '../dist/store/sqlite/schema.js'
import { SqliteStoreEngine } from '../dist/store/sqlite/sqlite-store-engine.js'
import { printBars, round, table, versions } from './report.js'

const FORMATS = ['jsonl', 'csv', 'parquet', 'sql', 'jsonl.gz']
/** The smallest shows where a process begins: it ends before its heap has settled. */
const SMALL = 10_000
/** Flat: ten times the records of a run that has settled need at most this much more memory. */
const GROWTH = 1.2
const BIN = fileURLToPath(new URL('../bin/shoal.js', import.meta.url))

export async function run({ pages: many = 1_000_000, only = FORMATS, json }) {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-bench-export-'))
  const results = []
  try {
    const databases = [SMALL, many / 10, many].map((records) => ({
      records,
      file: fill(join(dir, `${records}.db`), records),
    }))
    for (const format of only) {
      for (const { records, file } of databases) {
        const out = join(dir, `out.${format}`)
        results.push({ format, records, ...(await exported(file, out)), bytes: statSync(out).size })
        rmSync(out)
      }
    }
  } finally {
    rmSync(dir, { recursive: true })
  }
  console.log(`\nPeak resident memory of \`shoal export\` on SQLite, records of 1 KB\n${versions()}\n`)
  console.log(
    table(
      ['format', 'records', 'peak MB', 'seconds', 'records/s', 'file MB'],
      results.map(({ format, records, mb, seconds, bytes }) => [
        ...[format, records, round(mb, 0), round(seconds, 1), Math.round(records / seconds), round(bytes / 1e6, 0)],
      ]),
    ),
  )
  console.log('')
  const passed = printBars(
    only.map((format) => {
      const [, tenth, all] = results.filter((result) => result.format === format)
      const ratio = all.mb / tenth.mb
      return {
        text: `${format}: ${many} records need at most ${GROWTH} × the memory of ${many / 10}`,
        value: `${round(ratio, 2)} ×`,
        holds: tenth.mb > 0 && ratio <= GROWTH,
      }
    }),
  )
  if (json) console.log(JSON.stringify({ bench: 'export', results }))
  return passed
}

function fill(file, records) {
  const db = new SqliteDb(file)
  migrateStore(db)
  const engine = new SqliteStoreEngine(db)
  for (let from = 0; from < records; from += 1000) {
    const rows = Array.from({ length: Math.min(1000, records - from) }, (_, n) => recordOf(from + n))
    db.transaction(() => engine.write(prepareBatch({ records: rows, rejected: [], fetches: [] }).prepared))
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

/** The kernel keeps the peak; it is read while the process is there, so its last moments may be missed. */
function exported(file, out) {
  const address = `sqlite:${file}`
  const args = [BIN, 'export', '--queue', address, '--store', address, '--out', out]
  const began = performance.now()
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  let mb = 0
  const watch = setInterval(() => {
    try {
      const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))
      mb = Math.max(mb, peak === null ? 0 : Number(peak[1]) / 1024)
    } catch {
      // Gone, or a system without /proc: the bar is missed rather than guessed.
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
