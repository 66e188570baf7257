import { describe, expect, it } from 'vitest'
import type { MatchRow } from '../../src/quality/match-row.js'
import { type DeclaredRoute, MatchTally } from '../../src/quality/match-tally.js'
import { neverMatched, neverMatchedAlerts, neverText } from '../../src/quality/never-matched.js'

const listing: DeclaredRoute = { name: 'listing', rules: ['article h3 a', '.next a'], each: '', fields: new Map() }
const book: DeclaredRoute = {
  name: 'book',
  rules: [],
  each: '',
  fields: new Map([
    [
      'book',
      [
        { name: 'title', selector: 'h1' },
        { name: 'price', selector: '.prize_color' },
      ],
    ],
  ]),
}
const NOTHING = { records: [], rejected: [] }
const bookOf = (data: object) => ({ ...NOTHING, records: [{ kind: 'book', data }] })

describe('the counts of rules and fields', () => {
  it('say how many pages each rule matched on, and in how many records each field has a value', () => {
    const tally = new MatchTally()
    tally.note('c', listing, { ...NOTHING, linksByRule: [0, 1] }, 'https://a.example/1')
    tally.note('c', listing, { ...NOTHING, linksByRule: [0, 0] }, 'https://a.example/2')
    tally.note('c', book, bookOf({ title: 'A', price: null }), 'https://a.example/b1')
    tally.note('c', book, { ...NOTHING, rejected: [{ kind: 'book', data: { title: ' ' } }] }, 'https://a.example/b2')
    const row = (part: MatchRow['part'], of: string, name: string, selector: string) => ({
      crawl: 'c',
      part,
      of,
      name,
      selector,
    })
    expect(tally.take()).toEqual([
      { ...row('field', 'book', 'price', '.prize_color'), seen: 2, matched: 0, example: 'https://a.example/b1' },
      { ...row('field', 'book', 'title', 'h1'), seen: 2, matched: 1, example: 'https://a.example/b2' },
      { ...row('route', 'book', '', ''), seen: 2, matched: 2, example: '' },
      { ...row('route', 'listing', '', ''), seen: 2, matched: 0, example: 'https://a.example/1' },
      { ...row('rule', 'listing', '', '.next a'), seen: 2, matched: 1, example: 'https://a.example/2' },
      { ...row('rule', 'listing', '', 'article h3 a'), seen: 2, matched: 0, example: 'https://a.example/1' },
    ])
    expect(tally.take()).toEqual([])
  })

  it('are kept apart by crawl, and what could not be stored is counted with the next', () => {
    const tally = new MatchTally()
    tally.note('a', listing, { ...NOTHING, linksByRule: [1, 1] }, 'u')
    tally.note('b', listing, { ...NOTHING, linksByRule: [1, 1] }, 'u')
    const rows = tally.take()
    expect(rows.map(({ crawl }) => crawl)).toEqual(['a', 'a', 'a', 'b', 'b', 'b'])
    tally.leave(rows)
    tally.note('a', listing, { ...NOTHING, linksByRule: [1, 0] }, 'u')
    expect(
      tally
        .take()
        .filter(({ crawl }) => crawl === 'a')
        .map(({ seen, matched }) => [seen, matched]),
    ).toEqual([
      [2, 0],
      [2, 1],
      [2, 2],
    ])
  })

  it('count record.each as a rule', () => {
    const tally = new MatchTally()
    tally.note('c', { ...book, each: 'article' }, { ...NOTHING }, 'https://a.example/1')
    expect(neverMatched(tally.take()).map((one) => neverText(one))).toEqual([
      'route book: each `article` matched on 0 of 1 page',
    ])
  })

  it('ignore kinds that the route does not declare, data that is no object, and a prototype', () => {
    const tally = new MatchTally()
    tally.note(
      'c',
      book,
      {
        ...NOTHING,
        records: [
          { kind: 'other', data: {} },
          { kind: 'book', data: [] },
        ],
      },
      'u',
    )
    expect(
      tally
        .take()
        .filter(({ part }) => part === 'field')
        .map(({ seen, matched }) => [seen, matched]),
    ).toEqual([
      [1, 0],
      [1, 0],
    ])
  })
})

describe('what never matched', () => {
  const row = (fields: Partial<MatchRow>): MatchRow => ({
    ...{ crawl: 'c', part: 'field', of: 'book', name: 'price', selector: '.a', seen: 5, matched: 0, example: 'u' },
    ...fields,
  })

  it('is named from the first page on, those with the most pages first', () => {
    const rows = [
      row({ seen: 1 }),
      row({ part: 'rule', name: '', selector: 'a', seen: 9 }),
      row({ part: 'route', name: '', selector: '' }),
    ]
    expect(neverMatched(rows).map(({ part, seen }) => [part, seen])).toEqual([
      ['rule', 9],
      ['field', 1],
    ])
  })

  it('is not a field that another selector fills, nor a rule that the spider no longer has', () => {
    expect(neverMatched([row({}), row({ selector: '.b', matched: 1 })])).toEqual([])
    const old = row({ part: 'rule', of: 'listing', name: '', selector: 'article a' })
    const kept = row({ part: 'rule', of: 'listing', name: '', selector: '.next a' })
    expect(neverMatched([old, kept])).toHaveLength(2)
    expect(neverMatched([old, kept], [listing, book]).map(({ selector }) => selector)).toEqual(['.next a'])
    expect(neverMatched([row({}), row({ selector: '.prize_color' })], [listing, book])).toMatchObject([
      { selector: '.prize_color' },
    ])
  })

  it.each([
    [{ seen: 1 }, 'book.price (`.a`) is filled on 0 of 1 record'],
    [{ seen: 2 }, 'book.price (`.a`) is filled on 0 of 2 records'],
    [{ selector: '' }, 'book.price is filled on 0 of 5 records'],
    [{ part: 'rule', of: 'list', name: '', seen: 1 }, 'route list: `.a` matched on 0 of 1 page'],
    [{ part: 'rule', of: 'list', name: '', seen: 12 }, 'route list: `.a` matched on 0 of 12 pages'],
  ] as const)('reads well: %j', (fields, text) => {
    expect(neverMatched([row(fields)]).map((one) => neverText(one))).toEqual([text])
  })

  it('raises an alert unless the field drifts, which has one already', () => {
    const never = neverMatched([row({}), row({ part: 'rule', of: 'list', name: '' })])
    expect(
      neverMatchedAlerts('s', never, []).map(({ change, fields }) => [change, fields.field ?? fields.route]),
    ).toEqual([
      ['never', 'price'],
      ['never', 'list'],
    ])
    expect(neverMatchedAlerts('s', never, [{ kind: 'book', field: 'price' }])).toHaveLength(1)
  })
})
