import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { WARCParser } from 'warcio'
import { asUserError } from '../../src/cli/failure.js'
import { buildProgram } from '../../src/cli/program.js'
import { progressText } from '../../src/cli/views/work-progress.js'
import { SqliteDb } from '../../src/sqlite/db.js'
import { prepareBatch } from '../../src/store/prepare.js'
import { migrateStore } from '../../src/store/sqlite/schema.js'
import { storeEngines } from '../../src/store/sqlite/store-engines.js'
import { openBackends } from '../../src/wire/backends.js'
import { batch, fetchRow, record } from '../contract/record-store-contract.js'
import { readParquet } from '../store/read-exports.js'
import { BIN, lastJson, tempDir } from '../support/cli.js'
import { type PostgresServer, startPostgres } from '../support/postgres-server.js'
import { SPEC } from './seeded-database.js'

vi.setConfig({ testTimeout: 60_000 })
const DOCS = readFileSync(fileURLToPath(new URL('../../docs/export.md', import.meta.url)), 'utf8')
const BOOKS = 12
const dir = tempDir('export')
const cwd = process.cwd()
let postgres: PostgresServer
let store: string

beforeAll(async () => {
  process.chdir(dir.path)
  postgres = await startPostgres()
  store = await postgres.createDatabase()
  const queue = 'sqlite:.shoal/shoal.db'
  for (const addresses of [
    { queue, store: queue },
    { queue: 'sqlite:.shoal/other.db', store },
  ])
    await fill(addresses)
  writeFileSync(
    'books.ts',
    `import { defineSpider } from 'shoal'
     import { z } from 'zod'
     export default defineSpider({
       name: 'books', start: ['https://books.example/'], savePages: true, routes: { page: { match: '/**' } },
       records: { book: z.object({ title: z.string(), price: z.number(), sku: z.string() }) },
     })`,
  )
  mkdirSync('bin')
  writeFileSync('bin/shoal', `#!/bin/sh\nexec "${process.execPath}" "${BIN}" "$@"\n`)
  chmodSync('bin/shoal', 0o755)
})
afterAll(async () => {
  process.chdir(cwd)
  await postgres.end()
  dir.remove()
})

const urlOf = (n: number) => `https://books.example/catalogue/${n}`
const bodyOf = (n: number) => `<h1>Book ${n}</h1>`

/** A finished crawl with its records, and its pages kept. */
async function fill(addresses: { queue: string; store: string }): Promise<void> {
  const backends = await openBackends(addresses)
  await backends.frontier.open({ ...SPEC, id: 'books-1', spider: 'books' })
  const numbers = Array.from({ length: BOOKS }, (_, n) => n)
  const records = numbers.map((n) => {
    const data = { title: `Book ${n}`, price: n * 10.5, sku: `B-${n}` }
    return record({ key: `B-${n}`, url: urlOf(n), data, crawl: 'books-1', scrapedAt: Date.now() })
  })
  const headers = { 'content-type': 'text/html' }
  const fetches = await Promise.all(
    numbers.map(async (n) => {
      const page = await backends.pages.put(Buffer.from(bodyOf(n)), 'text/html')
      const fp = n.toString(16).padStart(16, '0')
      return fetchRow({ fp, url: urlOf(n), crawl: 'books-1', page, headers, at: Date.now() })
    }),
  )
  await backends.store.records.write(batch({ records, fetches }))
  await backends.store.crawls.note({
    ...{ crawl: 'books-1', spider: 'books', queue: addresses.queue, queueIdentity: 'q', state: 'ended' },
    ...{ spec: { ...SPEC, id: 'books-1', spider: 'books' }, openedAt: Date.now() },
  })
  await backends.close()
}

/** A command in this process: starting another takes longer than most of them do. */
async function shoal(...args: string[]): Promise<string> {
  let out = ''
  const written = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += String(text)
    return true
  })
  try {
    const program = await buildProgram(args)
    await program.parseAsync(args, { from: 'user' })
  } finally {
    written.mockRestore()
  }
  return out
}

