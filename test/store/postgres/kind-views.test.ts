import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { KindColumns, KindTables } from '../../../src/store/kind-views.js'
import { books, column, kindViewsContract, type OpenedViews, writeTo } from '../../contract/kind-views-contract.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { emptyPostgresStore } from './opened.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.end())

async function open(): Promise<OpenedViews> {
  const store = await emptyPostgresStore(server.address())
  const schema = /VIEW (\w+\.)/.exec(store.views?.sql(books()) ?? '')?.[1] ?? ''
  const client = new pg.Client({ connectionString: server.address() })
  await client.connect()
  return {
    store,
    schema,
    select: async (sql) => (await client.query<Record<string, unknown>>(sql)).rows,
    async close() {
      await client.end()
      await store.close()
    },
  }
}

kindViewsContract('postgres', open)

async function using(work: (opened: OpenedViews) => Promise<void>): Promise<void> {
  const opened = await open()
  try {
    await work(opened)
  } finally {
    await opened.close()
  }
}

function tablesOf({ store }: OpenedViews): KindTables {
  const tables = store.views?.tables
  if (tables === null || tables === undefined) throw new Error('there are no tables')
  return tables
}

const refresh = (opened: OpenedViews, kind: KindColumns) => tablesOf(opened).refresh(kind, () => {})
const titles = async ({ select, schema }: OpenedViews) =>
  (await select(`SELECT title FROM ${schema}books_book ORDER BY "_key"`)).map(({ title }) => title)

describe('postgres: views', () => {
  it('read numbers, truths and times that were stored as text', () =>
    using(async ({ store, select, schema }) => {
      await writeTo(store, { data: { n: ' 12'.trim(), price: '-1.50', ok: 'false', at: '2026-11-15T12:00:00' } })
      const kind = [
        column('n', 'integer'),
        column('price', 'number'),
        column('ok', 'boolean'),
        column('at', 'timestamp'),
      ]
      await store.views?.create(books(...kind))
      expect(await select(`SELECT n, price, ok, at FROM ${schema}books_book`)).toEqual([
        { n: '12', price: '-1.50', ok: false, at: new Date('2026-11-15T12:00:00Z') },
      ])
    }))

  it('keep the rights that were granted on them, and what is built on them', () =>
    using(async (opened) => {
      const { store, select, schema } = opened
      await writeTo(store, { data: { title: 'A' } })
      await store.views?.create(books(column('title')))
      const role = `reader_${schema.slice(0, -1)}`
      await select(`CREATE ROLE ${role}; GRANT USAGE ON SCHEMA ${schema.slice(0, -1)} TO ${role};
        GRANT SELECT ON ${schema}books_book TO ${role}`)
      await store.views?.create(books(column('title'), column('price', 'number')))
      await select(`SET ROLE ${role}`)
      expect(await select(`SELECT title, price FROM ${schema}books_book`)).toEqual([{ title: 'A', price: null }])
      await select(`RESET ROLE; CREATE VIEW ${schema}mine AS SELECT title FROM ${schema}books_book`)
      await expect(store.views?.create(books(column('price', 'number')))).rejects.toMatchObject({
        code: 'usage',
        message: expect.stringContaining('something of yours is built on it'),
      })
      expect(await titles(opened)).toEqual(['A'])
    }))
})

describe('postgres: tables of kinds', () => {
  it('are brought what came or changed since the last time', () =>
    using(async (opened) => {
      const { store } = opened
      const kind = books(column('title'), column('price', 'number'))
      await writeTo(store, { data: { title: 'A', price: 1 } }, { data: { title: 'B' } }, { kind: 'author' })
      expect(await refresh(opened, kind)).toMatchObject({ rows: 2, rebuilt: false })
      expect(await titles(opened)).toEqual(['A', 'B'])
      expect(await refresh(opened, kind)).toMatchObject({ rows: 0 })
      await writeTo(
        store,
        { epoch: '1001', data: { title: 'A2' } },
        { epoch: '1001', data: { title: 'B' } },
        { key: 'c' },
      )
      expect(await refresh(opened, kind)).toMatchObject({ rows: 2, rebuilt: false })
      expect(await titles(opened)).toEqual([expect.stringContaining('Title'), 'A2', 'B'])
    }))

  it('miss nothing of a writer that commits late', () =>
    using(async (opened) => {
      const { store, select, schema } = opened
      const kind = books(column('title'))
      await writeTo(store, { data: { title: 'A' } })
      const late = new pg.Client({ connectionString: server.address() })
      await late.connect()
      await late.query('BEGIN')
      await late.query(
        `UPDATE ${schema}records SET data = '{"title":"late"}', change = pg_current_xact_id()::text::bigint`,
      )
      await writeTo(store, { key: 'k1', data: { title: 'B' } })
      await refresh(opened, kind)
      await late.query('COMMIT')
      await late.end()
      await refresh(opened, kind)
      expect(await titles(opened)).toEqual(['late', 'B'])
      expect(await select(`SELECT count(*)::int AS n FROM ${schema}books_book`)).toEqual([{ n: 2 }])
    }))

  it('are filled in steps, by two processes at once as by one', () =>
    using(async (opened) => {
      const { store, select, schema } = opened
      const rows = Array.from({ length: 12_000 }, (_, n) => ({ key: `k${n}`, data: { title: `T${n}` } }))
      for (let from = 0; from < rows.length; from += 1000) await writeTo(store, ...rows.slice(from, from + 1000))
      await tablesOf(opened).refresh({ ...books(column('title')), kind: 'none' }, () => {})
      const told: number[] = []
      const kind = books(column('title'))
      await refresh(opened, { ...kind, columns: [] })
      const tell = (rows: number) => told.push(rows)
      await Promise.all([1, 2].map(() => tablesOf(opened).refresh(kind, tell)))
      expect(told.length).toBeGreaterThan(2)
      expect(await select(`SELECT count(*)::int AS n, count(title)::int AS titles FROM ${schema}books_book`)).toEqual([
        { n: 12_000, titles: 12_000 },
      ])
    }))

  it('are made anew when their columns change, and readers see the old one until then', () =>
    using(async (opened) => {
      const { store, select, schema } = opened
      await writeTo(store, { data: { title: 'A', n: 1 } })
      await refresh(opened, books(column('title')))
      await select(`CREATE INDEX ON ${schema}books_book (title)`)
      expect(await refresh(opened, books(column('title'), column('n', 'integer')))).toMatchObject({
        rows: 1,
        rebuilt: true,
      })
      expect(await select(`SELECT title, n FROM ${schema}books_book`)).toEqual([{ title: 'A', n: '1' }])
      expect(await refresh(opened, books(column('title'), column('n', 'integer')))).toMatchObject({
        rows: 0,
        rebuilt: false,
      })
      expect(await refresh(opened, books(column('title')))).toMatchObject({ rows: 1, rebuilt: true })
      expect(await select(`SELECT to_regclass('${schema}books_book__new') AS left_over`)).toEqual([{ left_over: null }])
    }))

  it('and views do not take each other for their own', () =>
    using(async (opened) => {
      const { store } = opened
      await refresh(opened, books(column('title')))
      await expect(store.views?.create(books(column('title')))).rejects.toMatchObject({
        hint: expect.stringContaining('DROP TABLE'),
      })
    }))

  it('are printed as the SQL that makes them', () =>
    using(async (opened) => {
      const { store, select } = opened
      await writeTo(store, { data: { title: 'A' } })
      await select(tablesOf(opened).sql(books(column('title'))))
      expect(await titles(opened)).toEqual(['A'])
    }))
})
