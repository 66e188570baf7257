import { tableFromIPC } from 'apache-arrow'
import { readParquet } from 'parquet-wasm'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/url/link.js'
import { exportedBytes, recordsWith } from './read-exports.js'

type Cell = string | number | bigint | boolean | null

/** What Rust's Parquet and Arrow, which many tools read with, make of an export: one list of values for each column. */
async function columnsOf(rows: readonly Json[]): Promise<Record<string, Cell[]>> {
  const bytes = await exportedBytes(await recordsWith(...rows.map((data) => ({ data }))), 'parquet')
  const table = tableFromIPC(readParquet(bytes).intoIPCStream())
  return Object.fromEntries(
    table.schema.fields.map(({ name }) => {
      const column = table.getChild(name)
      return [name, Array.from({ length: table.numRows }, (_, row) => column?.get(row) as Cell)]
    }),
  )
}

describe('an export as Parquet, read by another reader', () => {
  it('has the values of every type', async () => {
    const columns = await columnsOf([
      {
        ...{
          text: 'a',
          whole: 1,
          largest: 9_007_199_254_740_991,
          price: 1.5,
          ok: true,
          at: '2026-11-15T12:00:00.250Z',
        },
        ...{ tags: ['x', { y: null }], nested: { a: { b: 1 } }, mixed: 1, empty: '', none: null },
        ...{
          nasty: '\u0000 \ud83d\ude00 e\u0301 \u202e "\\\n',
          digits: '12345678901234567890',
          tiny: 5e-324,
          huge: 1.5e300,
        },
        ...{ '': 'unnamed', 'a.b': 'dotted', 'A.B': 'upper', __proto__field: 1 },
      },
      {
        text: null,
        whole: -2,
        largest: -9_007_199_254_740_991,
        price: -0.1,
        ok: false,
        mixed: 'x',
        late: 'second only',
      },
    ])
    expect(columns).toMatchObject({
      ...{ text: ['a', null], whole: [1n, -2n], largest: [9_007_199_254_740_991n, -9_007_199_254_740_991n] },
      ...{ price: [1.5, -0.1], ok: [true, false], at: [Date.parse('2026-11-15T12:00:00.250Z'), null] },
      ...{ tags: ['["x",{"y":null}]', null], nested: ['{"a":{"b":1}}', null], mixed: ['1', '"x"'], empty: ['', null] },
      ...{ none: [null, null], digits: ['12345678901234567890', null], tiny: [5e-324, null], huge: [1.5e300, null] },
      ...{ '': ['unnamed', null], 'a.b': ['dotted', null], 'A.B': ['upper', null], late: [null, 'second only'] },
      ...{ _key: ['k0', 'k1'], _kind: ['book', 'book'], _scrapedAt: [10_000, 10_000] },
    })
    expect(columns.nasty?.[0]).toContain('😀 e\u0301 \u202e "\\\n')
  })

  it('has no rows when there are none, and all of many', async () => {
    expect((await columnsOf([]))._key).toEqual([])
    const many = Array.from({ length: 3_000 }, (_, n) => ({
      n,
      text: `${n} `.repeat(400),
      maybe: n % 3 === 0 ? n : null,
    }))
    const columns = await columnsOf(many)
    expect(columns.n?.map(Number).sort((a, b) => a - b)).toEqual(many.map(({ n }) => n))
    expect(columns.maybe?.filter((value) => value !== null)).toHaveLength(1_000)
  })
})