async function sh(script: string): Promise<{ code: number; out: string }> {
  const child = spawn('sh', ['-e', '-c', script], {
    env: { ...process.env, PATH: `${dir.path}/bin:${process.env.PATH}` },
  })
  let out = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
  const [code] = (await once(child, 'close')) as [number]
  return { code, out }
}

const gunzipped = (name: string) => gunzipSync(readFileSync(name)).toString()
const refusal = (...args: string[]) => shoal(...args).then(() => null, asUserError)

describe('docs/export.md', () => {
  const blocks = [...DOCS.matchAll(/^```sh (run|postgres)\n([\s\S]*?)^```$/gm)].map(([, where, script = '']) => ({
    where,
    lines: script.trimEnd().split('\n'),
  }))

  it('has commands that do what it says', async () => {
    expect(blocks.length).toBeGreaterThan(5)
    const hasSqlite3 = (await sh('command -v sqlite3')).code === 0
    vi.stubEnv('PGHOST', '127.0.0.1')
    vi.stubEnv('PGPORT', String(postgres.port))
    vi.stubEnv('PGUSER', 'postgres')
    vi.stubEnv('PGDATABASE', new URL(store).pathname.slice(1))
    for (const { where, lines } of blocks) {
      vi.stubEnv('SHOAL_STORE', where === 'postgres' ? store : undefined)
      for (const line of lines) {
        if (line.startsWith('sqlite3') && !hasSqlite3) continue
        if (/^shoal [^|>]*$/.test(line)) await shoal(...line.split(' ').slice(1))
        else expect(await sh(line), line).toMatchObject({ code: 0 })
      }
    }
    vi.unstubAllEnvs()

    expect(readFileSync('books.jsonl', 'utf8').trimEnd().split('\n')).toHaveLength(BOOKS)
    expect(readFileSync('books.csv', 'utf8').trimEnd().split('\r\n')).toHaveLength(BOOKS + 1)
    expect(readFileSync('site.csv', 'utf8')).toContain('title,price,sku,_spider')
    const rows = await readParquet(readFileSync('books.parquet'))
    expect(rows).toHaveLength(BOOKS)
    expect(rows[0]).toMatchObject({ title: 'Book 0', price: 0, _kind: 'book' })
    expect(gunzipped('books.sql.gz')).toContain('CREATE TABLE IF NOT EXISTS "books_book"')
    expect(gunzipped('monday.jsonl.gz').trimEnd().split('\n')).toHaveLength(BOOKS)
    expect(gunzipped('tuesday.jsonl.gz')).toBe('')
    const counted = 'SELECT count(*)::int AS n, sum(price)::float AS sum FROM shoal.books_book'
    expect(await postgres.query(counted, new URL(store).pathname.slice(1))).toEqual([{ n: BOOKS, sum: 693 }])
  })

  it('has an archive that a reader of archives reads', async () => {
    const said = lastJson(await shoal('export', '--out', 'again.warc.gz', '--spider', 'books', '--json'))
    expect(said).toEqual({ files: ['again.warc.gz'], format: 'warc', pages: BOOKS, revisits: 0, missing: 0 })
    for (const name of ['again.warc.gz', 'pages.warc.gz', 'archive/books.warc.gz']) {
      const found: [string, string][] = []
      const chunks = async function* () {
        yield new Uint8Array(readFileSync(name))
      }
      for await (const one of WARCParser.iterRecords(chunks()))
        if (one.warcType === 'response') found.push([one.warcTargetURI ?? '', await one.contentText()])
      expect(found.sort()).toEqual(Array.from({ length: BOOKS }, (_, n) => [urlOf(n), bodyOf(n)]).sort())
    }
  })
})

