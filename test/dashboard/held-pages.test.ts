import { describe, expect, it } from 'vitest'
import { type Held, pagesInSight, unlike, withPage } from '../../dashboard/src/views/held-pages.js'

const page = (after: string | null, items: readonly string[], next: string | null): Held<string> => ({
  after,
  items,
  next,
})
const two = [page(null, ['a', 'b'], 'b'), page('b', ['c', 'd'], 'd')]

describe('pages of a list that moves', () => {
  it('puts a new page behind the others, and a page that was asked for again in its place', () => {
    expect(withPage(two, page('d', ['e'], null))).toEqual([...two, page('d', ['e'], null)])
    expect(withPage(two, page(null, ['a', 'A'], 'A'))).toEqual([page(null, ['a', 'A'], 'b'), two[1]])
    expect(withPage(two, page('b', ['c'], null))).toEqual([two[0], page('b', ['c'], null)])
  })

  it('asks again for those in sight alone', () => {
    expect(pagesInSight(two, { from: 0, to: 1 })).toEqual([null])
    expect(pagesInSight(two, { from: 3, to: 4 })).toEqual(['b'])
    expect(pagesInSight(two, { from: 0, to: 4 })).toEqual([null, 'b'])
    expect(pagesInSight([], { from: 0, to: 10 })).toEqual([])
  })

  it('shows a row that moved from one page to another once', () => {
    expect(unlike([page(null, ['a', 'b'], 'b'), page('b', ['b', 'c'], null)], (item) => item)).toEqual(['a', 'b', 'c'])
  })
})
