import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { ManualClock } from '../../../src/clock.js'
import { type ReparseParts, reparsePages } from '../../../src/run/reparse/reparse-pages.js'
import type { ReparseReport } from '../../../src/run/reparse/reparse-report.js'
import { defineSpider } from '../../../src/spider/definition.js'
import { spiderFromDefinition } from '../../../src/spider/resolve.js'
import type { Spider } from '../../../src/spider/spider.js'
import type { KeptPage } from '../../../src/store/kept-pages.js'
import { memoryRecordStore } from '../../../src/store/memory/memory-record-store.js'
import type { FetchRow, RecordStore, StoredRecord } from '../../../src/store/record-store.js'
import { createAdmitter } from '../../../src/url/admit.js'
import { batch, fetchRow, record } from '../../contract/record-store-contract.js'

const html = (title: string, price: string) => `<h1>${title}</h1><p class="price">${price}</p>`
const PAGES: Record<string, string> = { 'sha256:1': html('One', '£1'), 'sha256:2': html('Two', '£2') }
const NOW = 99_000

function spider(fields: Record<string, unknown>, more: Record<string, unknown> = {}) {
  const definition = {
    name: 'books',
    start: ['https://books.example/'],
    records: { book: z.any() },
    routes: { book: { match: '/**', record: { kind: 'book', fields }, ...more } },
  }
  return spiderFromDefinition(defineSpider(definition as never))
}

const FIXED = spider({ title: 'h1', price: { select: '.price', as: 'number' } })

function kept(n: number, fields: Partial<FetchRow> = {}): KeptPage {
  const url = `https://books.example/${n}`
  const page = `sha256:${n}`
  return { ...fetchRow({ fp: n.toString(16).padStart(16, '0'), url, headers: {}, at: 10_000, ...fields }), page }
}

let store: RecordStore
beforeEach(async () => {
  store = memoryRecordStore()
  const old = (n: number) => ({ key: `https://books.example/${n}`, url: `https://books.example/${n}` })
  await store.records.write(
    batch({
      records: [
        record({ ...old(1), data: { title: 'One', price: null } }),
        record({ ...old(2), data: { title: 'Two', price: null }, epoch: '2000' }),
      ],
    }),
  )
})

function run(
  pages: KeptPage[],
  { spider: used = FIXED, ...parts }: Partial<Omit<ReparseParts, 'spider'>> & { spider?: Spider } = {},
): Promise<ReparseReport> {
  const reader = { spider: used, admitter: createAdmitter(used.admit) }
  return reparsePages(pages, {
    spider: used,
    readerOf: () => reader,
    store,
    pages: { get: async (ref) => (PAGES[ref] === undefined ? null : Buffer.from(PAGES[ref])) },
    clock: new ManualClock(),
    dryRun: false,
    startedAt: NOW,
    inTurn: (work) => work(),
    isDraining: () => false,
    onHandler: () => {},
    untilBack: (call) => call(),
    ...parts,
  })
}

async function rows(): Promise<StoredRecord[]> {
  const found: StoredRecord[] = []
  for await (const row of store.records.scan({})) found.push(row)
  return found.sort((a, b) => (a.key < b.key ? -1 : 1))
}

