import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { driftAlert, driftOf, driftsIn as driftsInOrder, seriesIn } from '../../src/quality/drift.js'
import { addedUp, type FieldRow, HOUR_MS } from '../../src/quality/field-row.js'
import { summarise } from '../../src/quality/summary.js'

/** Hours as [records, filled]. */
function hours(...shares: (readonly [number, number])[]) {
  return shares.map(([records, filled], index) => ({ hour: index * HOUR_MS, records, filled }))
}

const GOOD = [100, 99] as const
const BAD = [100, 3] as const

describe('drift of a field', () => {
  it('is a fall of what was usually filled', () => {
    expect(driftOf(hours(GOOD, GOOD, BAD))).toEqual({
      since: 2 * HOUR_MS,
      before: { records: 200, filled: 198 },
      now: { records: 100, filled: 3 },
    })
  })

  it.each([
    ['all is well', hours(GOOD, GOOD, GOOD)],
    ['it was never filled', hours([100, 0], [100, 0])],
    ['it was filled on some only', hours([100, 90], [100, 90], BAD)],
    ['it fell by little', hours(GOOD, GOOD, [1000, 950])],
    ['it is well again', hours(GOOD, BAD, BAD, GOOD)],
    ['there is nothing before', hours(BAD)],
    ['there is too little before', hours([49, 49], BAD)],
    ['there is too little now', hours([19, 0])],
    ['a few of few records say nothing', hours(GOOD, [20, 17])],
    ['there is nothing at all', hours()],
    ['the first hours of a new field are not low', hours([500, 0], [100, 0], [100, 98], GOOD)],
  ])('is none when %s', (_why, shares) => {
    expect(driftOf(shares)).toBeNull()
  })

  it('lasts as long as it is low, and does not take bad hours for normal', () => {
    const days = Array.from({ length: 300 }, () => BAD)
    expect(driftOf(hours(GOOD, GOOD, ...days))).toMatchObject({ since: 2 * HOUR_MS, before: { records: 200 } })
    const long = Array.from({ length: 300 }, () => GOOD)
    expect(driftOf(hours(...long, BAD, BAD, BAD))).toMatchObject({ since: 300 * HOUR_MS })
  })

  it('is found in a field that came later', () => {
    expect(driftOf(hours([100, 0], [100, 0], [100, 100], BAD))).toMatchObject({ since: 3 * HOUR_MS })
  })

  it('takes so many of the newest hours that they mean something', () => {
    expect(driftOf(hours(GOOD, [15, 0], [15, 0]))).toMatchObject({ now: { records: 30 }, since: HOUR_MS })
    expect(driftOf(hours([100, 100], [10_000, 9_990], [5, 0]))).toBeNull()
  })

  it('is never found where a field is filled as it always was', () => {
    const hour = fc
      .integer({ min: 0, max: 300 })
      .chain((records) => fc.record({ records: fc.constant(records), missing: fc.nat(Math.floor(records / 25)) }))
    fc.assert(
      fc.property(fc.array(hour, { maxLength: 50 }), (shares) => {
        expect(
          driftOf(hours(...shares.map(({ records, missing }) => [records, records - missing] as const))),
        ).toBeNull()
      }),
    )
  })
})

function row(fields: Partial<FieldRow>): FieldRow {
  return {
    ...{ spider: 'shop', kind: 'product', site: '', field: '', hour: 0, filled: 0, failed: 0, sketch: [] },
    types: { text: 0, number: 0, boolean: 0, list: 0, object: 0 },
    ...fields,
  }
}

