import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { KeptPage, KeptPageQuery } from '../../src/store/kept-pages.js'
import { memoryRecordStore } from '../../src/store/memory/memory-record-store.js'
import type { FetchRow, RecordStore } from '../../src/store/record-store.js'
import { batch, fetchRow, record } from './record-store-contract.js'

const PAGE = `sha256:${'a'.repeat(64)}`
const HEADERS = { 'content-type': 'text/html; charset=utf-8', 'x-odd': 'a"b' }

/** A fetch of link `n` that kept its page. */
function keptRow(n: number, fields: Partial<FetchRow> = {}): FetchRow {
  const fp = n.toString(16).padStart(16, 'f')
  return fetchRow({ fp, url: `https://books.example/${n}`, page: PAGE, headers: HEADERS, ...fields })
}

async function keptIn(store: RecordStore, query: Partial<KeptPageQuery>, limit = 3): Promise<KeptPage[]> {
  const found: KeptPage[] = []
  for (let after: string | null = null; ; ) {
    const { pages, next } = await store.pages.part({ spider: 'books', newestOnly: true, ...query }, after, limit)
    expect(pages.length).toBeLessThanOrEqual(limit)
    found.push(...pages)
    if (next === null) return found
    after = next
  }
}

/** What every record store must do with pages that are to be read again. `open` gives an empty store. */
export function keptPagesContract(name: string, open: () => Promise<RecordStore>): void {
  describe(`${name}: kept pages contract`, () => {
    let store: RecordStore
    beforeEach(async () => {
      store = await open()
    })
    afterEach(() => store.close())

    const write = (...fetches: FetchRow[]) => store.records.write(batch({ fetches }))
    const urls = async (query: Partial<KeptPageQuery>, limit?: number) =>
      (await keptIn(store, query, limit)).map(({ url }) => url.slice(url.lastIndexOf('/') + 1)).sort()

    it('gives all that is needed to read a page again, and only fetches that kept theirs', async () => {
      expect(await keptIn(store, {})).toEqual([])
      const url = 'https://books.example/2'
      const link = {
        url,
        fp: keptRow(2).fp,
        host: 'books.example',
        route: 'book',
        depth: 3,
        priority: 7,
        data: { a: [1] },
      }
      const redirected = keptRow(2, {
        url: 'https://books.example/two',
        link,
        epoch: '9007199254740993',
        error: 'handler_error',
      })
      await write(keptRow(1), redirected, keptRow(3, { page: null, headers: null }), keptRow(4, { spider: 'films' }))
      const found = await keptIn(store, {})
      expect(found.sort((a, b) => (a.fp < b.fp ? -1 : 1))).toEqual([keptRow(1), redirected])
      expect(await store.pages.count({ spider: 'books', newestOnly: true })).toBe(2)
      expect(await store.pages.count({ spider: 'nobody', newestOnly: true })).toBe(0)
    })

    it('gives the newest page of a link, by the lease that read it, or all of them', async () => {
      await write(
        keptRow(1, { epoch: '99', at: 5000, attempt: 1 }),
        // A clock that is ahead does not make its page newer.
        keptRow(1, { epoch: '100', at: 4000, attempt: 2 }),
        keptRow(2, { gen: 2, epoch: '1', crawl: 'crawl-2', at: 7000 }),
        keptRow(2, { gen: 1, epoch: '500', at: 6000 }),
        // Its page was not kept: the older one is still the newest there is.
        keptRow(2, { gen: 3, epoch: '1', page: null, headers: null, at: 8000 }),
        // Another spider's page of the same link.
        keptRow(2, { gen: 9, epoch: '1', spider: 'films', at: 8000 }),
      )
      const newest = await keptIn(store, {})
      expect(newest.map(({ url, gen, epoch }) => [url.at(-1), gen, epoch]).sort()).toEqual([
        ['1', 1, '100'],
        ['2', 2, '1'],
      ])
      expect(await urls({ newestOnly: false }, 1)).toEqual(['1', '1', '2', '2'])
      expect(await store.pages.count({ spider: 'books', newestOnly: true })).toBe(2)
      expect(await store.pages.count({ spider: 'books', newestOnly: false })).toBe(4)
    })

    it('chooses the newest of the crawl and before the time, then leaves out by route and since', async () => {
      await write(
        keptRow(1, { epoch: '1', at: 1000, crawl: 'crawl-1', route: 'book' }),
        keptRow(1, { epoch: '2', at: 2000, crawl: 'crawl-2', route: 'film' }),
        keptRow(2, { epoch: '3', at: 3000, crawl: 'crawl-1', route: 'book' }),
      )
      const epochs = async (query: Partial<KeptPageQuery>) =>
        (await keptIn(store, query)).map(({ epoch }) => epoch).sort()
      expect(await epochs({})).toEqual(['2', '3'])
      expect(await epochs({ crawl: 'crawl-1' })).toEqual(['1', '3'])
      expect(await epochs({ crawl: 'crawl-9' })).toEqual([])
      expect(await epochs({ route: 'book' })).toEqual(['3'])
      expect(await epochs({ before: 2000 })).toEqual(['1'])
      expect(await epochs({ since: 2000 })).toEqual(['2', '3'])
      expect(await epochs({ since: 2001 })).toEqual(['3'])
      expect(await epochs({ since: 1000, before: 3000, route: 'film' })).toEqual(['2'])
    })

    it('agrees with the model, over many pages and parts', async () => {
      const model = memoryRecordStore()
      const rows = fc.array(
        fc.record({
          n: fc.integer({ min: 0, max: 30 }),
          gen: fc.integer({ min: 1, max: 2 }),
          epoch: fc.integer({ min: 1, max: 40 }),
          at: fc.integer({ min: 1, max: 50 }),
          crawl: fc.constantFrom('crawl-1', 'crawl-2'),
          route: fc.constantFrom('book', 'film'),
          kept: fc.boolean(),
        }),
        { minLength: 200, maxLength: 200 },
      )
      const [drawn = []] = fc.sample(rows, { numRuns: 1, seed: 4 })
      const fetches = drawn.map(({ n, kept, epoch, ...row }, index) =>
        keptRow(n, { ...row, epoch: String(epoch), ms: index, ...(kept ? {} : { page: null, headers: null }) }),
      )
      const others = Array.from({ length: 4200 }, (_, n) => fetchRow({ spider: 'films', ms: n }))
      for (let from = 0; from < fetches.length; from += 20) {
        // Half of them are then in an index that is filled in runs, and half are not.
        if (from === 100) await write(...others)
        for (const to of [model, store]) await to.records.write(batch({ fetches: fetches.slice(from, from + 20) }))
      }
      const byMs = (pages: KeptPage[]) => pages.sort((a, b) => a.ms - b.ms)
      for (const crawl of [{}, { crawl: 'crawl-1' }]) {
        for (const before of [{}, { before: 25 }]) {
          for (const more of [{}, { route: 'film', since: 9 }, { newestOnly: false }]) {
            const query = { ...crawl, ...before, ...more }
            const expected = byMs(await keptIn(model, query))
            expect(byMs(await keptIn(store, query, 7))).toEqual(expected)
            expect(await store.pages.count({ spider: 'books', newestOnly: true, ...query })).toBe(expected.length)
          }
        }
      }
    })

    it('scans thousands of fetches with a few pages among them', async () => {
      const many = Array.from({ length: 9000 }, (_, n) => keptRow(n, n % 90 === 0 ? {} : { page: null, headers: null }))
      for (let from = 0; from < many.length; from += 3000) await write(...many.slice(from, from + 3000))
      // Of the last link there are pages in the index of fingerprints and after it.
      await write(keptRow(8910, { epoch: '2000' }))
      const found = await keptIn(store, {}, 40)
      expect(found).toHaveLength(100)
      expect(found.filter(({ epoch }) => epoch === '2000')).toHaveLength(1)
      expect(await store.pages.count({ spider: 'books', newestOnly: true })).toBe(100)
    })

    it('finds records by their keys, with the lease that wrote them last', async () => {
      await store.records.write(
        batch({ records: [record({ key: 'a' }), record({ key: 'b', epoch: '9007199254740993', identity: 'i-b' })] }),
      )
      await store.records.write(batch({ records: [record({ key: 'a', epoch: '1001', scrapedAt: 11_000 })] }))
      const key = ({ spider, site, kind, key }: ReturnType<typeof record>) => ({ spider, site, kind, key })
      const [b, none, a] = await store.lookup.byKeys([
        key(record({ key: 'b' })),
        key(record({ key: 'a', site: 'other.example' })),
        key(record({ key: 'a' })),
      ])
      expect(none).toBeNull()
      expect(b).toMatchObject({
        key: 'b',
        data: record({ key: 'b' }).data,
        gen: 1,
        epoch: '9007199254740993',
        identity: 'i-b',
      })
      expect(a).toMatchObject({ key: 'a', epoch: '1001', scrapedAt: 11_000, firstSeenAt: 10_000, updatedAt: 10_000 })
      expect(await store.lookup.byKeys([])).toEqual([])
    })

    it('finds the records that a reading of a page wrote or confirmed last, and that are not given now', async () => {
      const url = 'https://books.example/list'
      const of = (epoch: string, ...keys: string[]) => keys.map((key) => record({ key, url, epoch }))
      await store.records.write(batch({ records: [...of('1000', 'a', 'b', 'c'), record({ key: 'elsewhere' })] }))
      await store.records.write(batch({ records: of('1001', 'a', 'b') }))
      const keys = async (...epochs: string[]) => {
        const readings = epochs.map((epoch) => ({ url, gen: 1, epoch }))
        return (await store.lookup.leftOver('books', readings, [])).map(({ key, epoch }) => `${key} ${epoch}`).sort()
      }
      expect(await keys('1000')).toEqual(['c 1000'])
      expect(await keys('1001', '7')).toEqual(['a 1001', 'b 1001'])
      const reading = { url, gen: 1, epoch: '1001' }
      expect(await store.lookup.leftOver('films', [reading], [])).toEqual([])
      expect(await store.lookup.leftOver('books', [], [])).toEqual([])
      const { site, kind } = record()
      const given = [
        { site, kind, key: 'a' },
        { site, kind: 'film', key: 'b' },
      ]
      expect((await store.lookup.leftOver('books', [reading], given)).map(({ key }) => key)).toEqual(['b'])
      // Beyond the first run of an index that is filled in runs.
      const more = Array.from({ length: 5000 }, (_, n) => record({ key: `more-${n}` }))
      await store.records.write(batch({ records: more }))
      await store.records.write(batch({ records: of('1002', 'd') }))
      expect(await keys('1000', '1002')).toEqual(['c 1000', 'd 1002'])
    })
  })
}
