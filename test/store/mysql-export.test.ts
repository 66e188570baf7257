import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/url/link.js'
import { type MariaDb, startMariaDb } from '../support/mariadb-server.js'
import { exportedText, recordsWith } from './read-exports.js'

let mariadb: MariaDb
beforeAll(async () => {
  mariadb = await startMariaDb()
})
afterAll(() => mariadb.end())

const NASTY: Json = {
  quote: `O'Neil "x" \\ \\' ; DROP TABLE books_book; -- /* # */`,
  lines: 'a\n\\. \n\\q\tb\r\n`x`',
  astral: '😀 𝒳 é\u0301',
  nul: 'a\u0000b',
  ...{ n: -7, big: 9_007_199_254_740_991, price: 1e-7, huge: 1.5e300, ok: true, no: false },
  ...{ at: '2026-11-15T12:00:00.250Z', tags: ['ü', { "it's": null }], nothing: null },
  ...{ 'a"b': 1, 'semi;colon': 'x', Title: 'upper', title: 'lower', _key: 'mine', _id: 'own', '': 'unnamed' },
  ...{ 'a`b': 2, 'ends ': 3, '😀': 4, 𝒳: 5, select: 6, ['x'.repeat(80)]: 7 },
}

describe('export for MySQL', () => {
  it('is loaded by MariaDB, twice, and gives the same values', async () => {
    const key = `https://books.example/${'k'.repeat(400)}`
    const text = await exportedText(await recordsWith({ data: NASTY, key }, { data: { title: 'second' } }), 'mysql')
    mariadb.execute(text)
    mariadb.execute(text)
    const rows = mariadb.execute(
      `SET NAMES utf8mb4; SET SESSION sql_mode = 'ANSI_QUOTES'; SELECT JSON_OBJECT(
        'quote', quote, 'lines', "lines", 'astral', astral, 'nul', nul, 'n', n, 'big', CAST(big AS CHAR), 'price', price, 'huge', huge, 'ok', ok, 'no', no,
        'at', CAST(at AS CHAR), 'tags', tags, 'nothing', nothing, 'a"b', "a""b", 'semi;colon', "semi;colon", 'Title', "Title", 'title_2', title_2,
        'data._key', "data._key", '_id_2', _id_2, '_', "_", 'a\`b', "a\`b", 'ends', "ends_", 'emoji', "__2", 'x', "__3", 'select', "select", 'long', "${'x'.repeat(63)}",
        '_key', _key, '_site', _site, '_scraped_at', CAST(_scraped_at AS CHAR)
      ) FROM books_book ORDER BY _key = 'k1'`,
    )
    expect(rows).toHaveLength(2)
    expect(rows[0]).toMatchObject({
      ...{ quote: `O'Neil "x" \\ \\' ; DROP TABLE books_book; -- /* # */`, lines: 'a\n\\. \n\\q\tb\r\n`x`' },
      ...{
        astral: '😀 𝒳 é\u0301',
        nul: 'a\ufffdb',
        n: -7,
        big: '9007199254740991',
        price: 1e-7,
        huge: 1.5e300,
        ok: 1,
        no: 0,
      },
      ...{ at: '2026-11-15 12:00:00.250', tags: JSON.stringify(['ü', { "it's": null }]), nothing: null },
      ...{
        'a"b': 1,
        'semi;colon': 'x',
        Title: 'upper',
        title_2: 'lower',
        'data._key': 'mine',
        _id_2: 'own',
        _: 'unnamed',
      },
      ...{ 'a`b': 2, ends: 3, emoji: 4, x: 5, select: 6, long: 7 },
      ...{ _key: key, _site: 'books.example', _scraped_at: '1970-01-01 00:00:10.000' },
    })
    expect(rows[1]).toMatchObject({ title_2: 'second', _key: 'k1', quote: null })
  })
})
