import { expect, it } from 'vitest'
import type { FetchResponse } from '../../src/fetch/fetcher.js'
import type { BlobStore } from '../../src/store/blob-store.js'
import { fetchRow } from '../../src/worker/fetch-row.js'
import { packMemo } from '../../src/worker/page-memo.js'
import { readAs } from '../../src/worker/revisit.js'
import { isSameBody, knownBy, unchangedPage } from '../../src/worker/unchanged-page.js'
import { PAGE, visitParts } from './visit-parts.js'

const response: FetchResponse = {
  ...{ url: PAGE, status: 304, headers: {}, cookies: [], body: Buffer.alloc(0), wireBytes: 7, ms: 5 },
}

/** A page that was visited before, by the same spider. */
function visited(stored: readonly string[] = []) {
  const pages = {
    has: async (ref: string) => stored.includes(ref),
  } satisfies Partial<BlobStore> as unknown as BlobStore
  const { parts, spider, leased, ...rest } = visitParts({ parts: { pages } })
  const current = leased()
  const memo = packMemo(
    { records: [{ kind: 'item', key: 'k', data: {} }], rejected: [], links: [{ href: '/next' }] },
    10,
    null,
  )
  const last = {
    ...{ fp: PAGE, at: 1, url: PAGE, etag: '"e"', lastModified: null, bodyHash: 'same', page: 'sha256:1' },
    readAs: readAs(spider, current.lease.link),
    memo: memo ?? new Uint8Array(),
  }
  return { parts, current, last, ...rest }
}

it('relies on the last visit while its raw page is stored', async () => {
  const { parts, current, last } = visited(['sha256:1'])
  expect(await knownBy(last, current, parts)).toMatchObject({
    last: { etag: '"e"' },
    memo: { links: [{ href: '/next' }] },
  })
})

it('asks for the whole page where the raw one was deleted: a 304 would leave none', async () => {
  const { parts, current, last } = visited([])
  expect(await knownBy(last, current, parts)).toMatchObject({ last: { etag: null, lastModified: null } })
  // Where none are kept, none is missing.
  expect(await knownBy(last, current, { ...parts, pages: null })).toMatchObject({ last: { etag: '"e"' } })
})

it('knows nothing of a page that other code has read', async () => {
  const { parts, current, last } = visited(['sha256:1'])
  expect(await knownBy({ ...last, readAs: 'other' }, current, parts)).toBeNull()
})

it.each([
  ['same', PAGE, true],
  ['other', PAGE, false],
  ['same', 'https://site.test/moved', false],
])('a body %s at %s counts as unchanged: %s', async (hash, url, expected) => {
  const { parts, current, last } = visited(['sha256:1'])
  const known = await knownBy(last, current, parts)
  expect(known && isSameBody(known, hash, { ...response, url })).toBe(expected)
})

it('follows its links and confirms its records all the same', async () => {
  const { parts, current, last } = visited(['sha256:1'])
  const known = await knownBy(last, current, parts)
  if (known === null) throw new Error('it is known')
  const fetching = { row: fetchRow(current, parts, response), kept: null, screenshot: null }
  const { batch, outcome, found } = unchangedPage(known, 'notModified', response, fetching, current, parts)
  expect(outcome).toMatchObject({ kind: 'done', links: [{ url: 'https://site.test/next', depth: 1 }], bytes: 7 })
  expect(batch).toMatchObject({ records: [], confirmed: [{ kind: 'item', key: 'k' }], fetches: [{ page: 'sha256:1' }] })
  expect(found).toEqual({ links: [{ href: '/next' }], base: PAGE })
})
