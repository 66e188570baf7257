import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CrawlSpec } from '../../src/frontier/frontier.js'
import { memoryRecordStore } from '../../src/store/memory/memory-record-store.js'
import type {
  CrawlNote,
  FetchRow,
  RecordRow,
  RecordStore,
  RejectedRow,
  WriteBatch,
  WriteStatus,
} from '../../src/store/record-store.js'
import type { Json } from '../../src/url/link.js'
import { runs } from '../support/longer.js'

export function record(fields: Partial<RecordRow> = {}): RecordRow {
  const key = fields.key ?? 'sku-1'
  return {
    spider: 'books',
    site: 'books.example',
    kind: 'book',
    key,
    url: `https://books.example/${encodeURIComponent(key.slice(0, 20).replace(/[\ud800-\udfff]/g, ''))}`,
    data: { title: `Title of ${key.slice(0, 20)}` },
    crawl: 'crawl-1',
    gen: 1,
    epoch: '1000',
    scrapedAt: 10_000,
    freshMs: 0,
    identity: null,
    history: false,
    ...fields,
  }
}

export function rejectedRow(fields: Partial<RejectedRow> = {}): RejectedRow {
  return {
    spider: 'books',
    crawl: 'crawl-1',
    site: 'books.example',
    kind: 'book',
    key: 'sku-1',
    url: 'https://books.example/1',
    data: { title: 7 },
    issues: [{ field: 'title', message: 'expected string' }],
    scrapedAt: 10_000,
    ...fields,
  }
}

export function fetchRow(fields: Partial<FetchRow> = {}): FetchRow {
  return {
    spider: 'books',
    crawl: 'crawl-1',
    gen: 1,
    epoch: '1000',
    fp: '00000000000000aa',
    url: 'https://books.example/1',
    host: 'books.example',
    route: 'book',
    depth: 1,
    link: null,
    status: 200,
    bytes: 10_240,
    ms: 35,
    attempt: 1,
    worker: 'w1',
    error: null,
    page: null,
    headers: null,
    pool: null,
    at: 10_000,
    ...fields,
  }
}

export function batch(parts: Partial<WriteBatch>): WriteBatch {
  return { records: [], rejected: [], fetches: [], ...parts }
}

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const row of rows) list.push(row)
  return list
}

