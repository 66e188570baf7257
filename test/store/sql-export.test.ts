import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { StoredRecord } from '../../src/store/record-store.js'
import { columnNames, tableName } from '../../src/store/sql-names.js'
import type { Json } from '../../src/url/link.js'
import { record } from '../contract/record-store-contract.js'
import { type PostgresServer, startPostgres } from '../support/postgres-server.js'
import { exportedText, recordsWith, throughPsql, throughSqlite } from './read-exports.js'

let postgres: PostgresServer
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.end())

const NASTY: Json = {
  quote: `O'Neil "x" \\ \\' ; DROP TABLE books_book; --`,
  lines: 'a\n\\. \n\\q\n$1 :x ?',
  ...{ n: -7, big: 9_007_199_254_740_991, price: 1e-7, huge: 1.5e300, ok: true, no: false },
  ...{ at: '2026-11-15T12:00:00.250Z', tags: ['ü', { "it's": null }], nothing: null },
  ...{ 'a"b': 1, 'semi;colon': 'x', Title: 'upper', title: 'lower', _key: 'mine', ctid: 'sys', '': 'unnamed' },
}

describe('export as SQL', () => {
  it('is read by Postgres and by SQLite alike', async () => {
    const text = await exportedText(await recordsWith({ data: NASTY }, { data: { title: 'second' } }), 'sql')
    const expected = {
      ...{ quote: `O'Neil "x" \\ \\' ; DROP TABLE books_book; --`, lines: 'a\n\\. \n\\q\n$1 :x ?' },
      ...{ n: -7, big: 9_007_199_254_740_991, price: 1e-7, huge: 1.5e300 },
      ...{ tags: JSON.stringify(['ü', { "it's": null }]), nothing: null },
      ...{
        'a"b': 1,
        'semi;colon': 'x',
        Title: 'upper',
        title_2: 'lower',
        'data._key': 'mine',
        ctid_2: 'sys',
        _: 'unnamed',
      },
      ...{ _spider: 'books', _site: 'books.example', _kind: 'book', _key: 'k0', _url: 'https://books.example/k0' },
    }
    const [inPostgres, second] = await throughPsql(text, 'books_book', await postgres.createDatabase())
    expect(inPostgres).toMatchObject({ ...expected, ok: true, no: false })
    expect(new Date(String(inPostgres?.at))).toEqual(new Date('2026-11-15T12:00:00.250Z'))
    expect(new Date(String(inPostgres?._scraped_at))).toEqual(new Date(10_000))
    expect(second).toMatchObject({ title_2: 'second', _key: 'k1', quote: null })
    const [inSqlite] = throughSqlite(text, 'books_book')
    expect(inSqlite).toMatchObject({ ...expected, ok: 1, no: 0, at: '2026-11-15T12:00:00.250Z' })
  })

  it('is read by the sqlite3 shell, where there is one', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'shoal-sqlite3-'))
    try {
      execFileSync('sqlite3', ['--version'])
    } catch {
      return rmSync(dir, { recursive: true })
    }
    writeFileSync(join(dir, 'x.sql'), await exportedText(await recordsWith({ data: NASTY }), 'sql'))
    const select = 'SELECT lines FROM books_book'
    const out = execFileSync('sqlite3', ['-bail', join(dir, 'x.db'), `.read ${join(dir, 'x.sql')}`, select])
    expect(out.toString()).toBe('a\n\\. \n\\q\n$1 :x ?\n')
    rmSync(dir, { recursive: true })
  })

  it('can be loaded again, and a later one over it: one row for each record', async () => {
    const first = await exportedText(await recordsWith({ data: { n: 1 } }, { data: { n: 2 } }), 'sql')
    const later = await exportedText(await recordsWith({ data: { n: 10 } }), 'sql')
    const numbers = (rows: Record<string, unknown>[]) => rows.map(({ n }) => n)
    expect(numbers(throughSqlite(first + first + later, 'books_book'))).toEqual([10, 2])
    const rows = await throughPsql(first + first + later, 'books_book', await postgres.createDatabase())
    expect(numbers(rows)).toEqual([10, 2])
  })

  it('takes a record that changes while the scan goes on and comes again', async () => {
    const store = {
      async *scan(): AsyncGenerator<StoredRecord> {
        for (const n of [1, 2, 3]) yield { ...record({ data: { n } }), firstSeenAt: 0, updatedAt: n }
      },
    }
    const text = await exportedText(store, 'sql')
    expect(await throughPsql(text, 'books_book', await postgres.createDatabase())).toMatchObject([{ n: 3 }])
    expect(throughSqlite(text, 'books_book')).toMatchObject([{ n: 3 }])
  })

  it('has a table for each kind of each spider, also when their names look alike', async () => {
    const text = await exportedText(
      await recordsWith(
        { spider: 'a-b', kind: 'c', data: 1 },
        { spider: 'a', kind: 'b_c', data: 'x' },
        { spider: 'a-b', kind: 'd', data: { title: 'D' } },
      ),
      'sql',
    )
    const [, other = ''] = [...text.matchAll(/CREATE TABLE IF NOT EXISTS "(\w+)"/g)].map((match) => match[1] ?? '')
    expect(other).toMatch(/^a_b_c_[0-9a-f]{8}$/)
    expect(throughSqlite(text, 'a_b_c')).toMatchObject([{ value: 1 }])
    expect(throughSqlite(text, other)).toMatchObject([{ value: 'x' }])
    expect(await throughPsql(text, 'a_b_d', await postgres.createDatabase())).toMatchObject([{ title: 'D' }])
  })

  it('splits long tables into statements that both take', async () => {
    const text = await exportedText(
      {
        async *scan(): AsyncGenerator<StoredRecord> {
          for (let i = 0; i < 3000; i++)
            yield { ...record({ key: `k${i}`, data: { n: i, text: 'y'.repeat(100) } }), firstSeenAt: 0, updatedAt: 0 }
        },
      },
      'sql',
    )
    expect(text.match(/^INSERT/gm)?.length).toBeGreaterThan(5)
    expect(throughSqlite(text, 'books_book')).toHaveLength(3000)
    expect(await throughPsql(text, 'books_book', await postgres.createDatabase())).toHaveLength(3000)
  })
})

describe('names in SQL', () => {
  it('need no quotes and are never cut by the database', () => {
    expect(tableName('books', 'book')).toBe('books_book')
    expect(tableName('Shop.de', 'Top-100')).toBe('shop_de_top_100')
    expect(tableName('2nd', 'x')).toBe('_2nd_x')
    const long = [tableName('s'.repeat(64), 'a'), tableName('s'.repeat(64), 'b')]
    expect(new Set(long).size).toBe(2)
    for (const name of long) expect(name.length).toBeLessThanOrEqual(63)
  })

  it('of columns differ in more than their case, also when they are cut', () => {
    const names = columnNames(['a', 'A', 'ä'.repeat(40), `${'ä'.repeat(40)}x`, '', '_', 'XMIN'])
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length)
    for (const name of names) expect(Buffer.byteLength(name)).toBeLessThanOrEqual(63)
    expect(names[2]).toBe('ä'.repeat(31))
  })
})
