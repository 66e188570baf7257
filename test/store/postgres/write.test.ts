import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.js'
import { openPostgresStore } from '../../../src/store/postgres/open-postgres.js'
import type { RecordStore } from '../../../src/store/record-store.js'
import type { Json } from '../../../src/url/link.js'
import { batch, fetchRow, record, rejectedRow } from '../../contract/record-store-contract.js'
import { type PgBouncer, type PostgresServer, startPgBouncer, startPostgres } from '../../support/postgres-server.js'

let server: PostgresServer
let bouncer: PgBouncer
let store: RecordStore
let schema: string
let schemas = 0

beforeAll(async () => {
  server = await startPostgres()
  bouncer = await startPgBouncer(server)
})
afterAll(async () => {
  await bouncer.end()
  await server.end()
})
beforeEach(async () => {
  schema = `writes_${++schemas}`
  store = await open(server.address())
})
afterEach(() => store.close())

const open = (address: string) => openPostgresStore(`${address}?schema=${schema}`, { clock: systemClock, create: true })

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const row of rows) list.push(row)
  return list
}

describe('a batch that Postgres refuses', () => {
  it('loses the guilty rows alone, each with the reason of the server', async () => {
    await server.query(
      `ALTER TABLE ${schema}.records ADD CONSTRAINT no_seven CHECK (data <> '7'), ADD CONSTRAINT no_nine CHECK (key <> 'k9')`,
    )
    const rows = Array.from({ length: 50 }, (_, i) => record({ key: `k${i}`, data: i === 30 ? 7 : i + 100 }))
    const statuses = await store.records.write(
      batch({ records: rows, fetches: [fetchRow()], rejected: [rejectedRow()] }),
    )
    expect(statuses.flatMap((status, i) => (status === 'written' ? [] : [[i, status]]))).toEqual([
      [9, 'quarantined'],
      [30, 'quarantined'],
    ])
    expect(await all(store.records.scan({}))).toHaveLength(48)
    const kept = await all(store.records.rejected({ limit: 10 }))
    expect(kept.map(({ key, reason, data }) => [key, reason, data]).sort()).toEqual([
      ['k30', 'quarantined', 7],
      ['k9', 'quarantined', 109],
      ['sku-1', 'invalid', { title: 7 }],
    ])
    expect(kept.find(({ key }) => key === 'k30')?.issues).toMatchObject([
      { message: expect.stringContaining('no_seven') },
    ])
    expect(await store.fetches.of({ fp: fetchRow().fp, limit: 9 })).toHaveLength(1)
    expect(await store.records.counts({})).toMatchObject([{ records: 48, rejected: 3 }])
    // A repeat, as after a lost reply, keeps nothing twice.
    await store.records.write(batch({ records: rows, fetches: [fetchRow()], rejected: [rejectedRow()] }))
    expect(await all(store.records.rejected({ limit: 10 }))).toHaveLength(3)
    expect(await store.records.counts({})).toMatchObject([{ records: 48, rejected: 3, unchanged: 0 }])
  })

  it('keeps a line of the fetch log that is refused, and a rejected record that is refused', async () => {
    await server.query(`ALTER TABLE ${schema}.fetches ADD CONSTRAINT ok CHECK (status < 999)`)
    await server.query(`ALTER TABLE ${schema}.rejected ADD CONSTRAINT small CHECK (length(data::text) < 100)`)
    const big = rejectedRow({ key: 'big', data: 'x'.repeat(1000) })
    await store.records.write(
      batch({ fetches: [fetchRow({ at: 1 }), fetchRow({ at: 2, status: 999 })], rejected: [big, rejectedRow()] }),
    )
    expect(await store.fetches.of({ fp: fetchRow().fp, limit: 9 })).toHaveLength(1)
    const kept = await all(store.records.rejected({ limit: 10 }))
    expect(kept.map(({ kind, key, reason }) => [kind, key, reason]).sort()).toEqual([
      ['book', 'big', 'quarantined'],
      ['book', 'sku-1', 'invalid'],
      ['fetch', fetchRow().fp, 'quarantined'],
    ])
  })

  it('is salted with everything that Postgres chokes on, and every good record is stored', async () => {
    let deep: Json = 1
    for (let level = 0; level < 60_000; level++) deep = [deep]
    const url = `https://books.example/${'u'.repeat(3000)}`
    const salted = [
      record({ key: 'nul', data: { text: 'a\0b' } }),
      record({ key: 'surrogate', data: { '\ud800': 'x\udfff' } }),
      record({ key: 'huge', data: JSON.parse('{"n":1e400000,"m":-1e400000,"tiny":1e-400000}') as Json }),
      record({ key: 'deep', data: deep }),
      record({ key: 'twice', data: 'first' }),
      record({ key: 'twice', data: 'second' }),
      record({ key: 'doubled', data: JSON.parse('{"a":1,"a":2}') as Json }),
      record({ key: 'url', url }),
      record({ key: 'k'.repeat(3000) }),
      record({ key: 'digits', data: { n: 1.7976931348623157e308, m: 5e-324, i: 9007199254740991 } }),
    ]
    const good = Array.from({ length: 90 }, (_, i) => record({ key: `good-${i}` }))
    const mixed = good
      .flatMap((row, i) => (i % 9 === 0 ? [salted[i / 9], row] : [row]))
      .filter((row) => row !== undefined)
    const statuses = await store.records.write(batch({ records: mixed, fetches: [fetchRow({ url })] }))
    expect(mixed.filter((_, i) => statuses[i] !== 'written').map(({ key }) => key)).toEqual(['deep'])
    const stored = await all(store.records.scan({}))
    expect(stored).toHaveLength(90 + 8)
    expect(stored.find(({ key }) => key === 'twice')?.data).toBe('second')
    expect(stored.find(({ key }) => key === 'digits')?.data).toEqual(salted[9]?.data)
    expect(await all(store.records.scan({ url }))).toHaveLength(1)
    expect(await all(store.records.rejected({ limit: 9 }))).toMatchObject([
      { key: 'deep', reason: 'quarantined', issues: [{ message: expect.stringContaining('deeper than') }] },
    ])
  })
})

