import fc from 'fast-check'
import { parquetMetadata, parquetSchema } from 'hyparquet'
import { describe, expect, it } from 'vitest'
import type { Records, StoredRecord } from '../../src/store/record-store.js'
import type { Json } from '../../src/url/link.js'
import { record } from '../contract/record-store-contract.js'
import { runs } from '../support/longer.js'
import { exportedBytes, readParquet, recordsWith } from './read-exports.js'

const bufferOf = (bytes: Buffer) => new Uint8Array(bytes).buffer

async function typesOf(store: Records): Promise<Record<string, string>> {
  const { children } = parquetSchema(parquetMetadata(bufferOf(await exportedBytes(store, 'parquet'))))
  return Object.fromEntries(children.map(({ element }) => [element.name, element.converted_type ?? element.type ?? '']))
}

describe('export as Parquet', () => {
  it('gives each column the type that holds all its values', async () => {
    const store = await recordsWith(
      {
        data: { title: 'A', n: 1, price: 1.5, ok: true, at: '2026-11-15T12:00:00Z', tags: ['x'], mixed: 1, none: null },
      },
      {
        data: {
          title: null,
          n: -2,
          price: 2,
          ok: false,
          at: '2026-11-15T12:00:00.5+02:00',
          mixed: 'x',
          day: '2026-11-15',
        },
      },
    )
    expect(await typesOf(store)).toMatchObject({
      ...{ title: 'UTF8', n: 'INT64', price: 'DOUBLE', ok: 'BOOLEAN', at: 'TIMESTAMP_MILLIS', tags: 'JSON' },
      ...{ mixed: 'JSON', none: 'UTF8', day: 'UTF8', _key: 'UTF8', _url: 'UTF8', _updatedAt: 'TIMESTAMP_MILLIS' },
    })
    const [first, second] = await readParquet(await exportedBytes(store, 'parquet'))
    expect(first).toMatchObject({
      ...{ title: 'A', n: 1n, price: 1.5, ok: true, at: new Date('2026-11-15T12:00:00Z'), tags: ['x'], mixed: 1 },
      ...{ none: null, day: null, _key: 'k0', _kind: 'book', _scrapedAt: new Date(10_000) },
    })
    expect(second).toMatchObject({ title: null, n: -2n, price: 2, at: new Date('2026-11-15T10:00:00.5Z'), mixed: 'x' })
  })

  it('is a table without rows when there are none', async () => {
    const bytes = await exportedBytes(await recordsWith(), 'parquet')
    expect(await readParquet(bytes)).toEqual([])
    expect(parquetMetadata(bufferOf(bytes)).schema.map(({ name }) => name)).toContain('_key')
  })

  it('writes row groups of a bounded size, and all of the rows', async () => {
    const rows = 12_000
    const store = {
      async *scan(): AsyncGenerator<StoredRecord> {
        for (let i = 0; i < rows; i++) {
          const data = { n: i, text: `${i} `.repeat(200) }
          yield { ...record({ key: `k${i}`, data }), firstSeenAt: 0, updatedAt: i }
        }
      },
    }
    const bytes = await exportedBytes(store, 'parquet')
    const groups = parquetMetadata(bufferOf(bytes)).row_groups.map((group) => Number(group.num_rows))
    expect(groups.length).toBeGreaterThan(1)
    expect(groups.reduce((sum, group) => sum + group, 0)).toBe(rows)
    const read = await readParquet(bytes)
    expect(read.map(({ n }) => Number(n))).toEqual(Array.from({ length: rows }, (_, i) => i))
    expect(read[11_111]?.text).toBe('11111 '.repeat(200))
  })

  it('counts values that came after the columns were read', async () => {
    let pass = 0
    const store = {
      async *scan(): AsyncGenerator<StoredRecord> {
        const data: Json = pass++ === 0 ? { n: 1 } : { n: 'one', later: true }
        yield { ...record({ data }), firstSeenAt: 0, updatedAt: 0 }
      },
    }
    const { exportRecords } = await import('../../src/store/export/export.js')
    const { Writable } = await import('node:stream')
    const sink = new Writable({ write: (_chunk, _encoding, done) => done() })
    for (const format of ['parquet', 'sql'] as const) {
      pass = 0
      expect(await exportRecords(store, {}, format, sink)).toEqual({ rows: 1, leftOut: 2 })
    }
  })

  it('keeps no bounds of texts: compared as UTF-16 they would be wrong', async () => {
    const store = await recordsWith({ data: { t: '\u{1f600}' } }, { data: { t: '\ufffd' } })
    const { row_groups: groups } = parquetMetadata(bufferOf(await exportedBytes(store, 'parquet')))
    const text = groups[0]?.columns.find(({ meta_data: chunk }) => chunk?.path_in_schema[0] === 't')
    expect(text?.meta_data?.statistics).toMatchObject({ null_count: 0n })
    expect(text?.meta_data?.statistics?.max_value).toBeUndefined()
  })

  it('can be read back, whatever the data', async () => {
    const value = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 6 }),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
      fc.array(fc.integer(), { maxLength: 2 }),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.dictionary(fc.constantFrom('a', 'b', 'c'), value), { minLength: 1, maxLength: 5 }),
        async (datas) => {
          const store = await recordsWith(...datas.map((data) => ({ data: data as Json })))
          const rows = await readParquet(await exportedBytes(store, 'parquet'))
          for (const [index, data] of datas.entries()) {
            const clean = JSON.parse(JSON.stringify(data).replaceAll('\\u0000', '\ufffd')) as Record<string, Json>
            for (const [name, own] of Object.entries(clean)) {
              const read = rows[index]?.[name]
              expect(typeof read === 'bigint' ? Number(read) : read).toEqual(own)
            }
          }
        },
      ),
      { numRuns: runs(60) },
    )
  })
})
