import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { BlobEntry, BlobIndex } from '../../src/store/blob-index.js'

/** What every index of raw pages must do. `open` gives an empty one. */
export function blobIndexContract(
  name: string,
  open: () => Promise<{ index: BlobIndex; close: () => Promise<void> }>,
): void {
  describe(`${name}: blob index contract`, () => {
    let index: BlobIndex
    let close: () => Promise<void>
    beforeEach(async () => {
      ;({ index, close } = await open())
    })
    afterEach(() => close())

    it('finds what was added, in its own place, and leaves the rest out', async () => {
      await index.add('here', [entry(1), entry(2, { codec: 'raw', start: 2 ** 33, bytes: 5_000_000_000 })])
      expect(await index.find('here', [hash(1), hash(2), hash(3)])).toEqual(
        new Map([
          [hash(1), entry(1)],
          [hash(2), entry(2, { codec: 'raw', start: 2 ** 33, bytes: 5_000_000_000 })],
        ]),
      )
      expect(await index.find('there', [hash(1)])).toEqual(new Map())
      expect(await index.find('here', [])).toEqual(new Map())
    })

    it('keeps the first of several, also when all come at once, and in each place its own', async () => {
      const packs = ['a', 'b', 'c', 'd']
      await index.add('here', [entry(1, { pack: 'first' })])
      await Promise.all(packs.map((pack) => index.add('here', [entry(1, { pack }), entry(2, { pack })])))
      await index.add('there', [entry(1, { pack: 'other' })])
      const found = await index.find('here', [hash(1), hash(2)])
      expect(found.get(hash(1))?.pack).toBe('first')
      expect(packs).toContain(found.get(hash(2))?.pack)
      expect((await index.find('there', [hash(1)])).get(hash(1))?.pack).toBe('other')
    })

    it('takes the same page twice in one call', async () => {
      await index.add('here', [entry(1, { start: 10 }), entry(1, { start: 20 })])
      expect((await index.find('here', [hash(1)])).get(hash(1))?.start).toBe(10)
    })

    it('moves and removes only what still stands where it was seen', async () => {
      await index.add('here', [entry(1), entry(2), entry(3)])
      await index.add('there', [entry(1)])
      const to = entry(1, { pack: 'large', start: 999, length: 7, codec: 'raw' })
      const late = entry(1, { pack: 'late' })
      await index.move('here', [{ from: entry(1), to }])
      await index.move('here', [
        { from: entry(1), to: late },
        { from: entry(9), to: entry(9, { pack: 'large' }) },
      ])
      await index.remove('here', [entry(2), entry(3, { start: 1 }), entry(9)])
      expect(await index.find('here', [1, 2, 3, 9].map(hash))).toEqual(
        new Map([
          [hash(1), to],
          [hash(3), entry(3)],
        ]),
      )
      expect((await index.find('there', [hash(1)])).get(hash(1))).toEqual(entry(1))
    })

    it('goes through a place in order, part by part', async () => {
      const all = Array.from({ length: 25 }, (_, n) => entry(n))
      await index.add('here', all.toReversed())
      await index.add('there', [entry(100)])
      const seen: BlobEntry[] = []
      for (let after = ''; ; after = seen.at(-1)?.hash ?? '') {
        const part = await index.after('here', after, 10)
        expect(part.length).toBeLessThanOrEqual(10)
        if (part.length === 0) break
        seen.push(...part)
      }
      expect(seen).toEqual(all.toSorted((a, b) => (a.hash < b.hash ? -1 : 1)))
    })
  })
}

function hash(n: number): string {
  return ((n * 7919) % 65_536).toString(16).padStart(4, '0').repeat(16)
}

function entry(n: number, changes: Partial<BlobEntry> = {}): BlobEntry {
  return { hash: hash(n), pack: 'small', start: 100 * n, length: 50, codec: 'br', bytes: 400, ...changes }
}
