import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SEARCH_MOST, type SearchQuery } from '../../src/store/record-search.js'
import type { RecordRow, RecordStore } from '../../src/store/record-store.js'
import { batch, record } from './record-store-contract.js'

/** What every store does with a search in its records. `open` gives an empty store. */
export function recordSearchContract(name: string, open: () => Promise<RecordStore>): void {
  describe(`${name}: record search contract`, () => {
    let store: RecordStore
    beforeEach(async () => {
      store = await open()
    })
    afterEach(() => store.close())

    const write = (rows: Partial<RecordRow>[]) => store.records.write(batch({ records: rows.map(record) }))
    /** Keys, page by page. */
    const pages = async (query: SearchQuery) => {
      const found: string[][] = []
      for (let after: string | undefined, more = true; more; ) {
        const page = await store.search.find({ ...query, ...(after === undefined ? {} : { after }) })
        found.push(page.records.map(({ key }) => key))
        more = page.next !== null
        after = page.next ?? undefined
      }
      return found
    }

    it('gives what changed last first, each once, page by page', async () => {
      expect(await store.search.find({ limit: 5 })).toEqual({ records: [], searched: 0, next: null })
      for (const key of ['a', 'b', 'c', 'd', 'e']) await write([{ key }])
      await write([{ key: 'b', data: { title: 'new' }, epoch: '2000' }])
      expect(await pages({ limit: 2 })).toEqual([['b', 'e'], ['d', 'c'], ['a']])
      const [first] = (await store.search.find({ limit: 1 })).records
      expect(first).toMatchObject({ spider: 'books', kind: 'book', key: 'b', data: { title: 'new' } })
    })

    it('gives the many records of one write each once', async () => {
      const keys = Array.from({ length: 250 }, (_, i) => `k${String(i).padStart(3, '0')}`)
      await write(keys.map((key) => ({ key, site: `${key.slice(-1)}.example` })))
      for (const query of [{ limit: 70 }, { limit: 70, spider: 'books' }, { limit: 70, kind: 'book' }]) {
        expect((await pages(query)).flat().sort()).toEqual(keys)
      }
    })

    it('keeps to a spider and a kind, in the same order at each call', async () => {
      const rows = ['books', 'toys'].flatMap((spider) =>
        ['item', 'shop'].flatMap((kind) =>
          ['a.example', 'b.example'].flatMap((site) =>
            ['1', '2'].map((key) => ({ spider, kind, site, key: `${spider}-${kind}-${site}-${key}` })),
          ),
        ),
      )
      await write(rows)
      const wanted = (filter: (row: (typeof rows)[number]) => boolean) =>
        rows
          .filter(filter)
          .map(({ key }) => key)
          .sort()
      for (const [query, filter] of [
        [{ spider: 'toys' }, (row) => row.spider === 'toys'],
        [{ kind: 'shop' }, (row) => row.kind === 'shop'],
        [{ spider: 'books', kind: 'item' }, (row) => row.spider === 'books' && row.kind === 'item'],
        [{ spider: 'none' }, () => false],
      ] as [Partial<SearchQuery>, (row: (typeof rows)[number]) => boolean][]) {
        const whole = (await pages({ limit: 100, ...query })).flat()
        expect([...whole].sort()).toEqual(wanted(filter))
        expect((await pages({ limit: 3, ...query })).flat()).toEqual(whole)
      }
    })

    it('finds plain text in key, URL and data, in whichever case', async () => {
      await write([
        { key: 'Straße', url: 'https://books.example/one', data: { title: 'Größe 7' } },
        {
          key: 'two',
          url: 'https://books.example/Path?q=100%25',
          data: { title: 'He said "no"\nand left \\ early', price: 19.5 },
        },
        { key: 'three', url: 'https://books.example/x', data: { nested: [{ deep: ['Жизнь'] }], ok: true } },
      ])
      const found = async (text: string) => (await pages({ limit: 10, text })).flat().sort()
      expect(await found('STRAß')).toEqual(['Straße'])
      expect(await found('GRÖßE')).toEqual(['Straße'])
      expect(await found('/path?q=')).toEqual(['two'])
      expect(await found('"no"\nand')).toEqual(['two'])
      expect(await found('left \\ e')).toEqual(['two'])
      expect(await found('19.5')).toEqual(['two'])
      expect(await found('жизнь')).toEqual(['three'])
      expect(await found('')).toHaveLength(3)
      expect(await found('books.example')).toHaveLength(3)
    })

    it('takes wildcards, patterns and SQL for text', async () => {
      const strange = [
        '100%',
        'a_b',
        "'; DROP TABLE records; --",
        '.*',
        '[a-z]',
        '\\',
        '$1',
        '?1',
        '%s',
        '\u0000',
        '\ud800',
      ]
      await write([{ key: 'plain', data: { title: 'aXb 100 percent' } }])
      const found = async (query: Partial<SearchQuery>) => (await pages({ limit: 10, ...query })).flat()
      for (const text of strange) {
        expect(await found({ text }), text).toEqual([])
        expect(await found({ spider: text }), text).toEqual([])
        expect(await found({ kind: text, spider: 'books' }), text).toEqual([])
      }
      const storable = strange.slice(0, -2)
      await write(storable.map((text, index) => ({ key: `k${index}`, url: 'https://books.example/', data: { text } })))
      for (const [index, text] of storable.entries()) expect(await found({ text }), text).toContain(`k${index}`)
      expect(await found({ text: '100%' })).toEqual(['k0'])
      expect(await found({ text: 'a_b' })).toEqual(['k1'])
    })

    it('looks through a bounded part in each call and goes on from there', async () => {
      const big = 'x'.repeat(200_000)
      const keys = Array.from({ length: 60 }, (_, i) => `k${String(i).padStart(2, '0')}`)
      await write(keys.map((key, i) => ({ key, data: { big, mark: i === 1 ? 'needle' : '' } })))
      const page = await store.search.find({ limit: 10, text: 'needle', spider: 'books' })
      expect(page.searched).toBeLessThanOrEqual(SEARCH_MOST.chars / 200_000 + 1)
      expect(page.next).not.toBeNull()
      expect((await pages({ limit: 10, text: 'needle', spider: 'books' })).flat()).toEqual(['k01'])
      const nothing = await store.search.find({ limit: 10, text: 'nowhere' })
      expect(nothing.records).toEqual([])
      expect(nothing.next).not.toBeNull()
    })

    it('refuses a cursor that is none, or of another search', async () => {
      await write([{ key: 'a' }, { key: 'b' }])
      const { next } = await store.search.find({ limit: 1 })
      const foreign = store.search.find({ limit: 1, spider: 'books', after: String(next) })
      await expect(foreign).rejects.toMatchObject({ code: 'cursor_foreign' })
      for (const after of ['', 'x', '!!', "1' OR 1=1", Buffer.from('{"__proto__":1}').toString('base64url')]) {
        const call = store.search.find({ limit: 1, after })
        await expect(call, after).rejects.toMatchObject({ code: 'cursor_foreign' })
      }
    })
  })
}
