import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { MergeRules, Preference } from '../../src/merge/merge-records.js'
import { type Member, MOST_SOURCES, mergeRecords } from '../../src/merge/merge-records.js'
import type { Json } from '../../src/url/link.js'

function rules(prefer: Record<string, Preference> = {}, otherwise: Preference = 'newest'): MergeRules {
  return { prefer: new Map(Object.entries(prefer)), otherwise }
}

function member(site: string, scrapedAt: number, data: Json, fields: Partial<Member> = {}): Member {
  return { site, key: 'k', url: `https://${site}/k`, data, scrapedAt, updatedAt: scrapedAt, ...fields }
}

describe('records of one thing', () => {
  const a = member('a.example', 1, { title: 'Boss pen', price: 2, images: ['1', '2'], note: null })
  const b = member('b.example', 2, { price: 3, title: 'Pen', images: ['3'], note: '', stock: 4 })

  it('become one, of what was seen last', () => {
    const { data, provenance, sources, count } = mergeRecords([a, b], rules())
    expect(data).toEqual({ price: 3, title: 'Pen', images: ['3'], note: '', stock: 4 })
    expect(Object.keys(data as object)).toEqual(['price', 'title', 'images', 'note', 'stock'])
    const source = { site: 'b.example', url: 'https://b.example/k', key: 'k', at: 2 }
    expect(provenance).toEqual({ price: source, title: source, images: source, note: source, stock: source })
    expect(sources).toEqual([source, { ...source, site: 'a.example', url: 'https://a.example/k', at: 1 }])
    expect(count).toBe(2)
  })

  it('give each field by its rule', () => {
    const by = rules({
      title: 'longest',
      images: 'longest',
      price: { sites: ['a.example'] },
      note: { sites: ['c.example'] },
    })
    const { data, provenance } = mergeRecords([a, b], by)
    expect(data).toEqual({ price: 2, title: 'Boss pen', images: ['1', '2'], note: '', stock: 4 })
    expect(provenance.title?.site).toBe('a.example')
    expect(provenance.stock?.site).toBe('b.example')
  })

  it('take sites in the order given, then the newest of the others', () => {
    const sites: Preference = { sites: ['x.example', 'a.example'] }
    expect(mergeRecords([b, a], rules({}, sites)).data).toMatchObject({ title: 'Boss pen' })
    expect(mergeRecords([b, member('c.example', 1, { title: 'old' })], rules({}, sites)).data).toMatchObject({
      title: 'Pen',
    })
  })

  it.each(['newest', 'longest', { sites: ['b.example'] }] as const)('take a value before none, by %o', (rule) => {
    const empty = member('b.example', 9, { title: '', price: null, tags: [], size: {} })
    const full = member('a.example', 1, { title: 'x', price: 0, tags: [1], size: { w: 1 }, more: false })
    expect(mergeRecords([empty, full], rules({}, rule)).data).toEqual(full.data)
  })

  it('keep what is no object as it is', () => {
    expect(mergeRecords([member('a.example', 1, 'x'), member('b.example', 2, 'y')], rules())).toMatchObject({
      data: 'y',
      provenance: {},
    })
    expect(mergeRecords([a, member('b.example', 9, ['list'])], rules()).data).toEqual(a.data)
  })

  it('keep odd names as data', () => {
    const odd = JSON.parse('{"__proto__":{"x":1},"constructor":2}') as Json
    const { data, provenance } = mergeRecords([member('a.example', 1, odd)], rules())
    expect(JSON.stringify(data)).toBe('{"__proto__":{"x":1},"constructor":2}')
    expect(Object.keys(provenance)).toEqual(['__proto__', 'constructor'])
  })

  it('name some of thousands of sources, the newest, and count all', () => {
    const many = Array.from({ length: 2500 }, (_, i) => member('a.example', i, { n: i }, { key: `k${i}` }))
    const { data, sources, count } = mergeRecords(many, rules())
    expect(data).toEqual({ n: 2499 })
    expect(sources).toHaveLength(MOST_SOURCES)
    expect(sources[0]?.key).toBe('k2499')
    expect(count).toBe(2500)
  })
})

describe('merging', () => {
  const value = fc.constantFrom<Json>(null, '', 'a', 'bb', 'cc', 1, [], ['x'], ['y', 'z'], { q: 1 }, false)
  const preference = fc.constantFrom<Preference>('newest', 'longest', { sites: ['b', 'a'] }, { sites: ['c'] })
  const someRules = fc
    .record({ prefer: fc.dictionary(fc.constantFrom('f', 'g', 'h'), preference), otherwise: preference })
    .map(({ prefer, otherwise }) => rules(prefer, otherwise))
  const members = fc.uniqueArray(
    fc.record({
      site: fc.constantFrom('a', 'b', 'c'),
      key: fc.constantFrom('1', '2', '3'),
      url: fc.constant('https://x.example/'),
      data: fc.oneof(
        { weight: 9, arbitrary: fc.dictionary(fc.constantFrom('f', 'g', 'h', 'i'), value) },
        { weight: 1, arbitrary: value },
      ),
      scrapedAt: fc.nat(3),
      updatedAt: fc.nat(2),
    }),
    { minLength: 1, maxLength: 9, selector: ({ site, key }) => site + key },
  )

  it('does not depend on the order of the records, nor on one that comes twice', () => {
    fc.assert(
      fc.property(members, someRules, fc.infiniteStream(fc.nat()), (all, by, numbers) => {
        const merged = JSON.stringify(mergeRecords(all, by))
        const shuffled = all.map((one) => [numbers.next().value, one] as const).sort(([x], [y]) => x - y)
        expect(
          JSON.stringify(
            mergeRecords(
              shuffled.map(([, one]) => one),
              by,
            ),
          ),
        ).toBe(merged)
        expect(JSON.stringify(mergeRecords([...all, ...all.slice(0, 4)], by))).toBe(merged)
      }),
    )
  })

  it('leaves one record as it is, and a merged one too', () => {
    fc.assert(
      fc.property(members, someRules, (all, by) => {
        const [first] = all as [Member]
        expect(mergeRecords([first], by).data).toEqual(first.data)
        const merged = { ...first, ...mergeRecords(all, by) }
        expect(mergeRecords([merged], by).data).toEqual(merged.data)
      }),
    )
  })

  it('gives every field the value of the record it names, and an empty one only where all are', () => {
    fc.assert(
      fc.property(members, someRules, (all, by) => {
        const { data, provenance } = mergeRecords(all, by)
        for (const [field, { site, key }] of Object.entries(provenance)) {
          const from = all.find((one) => one.site === site && one.key === key)?.data as Record<string, Json>
          expect((data as Record<string, Json>)[field]).toEqual(from[field])
        }
        const fields = all.flatMap((one) => (isObject(one.data) ? Object.keys(one.data) : []))
        if (fields.length > 0) expect(Object.keys(provenance).sort()).toEqual([...new Set(fields)].sort())
      }),
    )
  })
})

function isObject(data: Json): data is { readonly [name: string]: Json } {
  return data !== null && typeof data === 'object' && !Array.isArray(data)
}
