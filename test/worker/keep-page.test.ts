import { expect, it } from 'vitest'
import { ShoalError } from '../../src/errors.js'
import type { FetchResponse } from '../../src/fetch/fetcher.js'
import type { BlobStore } from '../../src/store/blob-store.js'
import { type FetchRow, SCREENSHOT_HEADER } from '../../src/store/rows.js'
import { fetchRow } from '../../src/worker/fetch-row.js'
import { keepPage, withKeptPage, withScreenshot } from '../../src/worker/keep-page.js'
import type { Produced } from '../../src/worker/produced.js'
import { unchangedPage } from '../../src/worker/unchanged-page.js'
import { PAGE, visitParts } from './visit-parts.js'

const PAGES = {} as BlobStore
const JPEG = Uint8Array.of(1, 2, 3)
const response: FetchResponse = {
  ...{ url: PAGE, status: 200, cookies: [], body: Buffer.from('page'), wireBytes: 3, ms: 5 },
  headers: { 'content-type': 'text/html', [SCREENSHOT_HEADER]: 'forged' },
}
const LAST = {
  ...{ fp: PAGE, at: 0, url: PAGE, etag: null, lastModified: null, bodyHash: '', readAs: '', page: null },
  memo: new Uint8Array(),
}

function produced() {
  const { parts, leased, ...rest } = visitParts({ parts: { pages: PAGES, screenshots: PAGES } })
  const current = leased()
  const fetching = { row: fetchRow(current, parts, response), kept: null, screenshot: null }
  const known = { last: LAST, memo: { links: [], records: [], headers: null } }
  const page: Produced = unchangedPage(known, 'sameBody', response, fetching, current, parts)
  return { parts, current, fetching, page, ...rest }
}

it('keeps the body with its type, and the headers without a forged screenshot', async () => {
  const { parts, fetching, kept } = produced()
  const keeping = keepPage(fetching, response, parts)
  expect(await keeping.kept).toBe('sha256:1')
  expect(kept).toEqual([{ bytes: response.body, type: 'text/html' }])
  expect(keeping.row.headers).toEqual({ 'content-type': 'text/html' })
})

it('keeps nothing for a spider that does not ask for it', () => {
  const { parts, fetching, kept } = produced()
  expect(keepPage(fetching, response, { ...parts, pages: null })).toBe(fetching)
  expect(kept).toEqual([])
})

it('names the kept page in the fetch row and in the visit', async () => {
  const { parts, current, page } = produced()
  const { batch, outcome } = await withKeptPage(page, Promise.resolve('sha256:9'), current, parts)
  expect(batch?.fetches.map((row) => row.page)).toEqual(['sha256:9'])
  expect(batch?.visits?.map((row) => row.page)).toEqual(['sha256:9'])
  expect(outcome).toBe(page.outcome)
})

it('writes nothing and hands the link back, with no attempt used, when the page cannot be kept', async () => {
  const { parts, current, page } = produced()
  const full = Promise.reject(new ShoalError('disk_full', 'the disk is full'))
  expect(await withKeptPage(page, full, current, parts)).toMatchObject({
    batch: null,
    outcome: { kind: 'back', afterMs: 1_000 },
    accepted: { links: [] },
  })
})

it.each<[string, Partial<FetchRow>, Uint8Array | null, string | undefined]>([
  ['names the screenshot among other headers', { headers: { a: '1' } }, JPEG, 'sha256:1'],
  ['names the screenshot of a page without kept headers', {}, JPEG, 'sha256:1'],
  ['leaves the row alone where there is none', {}, null, undefined],
])('%s', async (_what, own, screenshot, ref) => {
  const { parts, fetching, kept } = produced()
  const row = await withScreenshot({ ...fetching.row, ...own }, screenshot, parts)
  expect(row.headers?.[SCREENSHOT_HEADER]).toBe(ref)
  expect(row.headers?.a).toBe(own.headers?.a)
  expect(kept.map(({ type }) => type)).toEqual(ref === undefined ? [] : ['image/jpeg'])
})

it('does without a screenshot that takes longer than five seconds to keep', async () => {
  const { parts, fetching, ended, clock } = produced()
  const began = clock.mono()
  const slow = { ...parts, outbox: { ...parts.outbox, keep: () => new Promise<string>(() => {}) } }
  expect(await ended(withScreenshot(fetching.row, JPEG, slow))).toBe(fetching.row)
  expect(clock.mono() - began).toBe(5_000)
})

it('does without a screenshot that cannot be kept', async () => {
  const { parts, fetching } = produced()
  const full = { ...parts, outbox: { ...parts.outbox, keep: () => Promise.reject(new Error('full')) } }
  expect(await withScreenshot(fetching.row, JPEG, full)).toBe(fetching.row)
})
