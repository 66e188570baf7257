import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { FieldColumn, KindColumns } from '../../src/store/kind-views.js'
import type { RecordRow, RecordStore } from '../../src/store/record-store.js'
import type { Json } from '../../src/url/link.js'
import { batch, record } from './record-store-contract.js'

export interface OpenedViews {
  readonly store: RecordStore
  /** What stands before the name of a view. */
  readonly schema: string
  select(sql: string): Promise<Record<string, unknown>[]>
  close(): Promise<void>
}

export const column = (field: string, type: FieldColumn['type'] = 'text'): FieldColumn => ({ field, type })
export const books = (...columns: FieldColumn[]): KindColumns => ({ spider: 'books', kind: 'book', columns })
export const writeTo = (store: RecordStore, ...rows: Partial<RecordRow>[]) =>
  store.records.write(batch({ records: rows.map((row, n) => record({ key: `k${n}`, ...row })) }))

export function kindViewsContract(name: string, open: () => Promise<OpenedViews>): void {
  describe(`${name}: views of kinds`, () => {
    let opened: OpenedViews
    beforeEach(async () => {
      opened = await open()
    })
    afterEach(() => opened.close())

    const make = (kind: KindColumns) => {
      const { views } = opened.store
      if (views === null) throw new Error('there is no SQL here')
      return views.create(kind)
    }
    const rows = (view = 'books_book') => opened.select(`SELECT * FROM ${opened.schema}${view} ORDER BY "_key"`)

    it('have typed columns beside what the store knows, and the records as they are now', async () => {
      await writeTo(opened.store, {
        data: { title: 'A', price: 1.5, stock: 3, ok: true, at: '2026-11-15T12:00:00Z', tags: ['x', { y: 1 }] },
      })
      const kind = books(
        ...[column('title'), column('price', 'number'), column('stock', 'integer'), column('ok', 'boolean')],
        ...[column('at', 'timestamp'), column('tags', 'json')],
      )
      await make(kind)
      const [row] = await rows()
      expect(Object.keys(row ?? {})).toEqual([
        ...['_site', '_key', '_url', '_first_seen_at', '_updated_at', '_scraped_at', '_crawl'],
        ...['title', 'price', 'stock', 'ok', 'at', 'tags'],
      ])
      expect(row).toMatchObject({ _site: 'books.example', _key: 'k0', _url: 'https://books.example/k0', title: 'A' })
      expect({ ...row, at: new Date(String(row?.at)), ok: Boolean(row?.ok) }).toMatchObject({
        ...{ at: new Date('2026-11-15T12:00:00Z'), ok: true },
      })
      expect([Number(row?.price), Number(row?.stock)]).toEqual([1.5, 3])
      expect(new Date(String(row?._updated_at))).toEqual(new Date(10_000))
      expect(typeof row?.tags === 'string' ? JSON.parse(row.tags) : row?.tags).toEqual(['x', { y: 1 }])
      await writeTo(opened.store, { epoch: '1001', data: { title: 'B' } }, { key: 'k1', data: { title: 'C' } })
      await writeTo(opened.store, { key: 'k2', kind: 'author' }, { key: 'k2', spider: 'shop' })
      expect((await rows()).map(({ title }) => title)).toEqual(['B', 'C'])
    })

    it('show NULL for a value that does not fit, and never fail', async () => {
      const types = ['text', 'number', 'integer', 'boolean', 'timestamp', 'json'] as const
      const values: Json[] = [
        ...['x', '', '1e400000', '9'.repeat(400), '2026-02-31T00:00:00Z', '2026-13-01T00:00:00Z', '\u{1f600}'],
        ...[1e300, -0.5, 9.1e18, true, null, [], { a: 1 }, ['1'], '0000-01-01T00:00:00Z', '2026-01-01T25:00:00Z'],
        ...['2026-01-01T00:00:00+99:00', '2026-01-01', '1.', '--1', '+', 'e5', 'TRUE'],
      ]
      await writeTo(
        opened.store,
        ...values.map((value, n) => ({
          key: `k${100 + n}`,
          data: Object.fromEntries(types.map((type) => [type, value])) as Json,
        })),
        { key: 'k900', data: 'no object' },
        { key: 'k901', data: {} },
      )
      await make(books(...types.map((type) => column(type, type))))
      const found = await rows()
      expect(found).toHaveLength(values.length + 2)
      const of = (value: Json) => found[values.indexOf(value)]
      expect(of('x')).toMatchObject({ text: 'x', number: null, integer: null, boolean: null })
      expect(of('2026-02-31T00:00:00Z')).toMatchObject({ text: '2026-02-31T00:00:00Z', number: null })
      expect(Number(of(1e300)?.number)).toBe(1e300)
      expect(of(1e300)).toMatchObject({ integer: null, boolean: null })
      expect(Number(of(-0.5)?.number)).toBe(-0.5)
      expect(of(-0.5)?.integer).toBeNull()
      expect(of(null)).toMatchObject({
        text: null,
        number: null,
        integer: null,
        boolean: null,
        timestamp: null,
        json: null,
      })
      expect(found.at(-1)).toMatchObject({ text: null, json: null })
    })

    it('take fields of any name, and data that is no object', async () => {
      const names = [
        'a"b',
        "it's",
        'a.b',
        'A',
        'a',
        '$',
        '',
        '_key',
        'ü',
        'x y',
        '[0]',
        'shoal.x',
        '\\',
        ';--',
        '__proto__',
      ]
      const data = Object.fromEntries(names.map((name, n) => [name, n])) as Json
      await writeTo(opened.store, { data }, { data: 7 })
      await make(books(...names.map((name) => column(name, 'integer')), column('value', 'integer')))
      const [first, second] = await rows()
      const values = Object.entries(first ?? {})
        .slice(7)
        .map(([, value]) => value)
      expect(values.map((value) => (value === null ? null : Number(value)))).toEqual([...names.map((_, n) => n), null])
      expect(Number(second?.value)).toBe(7)
    })

    it('follow their columns, whatever they were before', async () => {
      await writeTo(opened.store, { data: { a: 1, b: 'x' } })
      await make(books(column('a', 'integer')))
      await make(books(column('a', 'integer'), column('b')))
      await make(books(column('b'), column('a')))
      const [row] = await rows()
      expect(row).toMatchObject({ b: 'x', a: expect.anything() })
      expect(String(row?.a)).toBe('1')
    })

    it('leave alone what is called like them', async () => {
      await writeTo(opened.store, { spider: 'record', kind: 'counts', data: { a: 1 } })
      await expect(make({ spider: 'record', kind: 'counts', columns: [] })).rejects.toMatchObject({ code: 'usage' })
      await make({ spider: 'a', kind: 'b_c', columns: [] })
      await expect(make({ spider: 'a_b', kind: 'c', columns: [] })).rejects.toMatchObject({ code: 'usage' })
      await make({ spider: 'a', kind: 'b_c', columns: [] })
    })

    it('are printed as the SQL that makes them', async () => {
      await writeTo(opened.store, { data: { title: 'A' } })
      const sql = opened.store.views?.sql(books(column('title'))) ?? ''
      await opened.select(sql)
      expect(await rows()).toMatchObject([{ title: 'A' }])
    })
  })
}