describe('shoal views', () => {
  it('on SQLite has the columns of the schema', async () => {
    const said = lastJson(await shoal('views', 'books.ts', '--json'))
    expect(said).toEqual({ spider: 'books', kind: 'book', view: '"books_book"', columns: 3 })
    const db = new SqliteDb('.shoal/shoal.db')
    const rows = db.prepare('SELECT title, price, sku, "_key" FROM books_book ORDER BY price').all()
    db.close()
    expect(rows).toHaveLength(BOOKS)
    expect(rows[1]).toEqual(['Book 1', 10.5, 'B-1', 'B-1'])
    expect(await shoal('views', 'books.ts', '--print')).toContain('CREATE VIEW "books_book"')
    expect(await shoal('views', 'books', '--kind', 'book')).toContain('view "books_book": 3 columns')
    expect(await refusal('views', 'books', '--tables')).toMatchObject({ exitCode: 2 })
    expect(await refusal('views', 'nobody')).toMatchObject({ exitCode: 5 })
    expect(await refusal('views', 'books', '--kind', 'author')).toMatchObject({ exitCode: 5 })
  })
})

describe('an export that is stopped', () => {
  const many = join(dir.path, 'many.db')
  beforeAll(() => {
    const db = new SqliteDb(many)
    migrateStore(db)
    const { writer } = storeEngines(db)
    const records = Array.from({ length: 2000 }, (_, n) => record({ key: `k${n}`, data: 'x'.repeat(1000) }))
    db.transaction(() => writer.write(prepareBatch(batch({ records })).prepared))
    db.close()
  })
  const args = ['export', '--queue', `sqlite:${many}`, '--store', `sqlite:${many}`]

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('by %s ends with %i', async (signal, expected) => {
    // Nobody reads: it waits with its pipe full.
    const child = spawn(process.execPath, [BIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
    await once(child.stdout, 'readable')
    await delay(500)
    child.kill(signal)
    const [code] = (await once(child, 'exit')) as [number]
    expect(code).toBe(expected)
    child.stdout.destroy()
  })

  it('by a reader that goes away ends quietly', async () => {
    const child = spawn('sh', ['-c', `"${process.execPath}" "${BIN}" ${args.join(' ')} | head -n 1`])
    let err = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
    const out: string[] = []
    child.stdout.setEncoding('utf8').on('data', (text: string) => out.push(text))
    await once(child, 'close')
    expect(err).toBe('')
    expect(out.join('').trimEnd().split('\n')).toHaveLength(1)
  })

  it('by a folder that is none says so, and leaves nothing', async () => {
    writeFileSync('plain', '')
    // The large database has no raw pages.
    for (const name of ['x.parquet', 'x.sql.gz', 'x.warc.gz'])
      expect(
        await refusal(...(name.endsWith('.warc.gz') ? ['export'] : args), '--out', join('plain', name)),
      ).toMatchObject({
        code: 'out_unwritable',
        exitCode: 4,
      })
    expect(readdirSync('.').filter((name) => name.endsWith('.part'))).toEqual([])
    expect(existsSync('x.warc.gz')).toBe(false)
  })
})

describe('an export of something that is not there', () => {
  const names = () => readdirSync('.').sort()

  it.each([
    [['--kind', 'bok'], "there is no kind 'bok'", "Did you mean 'book'? Known kinds: book."],
    [['--spider', 'boks'], "there is no spider 'boks'", "Did you mean 'books'? Known spiders: books."],
    [['--spider', 'zzz', '--kind', 'book'], "there is no spider 'zzz'", 'Known spiders: books.'],
    [['--crawl', 'boks-1'], "there is no crawl 'boks-1'", "Did you mean 'books-1'? Known crawls: books-1."],
    [['--site', 'nowhere.example'], 'no records match: good.csv stays as it is', 'shoal records list'],
  ])('%j is refused, and leaves the file as it is', async (flags, message, hint) => {
    writeFileSync('good.csv', 'good')
    const before = names()
    for (const out of ['good.csv', 'new.parquet', 'new.sql', 'folder/new.jsonl']) {
      expect(await refusal('export', '--out', out, ...flags)).toMatchObject({
        exitCode: 5,
        message: message.replace(
          'good.csv stays as it is',
          out === 'good.csv' ? 'good.csv stays as it is' : `${out} was not created`,
        ),
        hint: expect.stringContaining(hint),
      })
    }
    expect(readFileSync('good.csv', 'utf8')).toBe('good')
    expect(names()).toEqual(before)
  })

  it('in an archive of pages is refused too', async () => {
    writeFileSync('good.warc.gz', 'good')
    expect(await refusal('export', '--out', 'good.warc.gz', '--spider', 'boks')).toMatchObject({
      ...{ exitCode: 5, message: "there is no spider 'boks'", hint: expect.stringContaining('Did you mean') },
    })
    expect(await refusal('export', '--out', 'good.warc.gz', '--since', '2099-01-01')).toMatchObject({
      ...{ exitCode: 5, message: 'no raw pages match: good.warc.gz stays as it is' },
    })
    expect(readFileSync('good.warc.gz', 'utf8')).toBe('good')
  })

  it.each([
    ['outlets', 'list', 'boks'],
    ['status', 'boks'],
    ['records', 'list', '--kind', 'bok'],
    ['records', 'rejected', '--kind', 'bok'],
    ['records', 'stats', '--kind', 'bok'],
    ['records', 'stats', 'boks'],
    ['records', 'list', '--spider', 'boks', '--json'],
  ])('%s %s %s is refused as well', async (...args) => {
    expect(await refusal(...args)).toMatchObject({ exitCode: 5, hint: expect.stringContaining('Did you mean') })
  })
})

describe('an export of one crawl', () => {
  it('has what the crawl wrote or confirmed, whatever names it', async () => {
    for (const word of ['books-1', 'books-', 'books']) {
      await shoal('export', '--out', 'crawl.jsonl', '--crawl', word)
      expect(readFileSync('crawl.jsonl', 'utf8').trimEnd().split('\n')).toHaveLength(BOOKS)
    }
    await shoal('export', '--out', 'crawl.csv', '--crawl', 'books', '--kind', 'book', '--data-only')
    expect(readFileSync('crawl.csv', 'utf8').split('\r\n').slice(0, 2)).toEqual(['title,price,sku', 'Book 0,0,B-0'])
  })
})

describe('flags that mean nothing together', () => {
  it.each([
    [['--out', 'a.warc.gz', '--kind', 'book'], '--kind applies to records'],
    [['--format', 'warc', '--out', 'a', '--incremental', 'n'], '--incremental applies to records'],
    [['--out', 'a.warc.gz', '--data-only'], '--data-only applies to records'],
    [['--out', 'a.csv', '--incremental', 'n', '--crawl', 'books'], '--crawl cannot be combined with --incremental'],
    [['--out', 'a.csv', '--merged', 'books.ts', '--crawl', 'books'], '--crawl cannot be combined with --merged'],
    [['--incremental', 'n'], '--incremental needs an output file'],
    [['--out', 'a.csv', '--incremental', 'n', '--since', '1d'], '--since cannot be combined with --incremental'],
    [['--out', 'a.csv', '--incremental', '../../etc/passwd'], 'is not a valid export name'],
    [['--out', 'a.parquet.gz'], 'are already compressed'],
    [['--out', 'a.xlsx.gz'], 'unknown format'],
  ])('%j', async (flags, message) => {
    expect(await refusal('export', ...flags)).toMatchObject({ exitCode: 2, message: expect.stringContaining(message) })
  })
})

describe('progress of an export', () => {
  it('tells the rate, and the end where the number of records is known', () => {
    const at = { rows: 20_000, things: 'records', elapsedMs: 2_000 }
    expect(progressText({ ...at, total: null })).toEqual(['20,000 records', '10,000/s'])
    expect(progressText({ ...at, total: 100_000 })).toEqual([
      '20,000 / 100,000 records',
      '20 %',
      '10,000/s',
      'ends in about 8.0 s',
    ])
    expect(progressText({ ...at, rows: 0, elapsedMs: 0, total: 5 })).toEqual(['0 / 5 records', '0 %'])
  })
})
