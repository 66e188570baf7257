import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { RecordRow, RecordStore } from '../../src/store/record-store.js'
import { batch, record } from './record-store-contract.js'

/** What every store does with identities. `open` gives an empty store. */
export function entitiesContract(name: string, open: () => Promise<RecordStore>): void {
  describe(`${name}: entities contract`, () => {
    let store: RecordStore
    beforeEach(async () => {
      store = await open()
    })
    afterEach(() => store.close())

    const write = (...rows: Partial<RecordRow>[]) => store.records.write(batch({ records: rows.map(record) }))
    const entities = async (query: { spider?: string; kind?: string; identity?: string | null } = {}) => {
      const found = []
      for await (const one of store.entities.scan({ spider: 'books', kind: 'book', ...query })) found.push(one)
      return found
    }
    const names = async (query = {}) => (await entities(query)).map(({ key, identity }) => `${key} ${identity}`)

    it('gives records of one identity one after the other, and those without any when asked', async () => {
      await write(
        { key: 'a', identity: 'y' },
        { key: 'b', identity: 'x' },
        { key: 'c', identity: null },
        { key: 'd', identity: 'y', site: 'b.example' },
        { key: 'e', identity: 'x', kind: 'shelf' },
        { key: 'f', identity: 'x', spider: 'other' },
      )
      const found = await names()
      expect(found.slice(1).sort()).toEqual(['a y', 'd y'])
      expect(found[0]).toBe('b x')
      expect((await names({ identity: 'y' })).sort()).toEqual(['a y', 'd y'])
      expect(await names({ identity: null })).toEqual(['c null'])
      expect(await names({ identity: 'z' })).toEqual([])
      const [first] = await entities({ identity: 'x' })
      for await (const same of store.records.scan({ key: 'b' })) expect(first).toEqual({ ...same, identity: 'x' })
    })

    it('writes a record whose identity alone has changed', async () => {
      await write({ identity: 'x' })
      expect(await write({ identity: 'x', epoch: '1001' })).toEqual(['unchanged'])
      expect(await write({ identity: 'y', epoch: '1002', scrapedAt: 20_000 })).toEqual(['written'])
      expect(await names()).toEqual(['sku-1 y'])
      expect(await write({ identity: null, epoch: '1003', scrapedAt: 30_000 })).toEqual(['written'])
      expect(await names()).toEqual([])
      expect(await write({ identity: 'z', epoch: '1002' })).toEqual(['fenced'])
    })

    it('keeps an identity that is too long under its hash, and cleans it', async () => {
      const long = 'ö'.repeat(300)
      await write({ key: 'a', identity: long }, { key: 'b', identity: `${long}!` }, { key: 'c', identity: 'x\0' })
      expect(await names({ identity: long })).toEqual([expect.stringMatching(/^a sha256:[0-9a-f]{64}$/)])
      expect(await names({ identity: 'x\0' })).toEqual(['c x\ufffd'])
    })

    it('scans thousands of records, those of other kinds between them', async () => {
      const rows = Array.from({ length: 900 }, (_, i) => ({
        key: `k${i}`,
        kind: i % 3 === 0 ? 'shelf' : 'book',
        identity: i % 5 === 0 ? null : `e${i % 7}`,
      }))
      await write(...rows)
      const found = await entities()
      const books = rows.filter(({ kind, identity }) => kind === 'book' && identity !== null)
      expect(found.map(({ key }) => key).sort()).toEqual(books.map(({ key }) => key).sort())
      expect(found.map(({ identity }) => identity)).toEqual(books.map(({ identity }) => identity).sort())
      const without = rows.filter(({ kind, identity }) => kind === 'book' && identity === null)
      expect(await entities({ identity: null })).toHaveLength(without.length)
      expect(await entities({ identity: 'e1' })).toHaveLength(books.filter(({ identity }) => identity === 'e1').length)
    })
  })
}
