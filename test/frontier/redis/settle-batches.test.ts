import { describe, expect, it } from 'vitest'
import type { Outcome } from '../../../src/frontier/frontier.js'
import {
  LEASES_AT_ONCE,
  LINKS_AT_ONCE,
  outcomeText,
  settleBatches,
  slices,
} from '../../../src/frontier/redis/settle-batches.js'
import { DONE, dead, done, FAILURE, linkTo, retry } from '../../contract/frontier-fixtures.js'

const settlement = (outcome: Outcome) => ({ lease: { crawl: 'c1', token: 't' }, outcome })
const page = (links: number) => done(Array.from({ length: links }, (_, n) => linkTo(`a.test/${n}`)))
const sizes = (outcomes: readonly Outcome[]) => [...settleBatches(outcomes.map(settlement))].map(({ length }) => length)

describe('calls of bounded size', () => {
  it('take so many leases, and so many links', () => {
    expect(sizes([])).toEqual([])
    expect(sizes(Array(LEASES_AT_ONCE + 1).fill(DONE))).toEqual([LEASES_AT_ONCE, 1])
    expect(sizes([page(LINKS_AT_ONCE), page(LINKS_AT_ONCE), page(1)])).toEqual([2, 1])
    expect(sizes([page(1), page(9 * LINKS_AT_ONCE), page(1)])).toEqual([1, 1, 1])
  })

  it('are at least one', () => {
    expect([...slices([1, 2, 3], 2)]).toEqual([[1, 2], [3]])
    expect([...slices([], 2)]).toEqual([[]])
  })
})

it('a failure that ends the link comes with its code', () => {
  const json = JSON.stringify(FAILURE)
  expect([DONE, retry(1), dead()].map(outcomeText)).toEqual(['', json, `${FAILURE.code}\n${json}`])
})
