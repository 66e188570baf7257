import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RecordRow, RecordStore } from '../../src/store/record-store.js'
import { batch, record } from './record-store-contract.js'

/** What every store does with versions that were replaced. `open` gives an empty store. */
export function historyContract(name: string, open: () => Promise<RecordStore>): void {
  describe(`${name}: record history contract`, () => {
    let store: RecordStore
    beforeEach(async () => {
      store = await open()
    })
    afterEach(() => store.close())

    const write = (fields: Partial<RecordRow>) =>
      store.records.write(batch({ records: [record({ history: true, ...fields })] }))
    const history = async (query: { spider?: string; site?: string; kind?: string; key?: string } = {}) => {
      const found = []
      for await (const version of store.history.versions({ key: 'sku-1', ...query })) found.push(version)
      return found
    }

    it('keeps every version, newest first, and what the record is now', async () => {
      const url = 'https://books.example/moved'
      await write({ data: { price: 1 }, scrapedAt: 10_000 })
      await write({ data: { price: 2 }, scrapedAt: 20_000, epoch: '1001', crawl: 'crawl-2', url })
      await write({ data: { price: 3 }, scrapedAt: 30_000, epoch: '1002', crawl: 'crawl-3', url })
      const about = { spider: 'books', site: 'books.example', kind: 'book', key: 'sku-1' }
      expect(await history()).toEqual([
        { ...about, url, data: { price: 3 }, crawl: 'crawl-3', from: 30_000, until: null },
        { ...about, url, data: { price: 2 }, crawl: 'crawl-2', from: 20_000, until: 30_000 },
        { ...about, url: record().url, data: { price: 1 }, crawl: 'crawl-1', from: 10_000, until: 20_000 },
      ])
    })

    it('keeps none for what is confirmed, skipped, fenced or repeated', async () => {
      await write({ data: 1 })
      await write({ data: 1, epoch: '1001' })
      await write({ data: 2, epoch: '1002', freshMs: 5_000 })
      await write({ data: 3, epoch: '999' })
      expect(await history()).toHaveLength(1)
      await write({ data: 2, epoch: '1003', scrapedAt: 20_000 })
      await write({ data: 2, epoch: '1003', scrapedAt: 20_000 })
      expect((await history()).map(({ data }) => data)).toEqual([2, 1])
    })

    it('keeps none of what one page says twice', async () => {
      await write({ data: 1 })
      const twice = [
        record({ history: true, data: 2, epoch: '1001' }),
        record({ history: true, data: 3, epoch: '1001' }),
      ]
      for (let repeat = 0; repeat < 2; repeat++) await store.records.write(batch({ records: twice }))
      expect((await history()).map(({ data }) => data)).toEqual([3, 1])
    })

    it('keeps what a reparse replaces, from when it was made', async () => {
      await write({ data: 'as it was read', scrapedAt: 10_000 })
      await write({ data: 'as it is read now', scrapedAt: 10_000, reparsedAt: 50_000 })
      expect(await history()).toMatchObject([
        { data: 'as it is read now', from: 50_000, until: null },
        { data: 'as it was read', from: 10_000, until: 50_000 },
      ])
    })

    it('keeps none unless asked to', async () => {
      await write({ data: 1, history: false })
      await write({ data: 2, history: false, epoch: '1001', scrapedAt: 20_000 })
      expect(await history()).toMatchObject([{ data: 2, until: null }])
      await write({ data: 3, epoch: '1002', scrapedAt: 30_000 })
      expect((await history()).map(({ data }) => data)).toEqual([3, 2])
    })

    it('tells records with the same key apart', async () => {
      for (const site of ['a.example', 'b.example']) {
        await write({ site, data: 1 })
        await write({ site, data: 2, epoch: '1001', scrapedAt: 20_000 })
      }
      await write({ spider: 'other', kind: 'page' })
      const sites = (await history({ spider: 'books' })).map(({ site, data }) => [site, data])
      expect(sites).toEqual([
        ['a.example', 2],
        ['a.example', 1],
        ['b.example', 2],
        ['b.example', 1],
      ])
      expect(await history({ site: 'b.example', kind: 'book' })).toHaveLength(2)
      expect(await history({ kind: 'page' })).toHaveLength(1)
      expect(await history({ key: 'nothing' })).toEqual([])
    })

    it('reads more versions than fit a page, and finds a long key', async () => {
      const key = 'k'.repeat(600)
      for (let i = 0; i <= 250; i++) await write({ key, data: i, epoch: String(1000 + i), scrapedAt: 10_000 + i })
      expect((await history({ key })).map(({ data }) => data)).toEqual(Array.from({ length: 251 }, (_, i) => 250 - i))
    })
  })
}
