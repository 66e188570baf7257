import { join } from 'node:path'
import { inspect } from 'node:util'
import Database from 'libsql'
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
    const db = new Database(file)
    db.exec('CREATE TABLE pages (id INTEGER PRIMARY KEY, url TEXT)')
    const insert = db.prepare('INSERT INTO pages (url) VALUES (?)')
    db.transaction(() => {
      for (let n = 0; n < 2_500; n++) insert.run([n === 7 ? null : `https://a.example/${n}\n"x"`])
    })()
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
    await expect(read(file, 'DELETE FROM pages')).rejects.toMatchObject({ code: 'seeds_unreadable' })
    await expect(read(join(dir.path, 'none.db'), 'SELECT 1')).rejects.toMatchObject({ code: 'seeds_unreadable' })
    expect((await read(file, 'SELECT count(*) FROM pages')).urls).toEqual(['2500'])
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