describe('writers at the same time', () => {
  it('never fail each other, whatever the order of their records', async () => {
    const other = await open(server.address())
    const keys = Array.from({ length: 60 }, (_, i) => `k${i}`)
    const rounds = Array.from({ length: 15 }, (_, n) => n)
    const write = (by: RecordStore, order: readonly string[], lease: number) =>
      by.records.write(batch({ records: order.map((key) => record({ key, epoch: String(lease), data: lease })) }))
    await Promise.all(rounds.flatMap((n) => [write(store, keys, 2 * n), write(other, [...keys].reverse(), 2 * n + 1)]))
    const found = await all(store.records.scan({}))
    expect(found).toHaveLength(keys.length)
    expect(new Set(found.map(({ data }) => data))).toEqual(new Set([29]))
    expect(await store.records.counts({})).toMatchObject([{ records: keys.length }])
    await other.close()
  })

  it('are many behind PgBouncer in transaction mode, which here knows no prepared statements', async () => {
    const stores = await Promise.all([1, 2, 3].map(() => open(bouncer.address())))
    const write = (n: number) => {
      const records = Array.from({ length: 20 }, (_, i) => record({ key: `k${n}-${i}` }))
      // The key that comes twice makes a transaction of several statements.
      return stores[n % 3]?.records.write(
        batch({ records: [...records, record({ key: `k${n}-0`, data: 'again' })], fetches: [fetchRow({ at: n })] }),
      )
    }
    const statuses = await Promise.all(Array.from({ length: 30 }, (_, n) => write(n)))
    expect(new Set(statuses.flat())).toEqual(new Set(['written']))
    expect(await all(stores[0]?.records.scan({}) ?? [])).toHaveLength(600)
    await Promise.all(stores.map((one) => one.close()))
  })
})

it('confirms records without touching an index, as long as they do not all lie in one page', async () => {
  const records = Array.from({ length: 1000 }, (_, i) => record({ key: `k${i}` }))
  await store.records.write(batch({ records }))
  for (let n = 0; n < 50; n++) {
    const some = records.filter((_, i) => i % 50 === n)
    await store.records.write(batch({ records: some.map((row) => ({ ...row, epoch: '1001', scrapedAt: 20_000 })) }))
  }
  const table = `relid = '${schema}.records'::regclass`
  const counts = `SELECT n_tup_upd::int AS updated, n_tup_hot_upd::int AS hot FROM pg_stat_user_tables WHERE ${table}`
  // The server counts some time after the commit, or when the connection ends.
  await store.close()
  await expect.poll(async () => (await server.query(counts))[0]?.updated, { timeout: 20_000 }).toBe(1000)
  expect((await server.query(counts))[0]?.hot).toBeGreaterThan(900)
  store = await open(server.address())
})
