import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Cursor, FROM_START } from '../../src/store/changes.js'
import type { OutletNote } from '../../src/store/outlets.js'
import type { RecordRow, RecordStore, StoredRecord } from '../../src/store/record-store.js'
import { runs } from '../support/longer.js'
import { batch, record } from './record-store-contract.js'

const CLAIM = { name: 'books/webhook', spider: 'books', kinds: null, forMs: 60_000 }
const NOTE: OutletNote = { cursor: FROM_START, sent: 0, trimmed: 0, error: null, stop: false }

/** Everything after the cursor, page by page. */
export async function drain(
  store: RecordStore,
  after: Cursor,
  query: { spider?: string; kinds?: readonly string[] } = {},
  limit = 3,
): Promise<{ records: StoredRecord[]; cursor: Cursor }> {
  const records: StoredRecord[] = []
  for (let cursor = after; ; ) {
    const page = await store.changes.read({ ...query, after: cursor, limit })
    records.push(...page.records)
    cursor = page.cursor
    if (!page.more) return { records, cursor }
  }
}

/** What every driver must do. `open` gives an empty store. */
export function changesContract(name: string, open: () => Promise<RecordStore>): void {
  describe(`${name}: changes contract`, () => {
    let store: RecordStore
    beforeEach(async () => {
      store = await open()
    })
    afterEach(() => store.close())

    const write = (...records: RecordRow[]) => store.records.write(batch({ records }))
    const keys = ({ records }: { records: readonly StoredRecord[] }) => records.map(({ key }) => key)

    it('gives each new record once, in the order of its commit, and goes on from a cursor', async () => {
      expect((await drain(store, FROM_START)).records).toEqual([])
      await write(record({ key: 'b' }))
      await write(record({ key: 'a' }), record({ key: 'c' }))
      const first = await drain(store, FROM_START)
      expect(keys(first)[0]).toBe('b')
      expect(keys(first).slice(1).sort()).toEqual(['a', 'c'])
      const stored = []
      for await (const row of store.records.scan({ key: 'b' })) stored.push(row)
      expect(first.records[0]).toEqual(stored[0])
      expect(await store.changes.read({ after: first.cursor, limit: 10 })).toEqual({
        ...{ records: [], cursor: first.cursor, more: false },
      })
      await write(record({ key: 'd' }))
      expect(keys(await drain(store, first.cursor))).toEqual(['d'])
      expect(keys(await drain(store, FROM_START, {}, 1))).toHaveLength(4)
    })

    it('gives a record again when its content changed, with the newest content, and only then', async () => {
      await write(record({ key: 'a' }), record({ key: 'b' }))
      const { cursor } = await drain(store, FROM_START)
      const later = { epoch: '2000', scrapedAt: 20_000 }
      const statuses = await write(
        record({ key: 'a', ...later }),
        record({ key: 'b', ...later, data: 'too fresh', freshMs: 60_000 }),
        record({ key: 'a', epoch: '500', data: 'stale' }),
      )
      expect(statuses).toEqual(['unchanged', 'fresh', 'fenced'])
      expect((await drain(store, cursor)).records).toEqual([])
      await write(record({ key: 'a', ...later, data: 'once' }))
      await write(record({ key: 'a', ...later, epoch: '3000', data: 'twice' }))
      expect((await drain(store, cursor)).records).toMatchObject([{ key: 'a', data: 'twice' }])
      expect(keys(await drain(store, FROM_START)).sort()).toEqual(['a', 'b'])
    })

    it('asks for one spider and some kinds, and is not held up by others', async () => {
      await write(
        record({ key: 'a' }),
        record({ key: 'b', kind: 'author' }),
        record({ key: 'c', kind: 'shop' }),
        record({ key: 'd', spider: 'second' }),
      )
      expect(keys(await drain(store, FROM_START, { spider: 'books' })).sort()).toEqual(['a', 'b', 'c'])
      expect(keys(await drain(store, FROM_START, { kinds: ['author', 'shop'] })).sort()).toEqual(['b', 'c'])
      expect(keys(await drain(store, FROM_START, { spider: 'second', kinds: ['book'] }))).toEqual(['d'])
      expect(keys(await drain(store, FROM_START, { spider: 'second', kinds: ['author'] }))).toEqual([])
      const { cursor } = await drain(store, FROM_START, { spider: 'nobody' })
      expect((await drain(store, cursor)).records).toEqual([])
    })

    it('pages through thousands, wanted ones among others', async () => {
      for (let at = 0; at < 6_000; at += 600) {
        await write(
          ...Array.from({ length: 600 }, (_, i) =>
            record({ key: `k${at + i}`, spider: (at + i) % 100 === 7 ? 'rare' : 'books' }),
          ),
        )
      }
      const rare = await drain(store, FROM_START, { spider: 'rare' }, 50)
      expect(new Set(keys(rare)).size).toBe(60)
      const all = await drain(store, FROM_START, {}, 700)
      expect(all.records).toHaveLength(6_000)
      expect(new Set(keys(all)).size).toBe(6_000)
    })

    it('tells the end, also of when a crawl was first noted', async () => {
      const spec = { id: 'crawl-1', spider: 'books' } as Parameters<RecordStore['crawls']['note']>[0]['spec']
      const note = { crawl: 'crawl-1', spider: 'books', queue: 'q', queueIdentity: 'i', state: 'open' as const, spec }
      await write(record({ key: 'before' }))
      const end = await store.changes.end()
      await store.crawls.note({ ...note, openedAt: 1 })
      await write(record({ key: 'after' }))
      await store.crawls.note({ ...note, openedAt: 1, state: 'ended' })
      expect(keys(await drain(store, end))).toEqual(['after'])
      expect(keys(await drain(store, await store.changes.startOf('crawl-1')))).toEqual(['after'])
      expect(await store.changes.startOf('never')).toBe(FROM_START)
      await store.crawls.remove('crawl-1')
      expect(await store.changes.startOf('crawl-1')).toBe(FROM_START)
    })

    it('counts what waits', async () => {
      expect(await store.changes.lag({ after: FROM_START, most: 10 })).toEqual({ records: 0, oldestAt: null })
      await write(record({ key: 'a', scrapedAt: 5_000 }))
      const { cursor } = await drain(store, FROM_START)
      await write(record({ key: 'b', scrapedAt: 7_000 }))
      await write(record({ key: 'c', scrapedAt: 6_000, kind: 'author' }))
      await write(record({ key: 'd', scrapedAt: 6_500, spider: 'second' }))
      expect(await store.changes.lag({ after: cursor, most: 10 })).toEqual({ records: 3, oldestAt: 7_000 })
      expect(await store.changes.lag({ after: cursor, most: 2 })).toMatchObject({ records: 2 })
      const authors = { spider: 'books', kinds: ['author'] }
      expect(await store.changes.lag({ ...authors, after: cursor, most: 10 })).toEqual({ records: 1, oldestAt: 6_000 })
    })

    it('refuses a cursor of another database, one from the future, and garbage', async () => {
      const other = await open()
      try {
        await write(record())
        await other.records.write(batch({ records: [record({ key: 'x' }), record({ key: 'y' })] }))
        const foreign = (await drain(other, FROM_START)).cursor
        const own = (await drain(store, FROM_START)).cursor
        const future = own.replace(/^\d+/, '999999999999')
        for (const cursor of [foreign, future, 'garbage', `${own}x`, '-1', ' ']) {
          const refused = expect.objectContaining({ code: 'cursor_foreign' })
          await expect(store.changes.read({ after: cursor, limit: 1 }), cursor).rejects.toEqual(refused)
          await expect(store.changes.lag({ after: cursor, most: 1 }), cursor).rejects.toEqual(refused)
          await expect(store.outlets.reset('books/x', 'books', cursor), cursor).rejects.toEqual(refused)
        }
        await store.outlets.claim({ ...CLAIM, holder: 'p1' })
        await expect(store.outlets.note(CLAIM.name, 'p1', { ...NOTE, cursor: foreign })).rejects.toMatchObject({
          code: 'cursor_foreign',
        })
        expect(await store.outlets.list()).toMatchObject([{ name: CLAIM.name, cursor: FROM_START }])
      } finally {
        await other.close()
      }
    })

    it('lets one process hold an outlet, which others get after its release or its time', async () => {
      const first = await store.outlets.claim({ ...CLAIM, holder: 'p1' })
      expect(first).toMatchObject({ cursor: FROM_START, epoch: 1 })
      expect(await store.outlets.claim({ ...CLAIM, holder: 'p2' })).toBeNull()
      expect(await store.outlets.claim({ ...CLAIM, holder: 'p1' })).toEqual(first)
      await store.outlets.release(CLAIM.name, 'p2')
      expect(await store.outlets.claim({ ...CLAIM, holder: 'p2' })).toBeNull()
      await store.outlets.release(CLAIM.name, 'p1')
      const second = await store.outlets.claim({ ...CLAIM, holder: 'p2', forMs: 1 })
      expect(second).toEqual({ ...first, epoch: 2 })
      await sleep(20)
      expect(await store.outlets.list()).toMatchObject([{ holder: null }])
      expect(await store.outlets.claim({ ...CLAIM, holder: 'p3' })).toEqual({ ...first, epoch: 3 })
      expect(await store.outlets.note(CLAIM.name, 'p2', NOTE)).toBe(false)
      expect(await store.outlets.claim({ ...CLAIM, name: 'books/list', holder: 'p1' })).toMatchObject({ epoch: 1 })
    })

    it('renews a hold, and never takes with that what was reset or is gone', async () => {
      const claim = { ...CLAIM, holder: 'p1' }
      const hold = await store.outlets.claim({ ...claim, forMs: 1 })
      await sleep(20)
      expect(await store.outlets.claim({ ...claim, epoch: 1 })).toEqual(hold)
      expect(await store.outlets.claim({ ...claim, epoch: 2 })).toBeNull()
      expect(await store.outlets.claim({ ...claim, holder: 'p2', epoch: 1 })).toBeNull()
      await store.outlets.reset(CLAIM.name, 'books', FROM_START)
      expect(await store.outlets.claim({ ...claim, epoch: 1 })).toBeNull()
      expect(await store.outlets.note(CLAIM.name, 'p1', NOTE)).toBe(false)
      expect(await store.outlets.claim({ ...claim, name: 'books/gone', epoch: 1 })).toBeNull()
      expect(await store.outlets.list()).toMatchObject([{ name: CLAIM.name, holder: null }])
    })

    it('keeps what became of batches, for the next holder too', async () => {
      await write(record({ key: 'a' }), record({ key: 'b' }))
      const { cursor } = await drain(store, FROM_START)
      const claim = { ...CLAIM, kinds: ['book', 'author'], holder: 'p1' }
      expect(await store.outlets.note(CLAIM.name, 'p1', NOTE)).toBe(false)
      await store.outlets.claim(claim)
      expect(await store.outlets.note(CLAIM.name, 'p1', { ...NOTE, cursor, sent: 2, trimmed: 1 })).toBe(true)
      expect(await store.outlets.note(CLAIM.name, 'p1', { ...NOTE, cursor, error: 'nobody listens' })).toBe(true)
      const [info, ...others] = await store.outlets.list()
      expect(others).toEqual([])
      expect(info).toEqual({
        ...{ name: CLAIM.name, spider: 'books', kinds: ['book', 'author'], cursor, holder: 'p1' },
        ...{ sent: 2, sentAt: expect.any(Number), trimmed: 1, error: 'nobody listens', stopped: false },
      })
      await store.outlets.release(CLAIM.name, 'p1')
      expect(await store.outlets.claim({ ...claim, holder: 'p2' })).toMatchObject({ cursor })
    })

    it('is claimed by nobody when it has stopped, until it is reset', async () => {
      await write(record({ key: 'a' }))
      const { cursor } = await drain(store, FROM_START)
      await store.outlets.claim({ ...CLAIM, holder: 'p1' })
      await store.outlets.note(CLAIM.name, 'p1', { ...NOTE, cursor, error: 'gone', stop: true })
      expect(await store.outlets.list()).toMatchObject([{ stopped: true, error: 'gone' }])
      for (const holder of ['p1', 'p2']) expect(await store.outlets.claim({ ...CLAIM, holder })).toBeNull()
      await store.outlets.reset(CLAIM.name, 'books', null)
      expect(await store.outlets.list()).toMatchObject([{ stopped: false, error: null, holder: null, cursor }])
      const again = await store.outlets.claim({ ...CLAIM, holder: 'p2' })
      expect(again).toMatchObject({ cursor, epoch: 2 })
      await store.outlets.reset(CLAIM.name, 'books', FROM_START)
      expect(await store.outlets.note(CLAIM.name, 'p2', { ...NOTE, cursor })).toBe(false)
      expect(await store.outlets.claim({ ...CLAIM, holder: 'p2' })).toMatchObject({ cursor: FROM_START, epoch: 3 })
      await store.outlets.reset('books/new', 'books', cursor)
      expect(await store.outlets.claim({ ...CLAIM, name: 'books/new', holder: 'p1' })).toMatchObject({ cursor })
    })

    it('loses nothing while several write and read at once', async () => {
      const change = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd', 'e'), data: fc.nat(3) })
      const writers = fc.array(fc.array(fc.array(change, { minLength: 1, maxLength: 4 }), { maxLength: 5 }), {
        minLength: 2,
        maxLength: 4,
      })
      let round = 0
      await fc.assert(
        fc.asyncProperty(writers, fc.integer({ min: 1, max: 5 }), async (plans, limit) => {
          const spider = `round-${round++}`
          const seen = new Map<string, StoredRecord>()
          let cursor = await store.changes.end()
          let writing = true
          const work = Promise.all(
            plans.map(async (batches, writer) => {
              for (const [step, rows] of batches.entries()) {
                const epoch = String(1_000 * (step + 1) + writer)
                await write(...rows.map((row) => record({ ...row, spider, epoch })))
              }
            }),
          ).then(() => {
            writing = false
          })
          const read = async () => {
            const page = await store.changes.read({ spider, after: cursor, limit })
            for (const one of page.records) seen.set(one.key, one)
            cursor = page.cursor
            return page.more
          }
          while (writing) {
            await read()
            await sleep(0)
          }
          await work
          while (await read());
          const stored: StoredRecord[] = []
          for await (const row of store.records.scan({ spider })) stored.push(row)
          const byKey = (a: StoredRecord, b: StoredRecord) => (a.key < b.key ? -1 : 1)
          const content = ({ key, data, updatedAt }: StoredRecord) => ({ key, data, updatedAt })
          expect([...seen.values()].sort(byKey).map(content)).toEqual(stored.sort(byKey).map(content))
        }),
        { numRuns: runs(25) },
      )
    })
  })
}
