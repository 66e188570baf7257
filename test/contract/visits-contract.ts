import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ConfirmedRecord, RecordStore, StoredRecord } from '../../src/store/record-store.js'
import type { LastVisit, VisitRow } from '../../src/store/visits.js'
import { batch, fetchRow, record } from './record-store-contract.js'

const FP = '00000000000000aa'

export function visitRow(fields: Partial<VisitRow> = {}): VisitRow {
  return {
    spider: 'books',
    fp: FP,
    crawl: 'crawl-1',
    gen: 1,
    epoch: '1000',
    at: 10_000,
    url: 'https://books.example/1',
    etag: '"v1"',
    lastModified: 'Sun, 06 Nov 1994 08:49:37 GMT',
    bodyHash: '0f'.repeat(16),
    readAs: 'a0'.repeat(16),
    page: 'sha256-1',
    memo: new Uint8Array([0, 1, 254, 255]),
    result: 'new',
    ...fields,
  }
}

function lastVisit(fields: Partial<VisitRow> = {}): LastVisit {
  const { fp, at, url, etag, lastModified, bodyHash, readAs, page, memo } = visitRow(fields)
  return { fp, at, url, etag, lastModified, bodyHash, readAs, page, memo }
}

function confirmation(fields: Partial<ConfirmedRecord> = {}): ConfirmedRecord {
  const { spider, site, kind, key } = record()
  return { spider, site, kind, key, crawl: 'crawl-2', gen: 1, epoch: '2000', scrapedAt: 20_000, ...fields }
}

async function plain(visits: Promise<LastVisit[]>): Promise<LastVisit[]> {
  return (await visits).map((visit) => ({ ...visit, memo: new Uint8Array(visit.memo) }))
}

/** What every store does with visits of pages. `open` gives an empty store. */
export function visitsContract(name: string, open: () => Promise<RecordStore>): void {
  describe(`${name}: visits contract`, () => {
    let store: RecordStore
    beforeEach(async () => {
      store = await open()
    })
    afterEach(() => store.close())

    const last = (...fps: string[]) => plain(store.visits.last('books', fps))
    const records = async () => {
      const found: StoredRecord[] = []
      for await (const one of store.records.scan({})) found.push(one)
      return found
    }

    it('gives back the last visit of each link of a spider, as it was', async () => {
      const other = visitRow({
        fp: 'ffffffffffffffff',
        etag: null,
        lastModified: null,
        page: null,
        memo: new Uint8Array(),
      })
      await store.records.write(batch({ fetches: [fetchRow()], visits: [visitRow(), other] }))
      expect(await last(FP, '0000000000000001')).toEqual([lastVisit()])
      expect(await last('ffffffffffffffff')).toEqual([lastVisit(other)])
      expect(await store.visits.last('others', [FP])).toEqual([])
      expect(await last()).toEqual([])
    })

    it('keeps the visit of the newest lease, in one batch and in several', async () => {
      const newer = visitRow({ gen: 2, epoch: '10', etag: 'W/"v2"', result: 'changed' })
      await store.records.write(batch({ visits: [newer, visitRow({ gen: 1, epoch: '9223372036854775806' })] }))
      await store.records.write(batch({ visits: [visitRow({ gen: 2, epoch: '9', etag: '"old"' })] }))
      expect(await last(FP)).toMatchObject([{ etag: 'W/"v2"' }])
    })

    it('counts each lease once, by crawl and result', async () => {
      expect(await store.visits.counts('crawl-1')).toBeNull()
      const first = batch({ visits: [visitRow(), visitRow({ fp: '00000000000000bb' })] })
      await store.records.write(first)
      await store.records.write(first)
      await store.records.write(
        batch({
          visits: [
            visitRow({ crawl: 'crawl-2', epoch: '2000', result: 'notModified' }),
            visitRow({ crawl: 'crawl-2', epoch: '2001', fp: '00000000000000bb', result: 'sameBody' }),
            visitRow({ crawl: 'crawl-2', epoch: '2002', fp: '00000000000000cc', result: 'changed' }),
          ],
        }),
      )
      // A stale lease is not counted either.
      await store.records.write(batch({ visits: [visitRow({ crawl: 'crawl-1', epoch: '1500', result: 'changed' })] }))
      expect(await store.visits.counts('crawl-1')).toEqual({ new: 2, changed: 0, notModified: 0, sameBody: 0 })
      expect(await store.visits.counts('crawl-2')).toEqual({ new: 0, changed: 1, notModified: 1, sameBody: 1 })
      await store.crawls.remove('crawl-2')
      expect(await store.visits.counts('crawl-2')).toBeNull()
      expect(await last(FP)).toHaveLength(1)
    })

    it('confirms records: seen now, by this crawl, and otherwise as they were', async () => {
      const long = 'k'.repeat(600)
      await store.records.write(batch({ records: [record(), record({ key: long })] }))
      const [before] = await records()
      const cursor = await store.changes.end()
      const confirming = batch({
        confirmed: [confirmation(), confirmation({ key: long }), confirmation({ key: 'gone' })],
      })
      await store.records.write(confirming)
      await store.records.write(confirming)
      expect((await records())[0]).toEqual({ ...before, crawl: 'crawl-2', scrapedAt: 20_000 })
      expect(await records()).toHaveLength(2)
      expect(await store.records.counts({ crawl: 'crawl-2' })).toMatchObject([{ records: 2, unchanged: 2 }])
      expect(await store.records.counts({ crawl: 'crawl-1' })).toEqual([])
      expect((await store.changes.read({ after: cursor, limit: 10 })).records).toEqual([])
    })

    it('fences: an older lease confirms nothing, and what it confirmed is safe from older writes', async () => {
      await store.records.write(batch({ records: [record({ epoch: '3000', crawl: 'crawl-3' })] }))
      await store.records.write(batch({ confirmed: [confirmation()] }))
      expect(await records()).toMatchObject([{ crawl: 'crawl-3', scrapedAt: 10_000 }])
      await store.records.write(batch({ confirmed: [confirmation({ epoch: '4000' })] }))
      expect(await store.records.write(batch({ records: [record({ epoch: '3500', data: 'late' })] }))).toEqual([
        'fenced',
      ])
    })

    it('writes a record that another page of the batch only confirms', async () => {
      await store.records.write(batch({ records: [record()] }))
      const changed = record({ epoch: '1999', crawl: 'crawl-2', data: { title: 'new' }, scrapedAt: 19_000 })
      expect(await store.records.write(batch({ records: [changed], confirmed: [confirmation()] }))).toEqual(['written'])
      expect(await records()).toMatchObject([{ data: { title: 'new' }, scrapedAt: 19_000 }])
      expect(await store.records.counts({ crawl: 'crawl-2' })).toMatchObject([{ records: 1, unchanged: 0 }])
    })

    it('takes a page that was not modified for one that went well', async () => {
      await store.records.write(
        batch({ fetches: [fetchRow({ status: 304 }), fetchRow({ status: 301, fp: '0000000000000001' })] }),
      )
      const well: string[] = []
      for await (const { fp } of store.crawls.knownPages('crawl-1', true)) well.push(fp)
      expect(well).toEqual([FP])
    })
  })
}
