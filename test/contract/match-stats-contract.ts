import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { MatchRow } from '../../src/quality/match-row.js'
import type { RecordStore } from '../../src/store/record-store.js'

function matchRow(row: Partial<MatchRow> = {}): MatchRow {
  return { crawl: 'c1', part: 'rule', of: 'listing', name: '', selector: 'a', seen: 1, matched: 0, example: '', ...row }
}

/** What every store does with counts of matches. `open` gives an empty store. */
export function matchStatsContract(name: string, open: () => Promise<RecordStore>): void {
  describe(`${name}: match statistics contract`, () => {
    let store: RecordStore
    beforeEach(async () => {
      store = await open()
    })
    afterEach(() => store.close())

    it('adds counts, and keeps the first example', async () => {
      await store.matches.add([matchRow({ seen: 3, matched: 1 })])
      await store.matches.add([matchRow({ seen: 2, example: 'https://a.example/1' })])
      await store.matches.add([matchRow({ seen: 1, example: 'https://a.example/2' })])
      expect(await store.matches.of('c1')).toEqual([matchRow({ seen: 6, matched: 1, example: 'https://a.example/1' })])
    })

    it('has a row for each crawl, part, route or kind, name and selector, in order', async () => {
      const rows = [
        matchRow({ part: 'field', of: 'book', name: 'price', selector: '.price' }),
        matchRow({ part: 'field', of: 'book', name: 'price', selector: '.prize' }),
        matchRow({ part: 'field', of: 'book', name: 'title', selector: '' }),
        matchRow({ part: 'route', selector: '' }),
        matchRow({ of: 'detail' }),
        matchRow({ of: 'listing' }),
      ]
      await store.matches.add([...rows, matchRow({ crawl: 'c2' })])
      expect(await store.matches.of('c1')).toEqual(rows)
      expect(await store.matches.of('c2')).toHaveLength(1)
      expect(await store.matches.of('none')).toEqual([])
    })

    it('replaces what cannot be stored, and takes no rows at all', async () => {
      await store.matches.add([])
      await store.matches.add([matchRow({ of: 'a\0b', example: 'https://a.example/\ud800' })])
      expect(await store.matches.of('c1')).toMatchObject([{ of: 'a\ufffdb', example: 'https://a.example/\ufffd' }])
    })

    it('removes the rows of a crawl with it', async () => {
      await store.matches.add([matchRow(), matchRow({ crawl: 'c2' })])
      await store.crawls.remove('c1')
      expect(await store.matches.of('c1')).toEqual([])
      expect(await store.matches.of('c2')).toHaveLength(1)
    })

    it('counts what many workers add at once', async () => {
      const rows = [matchRow(), matchRow({ selector: 'b' }), matchRow({ selector: 'c' })]
      await Promise.all(Array.from({ length: 20 }, () => store.matches.add(rows)))
      expect((await store.matches.of('c1')).map(({ seen }) => seen)).toEqual([20, 20, 20])
    })
  })
}