describe('pages that are read again', () => {
  it('overwrite what they gave, with the lease that read them, and nothing newer', async () => {
    const report = await run([kept(1), kept(2)])
    expect(report.kinds.get('book')).toMatchObject({ written: 1, fenced: 1, unchanged: 0, gone: 0 })
    const [one, two] = await rows()
    expect(one).toMatchObject({ data: { title: 'One', price: 1 }, updatedAt: NOW, scrapedAt: 10_000, crawl: 'crawl-1' })
    expect(two).toMatchObject({ data: { title: 'Two', price: null }, updatedAt: 10_000 })
    expect((await run([kept(1), kept(2)])).kinds.get('book')).toMatchObject({ written: 0, fenced: 1, unchanged: 1 })
  })

  it('are told of and not written in a dry run', async () => {
    const before = await rows()
    const report = await run([kept(1), kept(2, { epoch: '2000' }), kept(3)], { dryRun: true })
    expect(await rows()).toEqual(before)
    expect(report).toMatchObject({ pages: 3, failed: 0, missing: { count: 1, examples: ['https://books.example/3'] } })
    expect(report.kinds.get('book')).toMatchObject({ written: 2, added: 0, fenced: 0 })
    expect([...(report.fields.get('book')?.keys() ?? [])]).toEqual(['price'])
    expect(report.fields.get('book')?.get('price')).toEqual({
      ...{ records: 2, filled: 2, emptied: 0, retyped: 0, changed: 0 },
      examples: [
        { key: 'https://books.example/1', url: 'https://books.example/1', before: 'null', after: '1' },
        { key: 'https://books.example/2', url: 'https://books.example/2', before: 'null', after: '2' },
      ],
    })
  })

  it('come to the handler as they were: URL after redirects, data and depth of the link, status, headers', async () => {
    const seen: unknown[] = []
    const looking = spider(
      { title: 'h1' },
      {
        handler: (page: Record<string, unknown>) => {
          const { url, requestedUrl, status, headers, route, depth, attempt, data } = page
          seen.push({ url, requestedUrl, status, headers, route, depth, attempt, data })
        },
      },
    )
    const url = 'https://books.example/asked'
    const link = { url, fp: 'ff', host: 'books.example', route: 'book', depth: 4, priority: 0, data: { list: 7 } }
    const headers = { 'content-type': 'text/html; charset=windows-1252' }
    await run([kept(1, { link, headers, attempt: 3, status: 203 })], { spider: looking })
    expect(seen).toEqual([
      {
        ...{ url: 'https://books.example/1', requestedUrl: url, status: 203, headers, route: 'book', depth: 4 },
        ...{ attempt: 3, data: { list: 7 } },
      },
    ])
    // As in a visit the record belongs to the link, and the page gives its key.
    expect((await rows()).find((row) => row.url === url)).toMatchObject({ key: 'https://books.example/1' })
  })

  it('are counted when their handler fails, waits too long or their route is gone, and stop nobody', async () => {
    const clock = new ManualClock()
    const failing = spider(
      { title: 'h1' },
      {
        handlerTimeout: '1s',
        handler: (page: { url: string }) => {
          if (page.url.endsWith('/1')) throw new TypeError('no price')
          if (page.url.endsWith('/2')) return new Promise(() => {})
        },
      },
    )
    PAGES['sha256:5'] = html('Five', '')
    const running = run([kept(1), kept(2), kept(5, { route: 'renamed' })], { spider: failing, clock })
    let ended = false
    void running.finally(() => {
      ended = true
    })
    while (!ended) {
      await new Promise(setImmediate)
      clock.advance(100)
    }
    const report = await running
    expect(report).toMatchObject({ pages: 3, failed: 2, rerouted: 1, unrouted: { count: 0 } })
    expect([...report.failures.values()]).toEqual([
      {
        code: 'handler_error',
        message: expect.stringMatching(/: TypeError: no price$/),
        count: 1,
        url: 'https://books.example/1',
      },
      expect.objectContaining({ code: 'handler_timeout', count: 1, url: 'https://books.example/2' }),
    ])
    // What is stored of a page that failed is neither gone nor touched.
    expect(report.gone.count).toBe(0)
    expect(await rows()).toHaveLength(3)
    const outside = spider({ title: 'h1' }, { match: '/' })
    expect(await run([kept(1, { route: 'renamed' })], { spider: outside })).toMatchObject({
      unrouted: { count: 1, examples: ['https://books.example/1'] },
    })
  })

  it('name the records that they do not give any more, and leave them', async () => {
    const byTitle = spider({ title: 'h1' }, { record: { kind: 'book', key: 'title', fields: { title: 'h1' } } })
    for (const dryRun of [true, false]) {
      const report = await run([kept(1), kept(2)], { spider: byTitle, dryRun })
      expect(report.kinds.get('book')).toMatchObject({ written: 2, gone: 1 })
      // The record of the second page is held by a newer one.
      expect(report.gone.examples).toEqual([
        { kind: 'book', key: 'https://books.example/1', url: 'https://books.example/1' },
      ])
      expect(await rows()).toHaveLength(dryRun ? 2 : 4)
    }
  })

  it('are not even read where their route only follows links; what they gave before is gone', async () => {
    const following = spider({}, { record: undefined, follow: [{ links: 'a' }] })
    const pages = { get: () => Promise.reject(new Error('read')) }
    const report = await run([kept(1), kept(2)], { spider: following, pages })
    expect(report).toMatchObject({ pages: 2, passed: 2, missing: { count: 0 }, gone: { count: 1 } })
    expect(await rows()).toHaveLength(2)
  })

  it('set aside what does not fit its schema or cannot be stored, once', async () => {
    const strict = spiderFromDefinition(
      defineSpider({
        name: 'books',
        start: ['https://books.example/'],
        records: { book: z.object({ title: z.string().min(4) }), odd: z.any() },
        routes: {
          book: {
            match: '/**',
            record: { kind: 'book', fields: { title: 'h1' } },
            handler(_page, out) {
              const circle: Record<string, unknown> = {}
              circle.self = circle
              out.record('odd', 'circle', circle as never)
            },
          },
        },
      }),
    )
    for (const dryRun of [true, false, false]) {
      const report = await run([kept(1)], { spider: strict, dryRun })
      expect(report.kinds.get('book')).toMatchObject({ rejected: 1, written: 0, gone: 0 })
      expect(report.kinds.get('odd')).toMatchObject({ rejected: 1, written: 0 })
    }
    const aside: string[] = []
    for await (const row of store.records.rejected({ limit: 9 })) aside.push(row.reason)
    expect(aside.sort()).toEqual(['invalid', 'quarantined'])
  })
})
