import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type FieldRow, HOUR_MS } from '../../src/quality/field-row.js'
import { SKETCH_SIZE } from '../../src/quality/sketch.js'
import { KEPT_HOURS } from '../../src/store/field-stats.js'
import type { RecordStore } from '../../src/store/record-store.js'

function fieldRow(fields: Partial<FieldRow> = {}): FieldRow {
  return {
    spider: 'books',
    kind: 'book',
    site: '',
    field: 'title',
    hour: 0,
    filled: 1,
    failed: 0,
    types: { text: 1, number: 0, boolean: 0, list: 0, object: 0 },
    sketch: [],
    ...fields,
  }
}

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const row of rows) list.push(row)
  return list
}

/** What every store does with statistics of fields. `open` gives an empty store. */
export function fieldStatsContract(name: string, open: () => Promise<RecordStore>): void {
  describe(`${name}: field statistics contract`, () => {
    let store: RecordStore
    beforeEach(async () => {
      store = await open()
    })
    afterEach(() => store.close())

    const stats = (query = {}) => all(store.fields.scan({ sketches: true, ...query }))

    it('adds counts and unites sketches', async () => {
      await store.fields.add([fieldRow({ filled: 3, failed: 1, sketch: [-7, 5] })])
      const types = { text: 1, number: 2, boolean: 3, list: 4, object: 5 }
      await store.fields.add([fieldRow({ filled: 15, failed: 2, types, sketch: [-2_147_483_648, 5, 2_147_483_647] })])
      expect(await stats()).toEqual([
        fieldRow({
          filled: 18,
          failed: 3,
          types: { ...types, text: 2 },
          sketch: [-2_147_483_648, -7, 5, 2_147_483_647],
        }),
      ])
      expect(await stats({ sketches: false })).toMatchObject([{ filled: 18, sketch: [] }])
    })

    it('keeps the smallest hashes of a full sketch', async () => {
      const odd = Array.from({ length: SKETCH_SIZE }, (_, i) => i * 2 + 1)
      const even = Array.from({ length: SKETCH_SIZE }, (_, i) => i * 2)
      await store.fields.add([fieldRow({ sketch: odd })])
      await store.fields.add([fieldRow({ sketch: even })])
      expect((await stats())[0]?.sketch).toEqual(Array.from({ length: SKETCH_SIZE }, (_, i) => i))
    })

    it('answers in order, by spider, kind, site and time', async () => {
      const rows = [
        fieldRow({ spider: 'a', hour: HOUR_MS }),
        fieldRow({ field: '', hour: 0, filled: 9 }),
        fieldRow({ field: '', hour: HOUR_MS }),
        fieldRow({ field: 'title', hour: 2 * HOUR_MS }),
        fieldRow({ site: 'b.example' }),
        fieldRow({ kind: 'shelf' }),
      ]
      await store.fields.add(rows)
      expect(await stats()).toEqual(rows)
      expect(await stats({ spider: 'books', kind: 'book', site: '' })).toEqual(rows.slice(1, 4))
      expect(await stats({ since: HOUR_MS })).toEqual([rows[0], rows[2], rows[3]])
      expect(await stats({ site: 'b.example' })).toEqual([rows[4]])
      expect(await stats({ spider: 'nobody' })).toEqual([])
      await store.fields.add([])
    })

    it('keeps the newest hours of each kind, and reads more of them than fit a page', async () => {
      for (let hour = 0; hour < KEPT_HOURS + 3; hour++) {
        const at = { hour: hour * HOUR_MS }
        await store.fields.add([
          fieldRow({ field: '', ...at }),
          ...['a', 'b', 'c'].map((field) => fieldRow({ field, ...at })),
        ])
      }
      await store.fields.add([fieldRow({ kind: 'shelf', field: '' })])
      const rows = await stats({ kind: 'book' })
      expect(rows).toHaveLength(KEPT_HOURS * 4)
      expect(Math.min(...rows.map(({ hour }) => hour))).toBe(3 * HOUR_MS)
      expect(await stats({ kind: 'shelf' })).toHaveLength(1)
    })

    it('takes names that no database takes', async () => {
      await store.fields.add([fieldRow({ field: 'a\0\ud800', sketch: [1] })])
      expect(await stats()).toEqual([fieldRow({ field: 'a\ufffd\ufffd', sketch: [1] })])
    })
  })
}