describe('drifts among rows', () => {
  /** As the store gives them. */
  const driftsIn = (rows: readonly FieldRow[]) => driftsInOrder(addedUp(rows))
  const ofSite = (site: string, hour: number, records: number, filled: number) => [
    row({ site, hour, filled: records }),
    // An hour in which nobody filled it has no row.
    ...(filled === 0 ? [] : [row({ site, hour, field: 'price', filled })]),
  ]

  it('are found where a field is gone from the data altogether', async () => {
    const rows = [...ofSite('', 0, 100, 100), ...ofSite('', HOUR_MS, 100, 0)]
    expect(await driftsIn(rows)).toEqual([
      {
        ...{ spider: 'shop', kind: 'product', site: '', field: 'price', since: HOUR_MS },
        ...{ before: { records: 100, filled: 100 }, now: { records: 100, filled: 0 } },
      },
    ])
  })

  it('count rejected records: one without a field that it must have is one without it', async () => {
    const now = [row({ hour: HOUR_MS, failed: 100 }), row({ hour: HOUR_MS, field: 'price', failed: 100 })]
    const drifts = await driftsIn([...ofSite('', 0, 100, 100), ...now])
    expect(drifts).toMatchObject([{ field: 'price', now: { records: 100 } }])
  })

  it('name the site, and all sites together only when no site does', async () => {
    const rows = (now: readonly [a: number, b: number]) => [
      ...ofSite('', 0, 200, 200),
      ...ofSite('', HOUR_MS, 200, now[0] + now[1]),
      ...ofSite('a.example', 0, 100, 100),
      ...ofSite('a.example', HOUR_MS, 100, now[0]),
      ...ofSite('b.example', 0, 100, 100),
      ...ofSite('b.example', HOUR_MS, 100, now[1]),
    ]
    const sites = async (given: readonly FieldRow[]) => (await driftsIn(given)).map(({ site }) => site)
    expect(await sites(rows([100, 0]))).toEqual(['b.example'])
    expect(await sites(rows([5, 0]))).toEqual(['a.example', 'b.example'])
    expect(await sites(rows([90, 90]))).toEqual([''])
    expect(await sites(rows([100, 100]))).toEqual([])
  })

  it('become alerts with a name that stays the same', async () => {
    const alerts = async (records: number) =>
      (await driftsIn([...ofSite('', 0, 100, 100), ...ofSite('', HOUR_MS, records, 1)])).map(driftAlert)
    const [first] = await alerts(50)
    const [later] = await alerts(90)
    expect(first).toMatchObject({
      name: 'records.drift',
      severity: 'warn',
      spider: 'shop',
      message: 'product.price is filled on 2 % of the records, was 100 %',
      fields: { kind: 'product', field: 'price', before: 100, now: 2, records: 50, since: '1970-01-01T01:00:00.000Z' },
    })
    expect(later?.episode).toBe(first?.episode)
  })

  it('stand in the summary of a kind, also when no hour of it has the field', async () => {
    const rows = [...ofSite('', 0, 100, 100), ...ofSite('', HOUR_MS, 100, 0)]
    const [summary] = summarise(
      rows.filter(({ hour }) => hour === HOUR_MS),
      await driftsIn(rows),
    )
    expect(summary).toMatchObject({ spider: 'shop', kind: 'product', records: 100, rejected: 0 })
    expect(summary?.fields).toMatchObject([{ field: 'price', filled: 0, share: 0, drift: [{ site: '' }] }])
  })

  it('are found one field at a time, whatever the number of sites, fields and hours', async () => {
    const HOURS = 200
    let held = 0
    let most = 0
    function* rows() {
      // One object for all of them: who kept it would see the last row everywhere.
      const one = row({}) as { -readonly [Name in keyof FieldRow]: FieldRow[Name] }
      for (const site of ['', 'a.example', 'b.example'])
        for (const field of ['', '(other)', 'name', 'price'])
          for (let hour = 0; hour < HOURS; hour++) {
            held += 1
            most = Math.max(most, held)
            yield Object.assign(one, { site, field, hour: hour * HOUR_MS, filled: 10 })
          }
    }
    const found: unknown[] = []
    for await (const { site, field, hours: shares } of seriesIn(rows())) {
      found.push([site, field])
      expect(shares).toHaveLength(HOURS)
      expect(shares.every(({ hour, records, filled }, at) => hour === at * HOUR_MS && records + filled === 20)).toBe(
        true,
      )
      held = 0
    }
    expect(found).toEqual(
      ['', 'a.example', 'b.example'].flatMap((site) => ['name', 'price'].map((name) => [site, name])),
    )
    // The whole records of a site, what is no field, and one field.
    expect(most).toBeLessThanOrEqual(3 * HOURS + 1)
  })
})
