import { expect, it } from 'vitest'
import type { FetchResponse } from '../../src/fetch/fetcher.js'
import { fetchRow } from '../../src/worker/fetch-row.js'
import { PAGE, visitParts } from './visit-parts.js'

const response: FetchResponse = {
  ...{ url: PAGE, status: 200, headers: {}, cookies: [], body: Buffer.from('page'), wireBytes: 3, ms: 5 },
}

it('says what was fetched, by whom, through what and how it went', () => {
  const { parts, leased, clock } = visitParts()
  const current = { ...leased({ depth: 2 }, { attempt: 3 }), proxy: 'dc/p1' }
  expect(fetchRow(current, parts, response)).toEqual({
    ...{
      spider: 'visits',
      crawl: 'c',
      gen: 1,
      epoch: '1',
      fp: PAGE,
      url: PAGE,
      host: 'site.test',
      route: 'page',
      depth: 2,
    },
    ...{ link: null, status: 200, bytes: 3, ms: 5, attempt: 3, worker: 'w', error: null, page: null, headers: null },
    ...{ pool: 'dc/p1', at: clock.now() },
  })
})

it('has no status where there was no answer', () => {
  const { parts, leased } = visitParts()
  expect(fetchRow(leased(), parts, null)).toMatchObject({ url: PAGE, status: 0, bytes: 0, ms: 0, link: null })
})

it.each([
  ['it was redirected', {}, 'https://site.test/moved'],
  ['it has a request of its own', { request: { method: 'POST' } }, PAGE],
  ['it carries data', { data: { page: 2 } }, PAGE],
])('keeps the link where the row alone could not restore it: %s', (_what, own, url) => {
  const { parts, leased } = visitParts()
  const current = leased(own)
  expect(fetchRow(current, parts, { ...response, url })).toMatchObject({ url, link: current.lease.link })
})