/** What every record store must do. `open` gives an empty store. */
export function recordStoreContract(name: string, open: () => Promise<RecordStore>): void {
  describe(`${name}: record store contract`, () => {
    let store: RecordStore
    beforeEach(async () => {
      store = await open()
    })
    afterEach(() => store.close())

    const write = (...records: RecordRow[]) => store.records.write(batch({ records }))
    const records = (query = {}) => all(store.records.scan(query))

    it('keeps the generation of a queue and gives a new queue a larger one', async () => {
      const first = await store.generations.of('queue-a')
      expect(await store.generations.of('queue-a')).toBe(first)
      const second = await store.generations.of('queue-b')
      expect(second).toBeGreaterThan(first)
      expect(await store.generations.of('queue-a')).toBe(first)
    })

    it('gives a queue that went back a larger generation, once', async () => {
      const first = await store.generations.of('queue-a')
      const other = await store.generations.of('queue-b')
      expect(await store.generations.highestMark('queue-a')).toBe(0)
      await store.generations.noteMark('queue-a', 5)
      await store.generations.noteMark('queue-a', 4)
      expect(await store.generations.highestMark('queue-a')).toBe(5)
      await store.generations.renew('queue-a', 4)
      expect(await store.generations.of('queue-a')).toBe(first)
      await store.generations.renew('queue-a', 5)
      await store.generations.renew('queue-a', 5)
      const renewed = await store.generations.of('queue-a')
      expect(renewed).toBe(Math.max(first, other) + 1)
      expect(await store.generations.highestMark('queue-a')).toBe(0)
      expect(await store.generations.of('queue-c')).toBeGreaterThan(renewed)
      await store.generations.noteMark('queue-d', 2)
      expect(await store.generations.highestMark('queue-d')).toBe(2)
    })

    it('keeps notes of crawls and cursors of seeds, until the crawl is removed', async () => {
      const spec = { id: 'crawl-1', budget: { pages: 3 }, gen: 1 } as CrawlSpec
      const note: CrawlNote = {
        crawl: 'crawl-1',
        spider: 'books',
        queue: 'redis://localhost:6379',
        queueIdentity: 'queue-a',
        state: 'open',
        spec,
        openedAt: 2,
      }
      await store.crawls.note(note)
      await store.crawls.note({ ...note, crawl: 'crawl-0', openedAt: 1 })
      await store.crawls.note({ ...note, state: 'lost' })
      expect(await store.crawls.notes()).toEqual([
        { ...note, crawl: 'crawl-0', openedAt: 1 },
        { ...note, state: 'lost' },
      ])
      expect(await store.crawls.seedCursor('crawl-1', 'start')).toBe(0)
      await store.crawls.noteSeedCursor('crawl-1', 'start', 1000)
      await store.crawls.noteSeedCursor('crawl-1', 'seeds', 7)
      await store.crawls.noteSeedCursor('crawl-1', 'start', 2000)
      expect(await store.crawls.seedCursor('crawl-1', 'start')).toBe(2000)
      expect(await store.crawls.seedCursor('crawl-1', 'seeds')).toBe(7)
      expect(await store.crawls.seedCursor('crawl-0', 'start')).toBe(0)
      await store.crawls.remove('crawl-1')
      expect(await store.crawls.notes()).toHaveLength(1)
      expect(await store.crawls.seedCursor('crawl-1', 'start')).toBe(0)
    })

    it('knows the pages of a crawl by its fetches', async () => {
      const redirected = {
        ...{ url: 'https://a.test/old', fp: 'ffffffffffffffff', host: 'a.test', route: 'book', depth: 7, priority: 3 },
        ...{ data: { n: [1] }, request: { method: 'POST', body: 'x' } },
      }
      const of = (n: number, changes = {}) =>
        fetchRow({ fp: `000000000000000${n}`, url: `https://a.test/${n}`, ...changes })
      const fetches = [
        of(1, { error: 'timeout', at: 1 }),
        of(1, { error: null, at: 2 }),
        of(2, { error: 'timeout', at: 3 }),
        of(3, { error: null, at: 4, crawl: 'other' }),
        of(4, { error: null, at: 5, fp: 'ffffffffffffffff', depth: 7, link: redirected }),
        of(5, { error: null, at: 6, status: 301 }),
      ]
      await store.records.write(batch({ fetches }))
      const page = ({ fp, url, host, route, depth, link }: (typeof fetches)[number]) => ({
        ...{ fp, url, host, route, depth, link },
      })
      const kept = fetches.map(page)
      const { crawl } = of(1)
      expect(await all(store.crawls.knownPages(crawl, true))).toEqual([kept[1], kept[4]])
      expect(await all(store.crawls.knownPages(crawl, false))).toEqual([kept[0], kept[2], kept[5]])
      expect(await store.fetches.of({ fp: 'ffffffffffffffff', limit: 1 })).toEqual([fetches[4]])
      expect(await all(store.crawls.knownPages('never', true))).toEqual([])
    })

    it('gives back what was written', async () => {
      const data = { title: 'Größe 😀', price: -1.5, tags: ['a', null, { deep: true }], empty: {} }
      expect(await write(record({ data }))).toEqual(['written'])
      expect(await records()).toEqual([
        {
          spider: 'books',
          site: 'books.example',
          kind: 'book',
          key: 'sku-1',
          url: 'https://books.example/sku-1',
          data,
          crawl: 'crawl-1',
          scrapedAt: 10_000,
          firstSeenAt: 10_000,
          updatedAt: 10_000,
        },
      ])
    })

    it('answers an empty batch', async () => {
      expect(await store.records.write(batch({}))).toEqual([])
    })

    it('keeps one row per spider, site, kind and key', async () => {
      const rows = [
        record(),
        record({ spider: 'other' }),
        record({ site: 'b.example' }),
        record({ kind: 'author' }),
        record({ key: 'k2' }),
      ]
      expect(await write(...rows)).toEqual(Array(5).fill('written'))
      expect(await records()).toHaveLength(5)
    })

    it('updates a row from a newer lease and keeps when it was first seen', async () => {
      await write(record())
      const newer = record({
        epoch: '1001',
        data: { title: 'new' },
        crawl: 'crawl-2',
        scrapedAt: 20_000,
        url: 'https://books.example/moved',
      })
      expect(await write(newer)).toEqual(['written'])
      expect(await records()).toMatchObject([
        {
          data: { title: 'new' },
          crawl: 'crawl-2',
          firstSeenAt: 10_000,
          updatedAt: 20_000,
          scrapedAt: 20_000,
          url: newer.url,
        },
      ])
      expect(await records({ url: newer.url })).toHaveLength(1)
      expect(await records({ url: record().url })).toHaveLength(0)
    })

    it('refuses an older epoch and an older generation, as numbers', async () => {
      await write(record({ gen: 2, epoch: '1000' }))
      const before = await records()
      expect(await write(record({ gen: 2, epoch: '999', data: 1 }))).toEqual(['fenced'])
      expect(await write(record({ gen: 1, epoch: '999999', data: 2 }))).toEqual(['fenced'])
      expect(await records()).toEqual(before)
      expect(await write(record({ gen: 10, epoch: '1', data: 3 }))).toEqual(['written'])
    })

    it('tells epochs apart beyond 2^53', async () => {
      await write(record({ epoch: '9223372036854775806' }))
      expect(await write(record({ epoch: '9223372036854775805', data: 1 }))).toEqual(['fenced'])
      expect(await write(record({ epoch: '9223372036854775807', data: 1 }))).toEqual(['written'])
      expect(await write(record({ epoch: '9223372036854775806', data: 2 }))).toEqual(['fenced'])
    })

    it('confirms equal content without changing it', async () => {
      await write(record())
      expect(await write(record({ epoch: '1001', crawl: 'crawl-2', scrapedAt: 20_000 }))).toEqual(['unchanged'])
      expect(await records()).toMatchObject([{ crawl: 'crawl-2', updatedAt: 10_000, scrapedAt: 20_000 }])
      expect(await write(record({ epoch: '1000', data: 'stale' }))).toEqual(['fenced'])
    })

    it('leaves a fresh row alone, without fencing, and only for other leases', async () => {
      await write(record())
      const changed = { data: { title: 'changed' }, freshMs: 5000 }
      expect(await write(record({ ...changed, epoch: '1001', scrapedAt: 14_999 }))).toEqual(['fresh'])
      expect(await records()).toMatchObject([{ data: record().data, scrapedAt: 10_000 }])
      expect(await write(record({ ...changed, scrapedAt: 10_001 }))).toEqual(['written'])
      expect(await write(record({ ...changed, data: 'later', epoch: '1001', scrapedAt: 15_001 }))).toEqual(['written'])
    })

    it('lets a reparse overwrite what that very page gave, and nothing newer', async () => {
      await write(record({ key: 'a' }), record({ key: 'b', epoch: '1001', scrapedAt: 11_000 }))
      const reparsed = { data: { title: 'mended' }, reparsedAt: 90_000 }
      const again = [
        record({ key: 'a', ...reparsed }),
        record({ key: 'b', ...reparsed }),
        record({ key: 'c', ...reparsed }),
      ]
      expect(await write(...again)).toEqual(['written', 'fenced', 'written'])
      expect(await write(...again)).toEqual(['unchanged', 'fenced', 'unchanged'])
      const rows = new Map((await records()).map((row) => [row.key, row]))
      // Changed when it was reparsed, seen when its page was read.
      const times = { scrapedAt: 10_000, firstSeenAt: 10_000, updatedAt: 90_000 }
      expect(rows.get('a')).toMatchObject({ data: reparsed.data, ...times })
      expect(rows.get('b')).toMatchObject({ data: record({ key: 'b' }).data, updatedAt: 11_000 })
      expect(rows.get('c')).toMatchObject({ data: reparsed.data, ...times })
      expect((await records({ since: 90_000 })).map(({ key }) => key)).toEqual(['a', 'c'])
      // The freshness window counts from the page: a reparse does not keep the next crawl out.
      const next = record({ key: 'a', data: { title: 'new' }, epoch: '1002', scrapedAt: 91_000, freshMs: 5000 })
      expect(await write(next)).toEqual(['written'])
    })

    it('can be repeated', async () => {
      const work = batch({
        records: [record(), record({ key: 'k2' })],
        rejected: [rejectedRow()],
        fetches: [fetchRow()],
      })
      await store.records.write(work)
      const before = [await records(), await store.records.counts({}), await all(store.records.rejected({ limit: 9 }))]
      for (const status of await store.records.write(work)) expect(['written', 'unchanged']).toContain(status)
      expect([
        await records(),
        await store.records.counts({}),
        await all(store.records.rejected({ limit: 9 })),
      ]).toEqual(before)
      expect(await store.fetches.of({ fp: fetchRow().fp, limit: 9 })).toEqual([fetchRow()])
    })

    it('takes the same key twice in one batch: the last wins', async () => {
      expect(await write(record({ data: 'first' }), record({ key: 'k2' }), record({ data: 'last' }))).toEqual([
        'written',
        'written',
        'written',
      ])
      expect(await records({ key: 'sku-1' })).toMatchObject([{ data: 'last' }])
      expect(await records()).toHaveLength(2)
    })

    it('takes the same key many times in a large batch, new and known keys mixed', async () => {
      await write(record({ key: 'known' }))
      const rows = Array.from({ length: 120 }, (_, i) => record({ key: `k${i % 50}`, epoch: '1001', data: i }))
      rows.splice(
        70,
        0,
        record({ key: 'known', epoch: '1001', data: 'changed' }),
        record({ key: 'known', data: 'stale' }),
      )
      const statuses = await write(...rows)
      expect(statuses.filter((status) => status !== 'written')).toEqual(['fenced'])
      expect(statuses[71]).toBe('fenced')
      const found = await records()
      expect(found).toHaveLength(51)
      for (const { key, data } of found) {
        expect(data).toBe(key === 'known' ? 'changed' : Number(key.slice(1)) + (Number(key.slice(1)) < 20 ? 100 : 50))
      }
      expect(await store.records.counts({})).toMatchObject([{ records: 51, unchanged: 0 }])
    })

    it('quarantines what cannot be stored, with a reason, beside its neighbours', async () => {
      const cycle: { self?: unknown } = {}
      cycle.self = cycle
      let deep: Json = 1
      for (let level = 0; level < 60_000; level++) deep = [deep]
      const bad = [deep, cycle, { n: 10n }, undefined, 'x'.repeat(256 * 1024), 'ü'.repeat(128 * 1024)] as Json[]
      const statuses = await write(
        record({ key: 'before' }),
        ...bad.map((data, index) => record({ key: `bad-${index}`, data })),
        record({ key: 'after' }),
      )
      expect(statuses).toEqual(['written', ...bad.map(() => 'quarantined' as const), 'written'])
      expect((await records()).map((row) => row.key).sort()).toEqual(['after', 'before'])
      const kept = await all(store.records.rejected({ limit: 99 }))
      expect(kept).toHaveLength(bad.length)
      for (const row of kept) {
        expect(row.reason).toBe('quarantined')
        expect(row.issues[0]?.message).not.toBe('')
        expect(JSON.stringify(row.data).length).toBeLessThan(10_000)
      }
      expect(await store.records.counts({})).toMatchObject([{ records: 2, rejected: bad.length }])
      expect(await store.records.rejectedByField({ spider: 'books' })).toEqual([])
    })

    it('stores a record of exactly the largest size', async () => {
      expect(await write(record({ data: 'x'.repeat(256 * 1024 - 2) }))).toEqual(['written'])
      expect(await write(record({ key: 'k2', data: 'x'.repeat(256 * 1024 - 1) }))).toEqual(['quarantined'])
    })

    it('replaces NUL and lone surrogates and keeps everything else', async () => {
      const odd = { 'a\0': 'x\0y\ud800', literal: 'back\\u0000slash \\ud800', pair: '😀', bell: '\u0007', '\udfff': 1 }
      await write(record({ key: 'k\0\ud800', data: odd }))
      const cleaned = { 'a\ufffd': 'x\ufffdy\ufffd', literal: 'back\\u0000slash \\ud800', pair: '😀', bell: '\u0007' }
      expect(await records()).toMatchObject([{ key: 'k\ufffd\ufffd', data: { ...cleaned, '\ufffd': 1 } }])
      expect(await records({ key: 'k\0\ud800' })).toHaveLength(1)
    })

    it('keeps __proto__ as data', async () => {
      const data = JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":1}}') as Json
      await write(record({ data }))
      const [row] = await records()
      expect(JSON.stringify(row.data)).toBe('{"__proto__":{"polluted":true},"constructor":{"prototype":1}}')
      expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    })

    it('keeps a long key under its hash and finds it by the key', async () => {
      const long = 'ö'.repeat(257)
      const longest = 'k'.repeat(512)
      await write(record({ key: long }), record({ key: `${long}!` }), record({ key: longest }))
      const found = await records({ key: long })
      expect(found).toHaveLength(1)
      expect(found[0].key).toMatch(/^sha256:[0-9a-f]{64}$/)
      expect(await records({ key: longest })).toMatchObject([{ key: longest }])
    })

    it('finds records by each field, by time and together', async () => {
      await write(
        record({ key: 'a', url: 'https://books.example/a', scrapedAt: 100 }),
        record({ key: 'b', url: 'https://books.example/a', scrapedAt: 200, kind: 'author' }),
        record({ key: 'c', url: 'https://books.example/c', scrapedAt: 300, site: 'other.example' }),
        record({ key: 'a', url: 'https://books.example/d', scrapedAt: 400, spider: 'second' }),
      )
      const keys = async (query: object) => (await records(query)).map((row) => `${row.key}@${row.updatedAt}`).sort()
      expect(await keys({ spider: 'books' })).toEqual(['a@100', 'b@200', 'c@300'])
      expect(await keys({ kind: 'author' })).toEqual(['b@200'])
      expect(await keys({ site: 'other.example' })).toEqual(['c@300'])
      expect(await keys({ key: 'a' })).toEqual(['a@100', 'a@400'])
      expect(await keys({ key: 'a', spider: 'second' })).toEqual(['a@400'])
      expect(await keys({ url: 'https://books.example/a' })).toEqual(['a@100', 'b@200'])
      expect(await keys({ url: 'https://books.example/a', kind: 'book', since: 100 })).toEqual(['a@100'])
      expect(await keys({ since: 200 })).toEqual(['a@400', 'b@200', 'c@300'])
      expect(await keys({ since: 200, spider: 'books' })).toEqual(['b@200', 'c@300'])
      expect(await keys({ spider: 'nobody' })).toEqual([])
      expect(await records({ limit: 2 })).toHaveLength(2)
      expect(await records({ limit: 0 })).toHaveLength(0)
    })

    it('scans thousands of rows once each, and finds each by its URL', async () => {
      const many = Array.from({ length: 5000 }, (_, i) => record({ key: `k${i}`, scrapedAt: 1000 + Math.floor(i / 7) }))
      for (let at = 0; at < many.length; at += 500) await write(...many.slice(at, at + 500))
      for (const query of [{}, { since: 0 }, { spider: 'books' }]) {
        const found = await records(query)
        expect(found).toHaveLength(many.length)
        expect(new Set(found.map((row) => row.key)).size).toBe(many.length)
      }
      expect(await records({ since: 1001 })).toHaveLength(many.length - 7)
      expect(await records({ limit: 250 })).toHaveLength(250)
      for (const i of [0, 1, 4095, 4096, 4999]) {
        expect(await records({ url: many[i].url })).toMatchObject([{ key: `k${i}` }])
      }
    })

    it('lets a scan go on while rows are written', async () => {
      await write(...Array.from({ length: 300 }, (_, i) => record({ key: `k${i}` })))
      const seen = new Set<string>()
      for await (const row of store.records.scan({ spider: 'books' })) {
        expect(seen.has(row.key)).toBe(false)
        seen.add(row.key)
        if (seen.size % 50 === 0) await write(record({ key: row.key, epoch: '2000', data: seen.size }))
      }
      expect(seen.size).toBe(300)
    })

    it('counts by kind, by spider and by crawl', async () => {
      await store.records.write(
        batch({
          records: [record({ key: 'a' }), record({ key: 'b' }), record({ kind: 'author' })],
          rejected: [rejectedRow()],
        }),
      )
      const later = { crawl: 'crawl-2', epoch: '2000', scrapedAt: 10_500 }
      await write(
        record({ key: 'a', ...later }),
        record({ key: 'b', ...later, data: 'x', freshMs: 1000 }),
        record({ key: 'c', ...later }),
      )
      const author = { spider: 'books', kind: 'author', records: 1, rejected: 0, fresh: 0, unchanged: 0 }
      const book = { spider: 'books', kind: 'book' }
      expect(await store.records.counts({})).toEqual([
        author,
        { ...book, records: 3, rejected: 1, fresh: 1, unchanged: 1 },
      ])
      expect(await store.records.counts({ spider: 'books', crawl: 'crawl-1' })).toEqual([
        author,
        { ...book, records: 1, rejected: 1, fresh: 0, unchanged: 0 },
      ])
      expect(await store.records.counts({ crawl: 'crawl-2' })).toEqual([
        { ...book, records: 2, rejected: 0, fresh: 1, unchanged: 1 },
      ])
      expect(await store.records.counts({ spider: 'nobody' })).toEqual([])
      expect(await store.records.counts({ crawl: 'never' })).toEqual([])
    })

    it('keeps rejected records with their data, newest first, counted by field', async () => {
      const issues = [
        { field: 'price', message: 'expected number' },
        { field: 'title', message: 'required' },
      ]
      await store.records.write(batch({ rejected: [rejectedRow({ key: 'a' }), rejectedRow({ key: 'b', issues })] }))
      await store.records.write(
        batch({ rejected: [rejectedRow({ key: 'c', kind: 'author' }), rejectedRow({ spider: 'other' })] }),
      )
      const kept = await all(store.records.rejected({ spider: 'books', limit: 10 }))
      expect(kept.map((row) => row.key)).toEqual(['c', 'b', 'a'])
      expect(kept[1]).toEqual({ ...rejectedRow({ key: 'b', issues }), reason: 'invalid' })
      expect(await all(store.records.rejected({ spider: 'books', kind: 'book', limit: 1 }))).toMatchObject([
        { key: 'b' },
      ])
      expect(await store.records.rejectedByField({ spider: 'books' })).toEqual([
        { kind: 'book', field: 'title', count: 2 },
        { kind: 'author', field: 'title', count: 1 },
        { kind: 'book', field: 'price', count: 1 },
      ])
      await store.records.write(batch({ rejected: [rejectedRow({ key: 'd', crawl: 'crawl-2' })] }))
      expect(await store.records.rejectedByField({ spider: 'books', crawl: 'crawl-2' })).toEqual([
        { kind: 'book', field: 'title', count: 1 },
      ])
      expect(await store.records.rejectedByField({ spider: 'other', crawl: 'crawl-2' })).toEqual([])
      expect(await store.records.rejectedByField({ spider: 'books', crawl: 'never' })).toEqual([])
    })

    it('gives the fetches of one URL, newest first, and forgets those of a removed crawl', async () => {
      const fp = 'ffffffffffffff01'
      const rows = [
        fetchRow({ fp, at: 1, status: 0, error: 'timeout', ms: 10.5 }),
        fetchRow({ fp, at: 2, attempt: 2, page: `sha256:${'ab'.repeat(32)}` }),
        fetchRow({ fp, at: 3, crawl: 'crawl-2', worker: 'w2' }),
        fetchRow({ fp: 'ffffffffffffff02', at: 4 }),
      ]
      await store.records.write(batch({ fetches: rows, records: [record()] }))
      expect(await store.fetches.of({ fp, limit: 10 })).toEqual([rows[2], rows[1], rows[0]])
      expect(await store.fetches.of({ fp, crawl: 'crawl-1', limit: 1 })).toEqual([rows[1]])
      expect(await store.fetches.of({ fp: '0000000000000000', limit: 1 })).toEqual([])
      await store.crawls.remove('crawl-1')
      await store.crawls.remove('never')
      expect(await store.fetches.of({ fp, limit: 10 })).toEqual([rows[2]])
      expect(await records()).toHaveLength(1)
    })

    it('finds fetches among thousands, also after a crawl was removed', async () => {
      const fp = (i: number) => ((BigInt(i) * 0x9e3779b97f4a7c15n) & 0xffffffffffffffffn).toString(16).padStart(16, '0')
      const rows = (crawl: string, from: number, to: number) =>
        Array.from({ length: to - from }, (_, i) => fetchRow({ crawl, fp: fp(from + i), at: from + i }))
      await store.records.write(batch({ fetches: rows('kept', 0, 3000) }))
      await store.records.write(batch({ fetches: rows('gone', 3000, 9000) }))
      await store.crawls.remove('gone')
      await store.records.write(batch({ fetches: rows('next', 9000, 12_000) }))
      await store.records.write(batch({ fetches: rows('next', 12_000, 15_000) }))
      for (const i of [0, 2999, 9000, 11_999, 14_999])
        expect(await store.fetches.of({ fp: fp(i), limit: 5 })).toHaveLength(1)
      for (const i of [3000, 8999]) expect(await store.fetches.of({ fp: fp(i), limit: 5 })).toEqual([])
    })

    it('agrees with the model whatever the order, the leases, the repeats and the batches', async () => {
      const reached = new Set<WriteStatus>()
      const row = fc
        .record({
          key: fc.constantFrom('a', 'b', 'c'),
          kind: fc.constantFrom('book', 'author'),
          data: fc.constantFrom<Json>('x', 'y', { z: 1 }, null),
          crawl: fc.constantFrom('crawl-1', 'crawl-2'),
          gen: fc.integer({ min: 1, max: 2 }),
          epoch: fc.constantFrom('9', '10', '11', '100'),
          scrapedAt: fc.integer({ min: 0, max: 50 }),
          freshMs: fc.constantFrom(0, 20),
          url: fc.constantFrom('https://books.example/1', 'https://books.example/2'),
        })
        .map(record)
      const rejected = fc
        .record({ key: fc.constantFrom('a', 'b'), scrapedAt: fc.integer({ min: 0, max: 3 }) })
        .map(rejectedRow)
      const fetched = fc
        .record({
          fp: fc.constantFrom('0a', 'fa').map((fp) => fp.repeat(8)),
          at: fc.nat(20),
          page: fc.constantFrom(null, 'sha256:1'),
        })
        .map(fetchRow)
      const step = fc.record({
        batch: fc.record({
          records: fc.array(row, { maxLength: 6 }),
          rejected: fc.array(rejected, { maxLength: 2 }),
          fetches: fc.array(fetched, { maxLength: 3 }),
        }),
        repeat: fc.boolean(),
      })
      let round = 0
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
          // A spider of its own for each round keeps rounds apart in one store.
          const spider = `spider-${round++}`
          const model = memoryRecordStore()
          for (const { batch: drawn, repeat } of steps) {
            const work: WriteBatch = {
              records: drawn.records.map((one) => ({ ...one, spider })),
              rejected: drawn.rejected.map((one) => ({ ...one, spider })),
              fetches: drawn.fetches.map((one) => ({ ...one, crawl: spider })),
            }
            for (let times = repeat ? 2 : 1; times > 0; times--) {
              const expected = await model.records.write(work)
              for (const status of expected) reached.add(status)
              expect(await store.records.write(work)).toEqual(expected)
            }
          }
          const sorted = async (from: RecordStore, query: object) => {
            const rows = await all(from.records.scan({ spider, ...query }))
            return rows.sort((a, b) => `${a.kind} ${a.key}`.localeCompare(`${b.kind} ${b.key}`))
          }
          for (const query of [{}, { key: 'a' }, { since: 25 }, { url: 'https://books.example/2' }, { kind: 'book' }]) {
            expect(await sorted(store, query)).toEqual(await sorted(model, query))
          }
          for (const crawl of [undefined, 'crawl-1', 'crawl-2']) {
            const query = crawl === undefined ? { spider } : { spider, crawl }
            expect(await store.records.counts(query)).toEqual(await model.records.counts(query))
          }
          expect(await all(store.records.rejected({ spider, limit: 99 }))).toEqual(
            await all(model.records.rejected({ spider, limit: 99 })),
          )
          for (const query of [{ spider }, { spider, crawl: 'crawl-1' }])
            expect(await store.records.rejectedByField(query)).toEqual(await model.records.rejectedByField(query))
          for (const fp of ['0a', 'fa'].map((half) => half.repeat(8))) {
            const query = { fp, crawl: spider, limit: 99 }
            expect(await store.fetches.of(query)).toEqual(await model.fetches.of(query))
          }
        }),
        { numRuns: runs(150) },
      )
      expect([...reached].sort()).toEqual(['fenced', 'fresh', 'unchanged', 'written'])
    })
  })
}
