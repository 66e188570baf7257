import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FieldRow, HOUR_MS } from '../../src/quality/field-row.js'
import { FieldTally, MOST_FIELDS, MOST_SITES } from '../../src/quality/field-tally.js'
import { distinctValues } from '../../src/quality/sketch.js'

const NONE = { text: 0, number: 0, boolean: 0, list: 0, object: 0 }

function taken(data: unknown, fields: { site?: string; kind?: string; scrapedAt?: number } = {}) {
  return { spider: 'shop', kind: 'product', site: 'a.example', scrapedAt: HOUR_MS + 5, data, ...fields }
}

function rejected(data: unknown, ...fields: string[]) {
  return { ...taken(data), issues: fields.map((field) => ({ field })) }
}

function row(rows: readonly FieldRow[], field: string, site = ''): FieldRow | undefined {
  return rows.find((one) => one.field === field && one.site === site)
}

describe('a tally of fields', () => {
  it('counts what is filled, of which type, and how many are distinct', () => {
    const tally = new FieldTally()
    const values = [
      { name: 'a', price: 1, tags: ['x'] },
      { name: 'a', price: '2' },
      { name: ' ', price: null, tags: [] },
    ]
    tally.note({ records: values.map((data) => taken(data)), rejected: [] })
    const rows = tally.take()
    expect(row(rows, '')).toMatchObject({ filled: 3, failed: 0, hour: HOUR_MS, spider: 'shop', kind: 'product' })
    expect(row(rows, 'name')).toMatchObject({ filled: 2, types: { ...NONE, text: 2 } })
    expect(distinctValues(row(rows, 'name')?.sketch ?? [])).toBe(1)
    expect(row(rows, 'price')).toMatchObject({ filled: 2, types: { ...NONE, text: 1, number: 1 } })
    expect(row(rows, 'tags')).toMatchObject({ filled: 1, types: { ...NONE, list: 1 } })
    expect(tally.take()).toEqual([])
  })

  it.each([undefined, null, '', ' \n', '\u00a0', [], {}, Number.NaN, () => 1])('takes %o for empty', (value) => {
    const tally = new FieldTally()
    tally.note({ records: [taken({ field: value })], rejected: [] })
    expect(tally.take().map(({ field }) => field)).toEqual([''])
  })

  it.each([0, false, ' x', new Date(0), [null], { a: null }])('takes %o for filled', (value) => {
    const tally = new FieldTally()
    tally.note({ records: [taken({ field: value })], rejected: [] })
    expect(row(tally.take(), 'field')).toMatchObject({ filled: 1 })
  })

  it('counts a field that its schema refused as failed, not as filled, once for each record', () => {
    const tally = new FieldTally()
    const records = [
      rejected({ name: 'a', images: [{ url: 1 }, {}] }, 'images[0].url', 'images[1].url', 'price'),
      rejected({ name: 'b', 'a.b': 'x' }, 'a.b', ''),
      rejected('no object', 'key'),
    ]
    tally.note({ records: [], rejected: records })
    const rows = tally.take()
    expect(row(rows, '')).toMatchObject({ filled: 0, failed: 3 })
    expect(row(rows, 'name')).toMatchObject({ filled: 2, failed: 0 })
    expect(row(rows, 'images')).toMatchObject({ filled: 0, failed: 1 })
    expect(row(rows, 'price')).toMatchObject({ filled: 0, failed: 1 })
    expect(row(rows, 'a.b')).toMatchObject({ filled: 0, failed: 1 })
    expect(row(rows, 'key')).toMatchObject({ failed: 1 })
  })

  it('counts fields beyond the limit, endless names and the empty one together', () => {
    const tally = new FieldTally()
    const names = Array.from({ length: MOST_FIELDS + 50 }, (_, i) => [`f${i}`, i])
    tally.note({
      records: [taken({ '': 1, ['n'.repeat(500)]: 1, ...Object.fromEntries(names), '(other)': 1 })],
      rejected: [],
    })
    const rows = tally.take()
    expect(rows).toHaveLength(MOST_FIELDS + 2)
    expect(row(rows, '(other)')).toMatchObject({ filled: 53 })
    expect(row(rows, '')).toMatchObject({ filled: 1 })
  })

  it('counts each site by itself while there are some, and together beyond', () => {
    const tally = new FieldTally()
    const note = (site: string) => tally.note({ records: [taken({ name: site }, { site })], rejected: [] })
    note('a.example')
    expect(tally.take().map(({ site }) => site)).toEqual(['', ''])
    note('a.example')
    note('b.example')
    const two = tally.take()
    expect(row(two, 'name')).toMatchObject({ filled: 2 })
    expect(row(two, 'name', 'b.example')).toMatchObject({ filled: 1, sketch: [] })
    for (let i = 0; i < MOST_SITES + 10; i++) note(`s${i}.example`)
    const many = tally.take()
    expect(many.map(({ site }) => site)).toEqual(['', ''])
    expect(row(many, 'name')).toMatchObject({ filled: MOST_SITES + 10 })
    note('a.example')
    expect(tally.take()).toHaveLength(2)
  })

  it('keeps hours apart, and what nobody took', () => {
    const tally = new FieldTally()
    tally.note({ records: [taken({ a: 1 }), taken({ a: 1 }, { scrapedAt: 2 * HOUR_MS })], rejected: [] })
    const rows = tally.take()
    expect(rows.map(({ field, hour }) => [field, hour])).toEqual([
      ['', HOUR_MS],
      ['', 2 * HOUR_MS],
      ['a', HOUR_MS],
      ['a', 2 * HOUR_MS],
    ])
    tally.leave(rows)
    tally.note({ records: [taken({ a: 2 })], rejected: [] })
    const again = tally.take()
    expect(row(again, 'a')).toMatchObject({ hour: HOUR_MS, filled: 2 })
    expect(again).toHaveLength(4)
  })

  it('agrees with a count by hand, however the records come', () => {
    const value = fc.constantFrom<unknown>('x', '', 1, null, [], [1], true)
    const record = fc.record({
      kind: fc.constantFrom('a', 'b'),
      site: fc.constantFrom('x.example', 'y.example'),
      data: fc.dictionary(fc.constantFrom('f', 'g', 'h'), value),
      scrapedAt: fc.nat({ max: 3 * HOUR_MS }),
    })
    const filledByHand = (value: unknown) =>
      value !== '' && value !== null && !(Array.isArray(value) && value.length === 0)
    fc.assert(
      fc.property(fc.array(fc.array(record, { maxLength: 6 }), { maxLength: 6 }), (batches) => {
        const tally = new FieldTally()
        const counts = new Map<string, number>()
        for (const batch of batches) {
          tally.note({ records: batch.map(({ data, ...about }) => taken(data, about)), rejected: [] })
          for (const { kind, data, scrapedAt } of batch) {
            for (const field of ['', ...Object.keys(data).filter((name) => filledByHand(data[name]))]) {
              const id = `${kind} ${field} ${Math.floor(scrapedAt / HOUR_MS)}`
              counts.set(id, (counts.get(id) ?? 0) + 1)
            }
          }
        }
        const rows = tally.take()
        const all = rows.filter(({ site }) => site === '')
        expect(
          new Map(all.map(({ kind, field, hour, filled }) => [`${kind} ${field} ${hour / HOUR_MS}`, filled])),
        ).toEqual(counts)
        for (const { filled, types, field } of rows) {
          if (field !== '') expect(Object.values(types).reduce((sum, one) => sum + one, 0)).toBe(filled)
        }
      }),
    )
  })
})
