import { describe, expect, it } from 'vitest'
import { type RunFacts, whyNothing } from '../../src/run/why-nothing.js'
import { describeFiltered } from '../../src/url/filter-reasons.js'

const QUIET: RunFacts = {
  ...{
    state: 'finished',
    endedBy: null,
    interrupted: false,
    resumed: false,
    pages: 0,
    pagesNow: 0,
    records: 0,
    rejected: 0,
  },
  ...{ fresh: 0, refused: 0, seeds: { added: 1, known: 0, refused: 0 }, emptySources: [], dead: [], skipped: [] },
  ...{ filtered: [], rejectedFields: [], rejectedWhy: '', routes: [], visits: null },
}
const listing = { name: 'listing', givesRecords: false, pages: 2, gave: 0 }
const book = { name: 'book', givesRecords: true, pages: 0, gave: 0 }
const refused = { code: 'connect_error', count: 1, message: 'connect ECONNREFUSED 127.0.0.1:9' }
const outOfScope = describeFiltered([{ reason: 'out_of_scope', count: 1200, example: null }])

describe('why no page was fetched', () => {
  it.each<[string, Partial<RunFacts>, string[]]>([
    ['nobody answers', { dead: [refused] }, ['1 URL failed with connect_error: connect ECONNREFUSED 127.0.0.1:9']],
    [
      'robots.txt forbids it',
      { skipped: [{ code: 'robots_disallowed', count: 2, message: 'robots.txt disallows /' }] },
      ['2 URLs skipped with robots_disallowed, for example: robots.txt disallows /'],
    ],
    [
      'a site without a sitemap',
      { seeds: { added: 0, known: 0, refused: 0 }, emptySources: ['sitemaps of a.example'] },
      ['no start URLs in the sitemaps of a.example'],
    ],
    [
      'seeds out of scope',
      { seeds: { added: 0, known: 0, refused: 3 } },
      ['3 start URLs rejected: out of scope, or not a URL'],
    ],
    ['no seeds at all', { seeds: { added: 0, known: 0, refused: 0 } }, ['there was no start URL']],
    [
      'seen before',
      { seeds: { added: 0, known: 1, refused: 0 } },
      ['1 start URL seen before: see `dedupe` in the spider, or pass --fresh'],
    ],
    [
      'nothing left',
      { resumed: true },
      ['the resumed crawl had nothing left to fetch: pass --fresh to start a new one'],
    ],
    ['no time', { endedBy: 'budget_time' }, ['the time budget was used up before the first page']],
    ['no bytes', { endedBy: 'budget_bytes' }, ['the byte budget was used up before the first page']],
    ['no room', { refused: 1 }, ['1 link rejected: the queue was full or a budget was used up']],
    ['cancelled', { state: 'cancelled' }, ['the crawl was cancelled before the first page']],
    ['Ctrl-C', { state: 'running', interrupted: true }, ['it was stopped before the first page']],
  ])('%s', (_, facts, why) => {
    expect(whyNothing({ ...QUIET, ...facts })).toEqual(why)
  })
})

describe('why there is no record', () => {
  it.each<[string, Partial<RunFacts>, string[]]>([
    [
      'routes that only follow',
      { routes: [listing] },
      ['no route produces records: listing only follows links (add `record` or a handler)'],
    ],
    ['a rule that never matches', { routes: [listing, book] }, ['no page for route book was fetched']],
    [
      'links that are all filtered',
      { routes: [listing, book], filtered: outOfScope },
      [
        'no page for route book was fetched',
        '1,200 links rejected: out of scope (scope.hosts, scope.allow, scope.deny)',
      ],
    ],
    [
      'links that all fail',
      { routes: [listing, book], dead: [{ code: 'http_error', count: 20, message: '404' }] },
      ['no page for route book was fetched', '20 URLs failed with http_error, for example: 404'],
    ],
    [
      'a budget of pages',
      { routes: [listing, book], refused: 20 },
      ['no page for route book was fetched', '20 links rejected: the queue was full or a budget was used up'],
    ],
    [
      'a handler without records',
      { routes: [listing, { ...book, pages: 1 }] },
      ['route book read 1 page, and none produced a record'],
    ],
    [
      'all rejected',
      { rejected: 12, rejectedFields: [{ kind: 'book', field: 'price', count: 12 }], rejectedWhy: 'expected number' },
      ['all 12 records were rejected: book.price × 12 (expected number)'],
    ],
    [
      'the only one rejected as a whole',
      { rejected: 1, rejectedFields: [{ kind: 'book', field: '', count: 1 }] },
      ['the only record was rejected: book × 1'],
    ],
    ['fresh ones, which have a line', { routes: [book], fresh: 3 }, []],
    [
      'unchanged pages, which have a line',
      { routes: [book], visits: { new: 0, changed: 0, notModified: 1, sameBody: 1 } },
      [],
    ],
  ])('%s', (_, facts, why) => {
    expect(whyNothing({ ...QUIET, pages: 2, pagesNow: 2, ...facts })).toEqual(why)
  })

  it('does not matter where there are records', () => {
    expect(whyNothing({ ...QUIET, pages: 2, pagesNow: 2, records: 1, rejected: 3 })).toEqual([])
    const left = whyNothing({ ...QUIET, pages: 2, pagesNow: 0, records: 1, resumed: true })
    expect(left).toEqual(['the resumed crawl had nothing left to fetch: pass --fresh to start a new one'])
  })
})
