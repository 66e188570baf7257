import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.js'
import { sqlSource } from '../../src/discovery/sql.js'
import { tempDir } from '../support/cli.js'
import { type PostgresServer, startPostgres } from '../support/postgres-server.js'

const dir = tempDir('sql-seeds')
let postgres: PostgresServer
beforeAll(async () => {
  postgres = await startPostgres({ password: 'canary-password' })
})
afterAll(async () => {
  await postgres.end()
  dir.remove()
})

async function read(
  address: string,
  query: string,
  signal = new AbortController().signal,
): Promise<{ names: string[]; urls: unknown[] }> {
  const names: string[] = []
  const urls: unknown[] = []
  const notes = { get: async () => 0, set: async () => {} }
  for await (const source of sqlSource(address, query, { clock: systemClock, signal }).sources(notes)) {
    names.push(source.name)
    for await (const url of source.entries()) urls.push(url)
  }
  return { names, urls }
}

describe('seeds from a SQLite file', () => {
  const file = join(dir.path, 'shop.db')
  beforeAll(() => {
    const db = new DatabaseSync(file)
    db.exec('CREATE TABLE pages (id INTEGER PRIMARY KEY, url TEXT)')
    const insert = db.prepare('INSERT INTO pages (url) VALUES (?)')
    db.exec('BEGIN')
    for (let n = 0; n < 2_500; n++) insert.run(n === 7 ? null : `https://a.example/${n}\n"x"`)
    db.exec('COMMIT')
    db.exec("CREATE VIRTUAL TABLE words USING fts5(url); INSERT INTO words VALUES ('https://a.example/found')")
    db.close()
  })

  it('gives the column url, or the first', async () => {
    const { urls, names } = await read(file, 'SELECT id, url FROM pages ORDER BY id')
    expect(urls).toHaveLength(2_499)
    expect(urls[0]).toBe('https://a.example/0\n"x"')
    expect((await read(`sqlite:${file}`, "SELECT 'https://a.example/x' AS link")).urls).toEqual(['https://a.example/x'])
    expect((await read(file, 'SELECT id, url FROM pages ORDER BY id')).names).toEqual(names)
  })

  it('lets others have their turn between the rows, and stops when it is told to', async () => {
    let turns = 0
    const timer = setInterval(() => turns++, 0)
    await read(file, 'SELECT a.url FROM pages a, (SELECT 1 FROM pages LIMIT 20)')
    clearInterval(timer)
    expect(turns).toBeGreaterThan(10)
    const failed = read(file, 'SELECT a.url FROM pages a, pages b, pages c', AbortSignal.timeout(100))
    await expect(failed).rejects.toMatchObject({ code: 'aborted' })
  })

  it('only reads', async () => {
    await expect(read(join(dir.path, 'none.db'), 'SELECT 1')).rejects.toMatchObject({ code: 'seeds_unreadable' })
    const before = readFileSync(file)
    const made = join(dir.path, 'made')
    for (const query of [
      'DELETE FROM pages',
      'DELETE FROM pages RETURNING url',
      "INSERT INTO pages (url) VALUES ('x') RETURNING url",
      `SELECT writefile('${made}', 'x')`,
      `SELECT load_extension('${made}')`,
      `ATTACH '${made}' AS other`,
      `VACUUM INTO '${made}'`,
      'PRAGMA user_version = 7',
      'PRAGMA journal_mode = DELETE',
      'CREATE TEMP TABLE kept (url)',
      'SELECT url FROM pages; DELETE FROM pages',
      'SELECT url FROM pages) SELECT 1 --',
      'BEGIN IMMEDIATE',
    ])
      await expect(read(file, query), query).rejects.toMatchObject({ code: 'seeds_unreadable' })
    expect(existsSync(made)).toBe(false)
    expect(readFileSync(file).equals(before)).toBe(true)
    expect((await read(file, 'SELECT count(*) FROM pages')).urls).toEqual(['2500'])
  })

  it('takes queries as people write them', async () => {
    for (const query of [
      'SELECT url FROM pages WHERE id = 1 -- the first',
      'SELECT url FROM pages WHERE id = 1;\n',
      'WITH first AS (SELECT * FROM pages ORDER BY id LIMIT 1) SELECT id, url FROM first',
      'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT url FROM pages, n WHERE id = i AND i = 1',
    ])
      expect((await read(file, query)).urls, query).toEqual(['https://a.example/0\n"x"'])
    expect((await read(file, "SELECT url FROM words WHERE words MATCH 'found'")).urls).toEqual([
      'https://a.example/found',
    ])
    const backwards = (await read(file, 'SELECT id FROM pages ORDER BY id DESC LIMIT 2')).urls
    expect(backwards).toEqual(['2500', '2499'])
  })

  it('keeps every byte and every digit, and turns text that is not UTF-8 into an entry that is no URL', async () => {
    const odd = (expression: string) => read(file, `SELECT ${expression}`).then(({ urls }) => urls[0])
    expect(await odd("CAST(x'61fffe62' AS TEXT)")).toBe('row 1 is not UTF-8: a\\xff\\xfeb')
    expect(await odd("x'61ff'")).toBe('row 1 is not UTF-8: a\\xff')
    expect(await odd("CAST(x'610062' AS TEXT)")).toBe('a\0b')
    expect(await odd('9007199254740993')).toBe('9007199254740993')
    expect(await odd('1.0')).toBe('1')
    expect(await odd("x'68747470'")).toBe('http')
  })
})

describe('seeds from Postgres', () => {
  it('are read through a cursor', async () => {
    const query = "SELECT 'https://a.example/' || n AS url FROM generate_series(1, 2500) n ORDER BY n"
    const { urls } = await read(postgres.address(), query)
    expect(urls).toHaveLength(2_500)
    expect(urls[2_499]).toBe('https://a.example/2500')
  })

  it('are only read, by one statement', async () => {
    await postgres.query('CREATE TABLE kept (url text)')
    for (const query of ['SELECT 1; COMMIT; DROP TABLE kept', 'DELETE FROM kept RETURNING url', 'SELECT nothing']) {
      const failed = read(postgres.address(), query)
      await expect(failed).rejects.toMatchObject({ code: 'seeds_unreadable' })
      await expect(failed).rejects.not.toThrow(/canary-password/)
    }
    expect(await postgres.query('SELECT count(*)::int AS n FROM kept')).toEqual([{ n: 0 }])
    await expect(read(postgres.address().replace('canary', 'wrong'), 'SELECT 1')).rejects.toMatchObject({
      code: 'seeds_unreadable',
    })
  })

  it('are given up when it is told to', async () => {
    const failed = read(postgres.address(), 'SELECT pg_sleep(600)', AbortSignal.timeout(300))
    await expect(failed).rejects.toMatchObject({ code: 'aborted' })
  })

  it('are not read from what is no address, which is not shown', async () => {
    for (const secret of ['se#cret', 'se/cret', 'se%cret']) {
      const failure: unknown = await read(`postgres://user:${secret}@127.0.0.1:1/db`, 'SELECT 1').catch(
        (error) => error,
      )
      expect(failure).toMatchObject({ code: 'seeds_unreadable' })
      expect(inspect(failure, { depth: 9 })).not.toContain('cret')
    }
  })
})
