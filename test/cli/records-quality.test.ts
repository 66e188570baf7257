import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.js'
import { SqliteFrontierEngine } from '../../src/frontier/sqlite/sqlite-engine.js'
import { HOUR_MS } from '../../src/quality/field-row.js'
import { FieldTally } from '../../src/quality/field-tally.js'
import { SqliteDb } from '../../src/sqlite/db.js'
import { migrateStore } from '../../src/store/sqlite/schema.js'
import type { Json } from '../../src/url/link.js'
import { batch, record } from '../contract/record-store-contract.js'
import { sqliteStoreOn } from '../support/sqlite-store.js'
import { shoal } from './cli.js'

const dir = mkdtempSync(join(tmpdir(), 'shoal-quality-'))
const now = systemClock.now()

const SPIDER = `
import { defineSpider } from 'shoal'
import { sqliteStoreOn } from '../support/sqlite-store.js'
export default defineSpider({
  name: 'shops',
  start: ['https://a.example/'],
  records: {
    product: { merge: { identity: 'gtin', ignoreCase: true, prefer: { title: 'longest', price: { sites: ['b.example'] } } } },
    review: {},
  },
  routes: { page: { match: '**' } },
})
`

beforeAll(async () => {
  writeFileSync(join(dir, 'shops.ts'), SPIDER)
  const db = new SqliteDb(join(dir, 'shoal.db'))
  SqliteFrontierEngine.migrate(db)
  migrateStore(db)
  const store = sqliteStoreOn(db, async () => {})
  const tally = new FieldTally()
  const seen = (site: string, scrapedAt: number, data: Json) =>
    tally.note({ records: [{ spider: 'shops', kind: 'product', site, scrapedAt, data }], rejected: [] })
  for (let i = 0; i < 400; i++) {
    seen(`${i % 2 === 0 ? 'a' : 'b'}.example`, now - 3 * HOUR_MS, { title: `T${i}`, price: i % 10 })
    seen(`${i % 2 === 0 ? 'a' : 'b'}.example`, now, { title: `T${i}`, price: i % 2 === 0 ? i % 10 : '' })
  }
  const rejected = {
    spider: 'shops',
    kind: 'product',
    site: 'a.example',
    scrapedAt: now,
    data: { title: 7, tags: ['x'] },
  }
  tally.note({ records: [], rejected: [{ ...rejected, issues: [{ field: 'title' }] }] })
  await store.fields.add(tally.take())

  const product = { spider: 'shops', kind: 'product', history: true }
  const pen = (site: string, epoch: string, scrapedAt: number, data: Json) =>
    record({ ...product, site, key: 'pen', identity: '4006381', epoch, scrapedAt, data, url: `https://${site}/pen` })
  await store.records.write(batch({ records: [pen('a.example', '1', now - 9000, { title: 'Pen', price: 2, old: 1 })] }))
  await store.records.write(
    batch({
      records: [
        pen('a.example', '2', now - 5000, { title: 'Blue pen \u001b[31m', price: 2, stock: 'yes' }),
        pen('b.example', '2', now - 8000, { title: 'Pen', price: 3, gtin: '4006381' }),
        record({ ...product, site: 'a.example', key: 'alone', data: { title: 'No number' } }),
      ],
    }),
  )
  db.close()
})
afterAll(() => rmSync(dir, { recursive: true }))

const call = (...args: string[]) => shoal([...args, '--queue', `sqlite:${join(dir, 'shoal.db')}`], { cwd: dir })

describe('records stats', () => {
  it('shows see how often fields are filled, and what drifts, where and since when', async () => {
    const { code, out, err } = await call('records', 'stats')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const [title, head, ...lines] = out.trimEnd().split('\n')
    expect(title).toBe('shops product: 801 records in the last 24 h, 1 rejected')
    expect(head).toMatch(/^field +filled +distinct +failed +type$/)
    expect(lines[0]).toMatch(/^price +█{14}░{6} +74 % +10 +0 +number$/)
    expect(lines[1]).toMatch(/^tags +█░{19} +<1 % +1 +0 +list$/)
    expect(lines[2]).toMatch(/^title +█{19}░ +99 % +~\d+ +1 +text$/)
    expect(lines[3]).toMatch(
      /^drift price on b\.example: 0 % of 200 records, was 100 % until \d{4}-\d\d-\d\d \d\d:00:00$/,
    )
    expect(lines).toHaveLength(4)
  })

  it('tells programs the same', async () => {
    const { out } = await call('records', 'stats', 'shops', '--kind', 'product', '--window', '1h', '--json')
    const kind = JSON.parse(out) as { fields: { field: string }[] }
    expect(kind).toMatchObject({ spider: 'shops', kind: 'product', records: 401, rejected: 1, window: HOUR_MS })
    expect(kind.fields.map(({ field }) => field)).toEqual(['price', 'tags', 'title'])
    expect(kind.fields[0]).toMatchObject({
      ...{ filled: 200, failed: 0, distinct: 5, exact: true, types: { number: 200, text: 0 } },
      drift: [{ site: 'b.example', before: { records: 200, filled: 200 }, now: { records: 200, filled: 0 } }],
    })
  })

  it('says when there is nothing, and what a window is', async () => {
    expect(await call('records', 'stats', 'nobody')).toMatchObject({
      ...{ code: 5, out: '', err: expect.stringContaining("there is no spider 'nobody'") },
    })
    const { code, err } = await call('records', 'stats', '--window', 'soon')
    expect(code).toBe(2)
    expect(err).toContain('Expected a duration like 24h or 7d.')
  })
})

describe('records history', () => {
  it('shows the changes of each field, newest first', async () => {
    const { code, out } = await call('records', 'history', 'pen')
    expect(code).toBe(0)
    const lines = out.trimEnd().split('\n')
    expect(lines[0]).toBe('product pen')
    expect(lines[1]).toBe('  https://a.example/pen, spider shops')
    expect(lines.slice(3, 6)).toEqual([
      '    title: Pen → Blue pen  [31m',
      '    old: 1 → nothing',
      '    stock: nothing → yes',
    ])
    expect(lines[6]).toMatch(/first version kept:$/)
    expect(lines.slice(7, 10)).toEqual(['    title: Pen', '    price: 2', '    old: 1'])
    expect(lines.slice(10, 12)).toEqual(['', 'product pen'])
    expect(lines[13]).toMatch(/current version:$/)
  })

  it('gives programs every version, and says what is not there', async () => {
    const { out } = await call('records', 'history', 'pen', '--site', 'a.example', '--spider', 'shops', '--json')
    const versions = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { changes: object[]; until: number })
    expect(versions).toHaveLength(2)
    expect(versions[0]).toMatchObject({
      until: null,
      changes: [{ field: 'title' }, { field: 'old' }, { field: 'stock' }],
    })
    expect(versions[1]).toMatchObject({ until: now - 5000, data: { price: 2 }, changes: null })
    const missing = await call('records', 'history', 'nothing')
    expect(missing.code).toBe(5)
    expect(missing.err).toContain('there is no record with the key nothing')
  })
})

describe('records merged', () => {
  it('shows what several records say together, and where each field comes from', async () => {
    const { code, out } = await call('records', 'merged', 'shops.ts')
    expect(code).toBe(0)
    const lines = out.trimEnd().split('\n')
    expect(lines[0]).toBe('product 4006381  2 records of a.example, b.example')
    expect(lines[1]).toMatch(/^ {2}field +value +from +seen$/)
    expect(lines[2]).toMatch(/^ {2}title +Blue pen {2}\[31m +a\.example/)
    expect(lines[3]).toMatch(/^ {2}price +3 +b\.example/)
    expect(lines.slice(4, 6).map((line) => line.split(/ +/)[1])).toEqual(['stock', 'gtin'])
    expect(lines[7]).toMatch(/^product alone {2}1 record of a\.example$/)
  })

  it('finds one by its identity, as JSON', async () => {
    const { out } = await call('records', 'merged', 'shops.ts', '--identity', ' 4006381 ', '--json')
    expect(JSON.parse(out)).toMatchObject({
      ...{ key: '4006381', identity: '4006381', site: 'a.example', count: 2 },
      data: { price: 3, gtin: '4006381' },
      provenance: { price: { site: 'b.example', key: 'pen', url: 'https://b.example/pen' } },
    })
    const missing = await call('records', 'merged', 'shops.ts', '--identity', 'nothing')
    expect(missing).toMatchObject({ code: 5, err: expect.stringContaining('no record has the identity nothing') })
  })

  it('is what an export gives when asked to', async () => {
    const { code, out } = await call('export', '--merged', 'shops.ts')
    const rows = out.trimEnd().split('\n')
    expect({ code, keys: rows.map((row) => (JSON.parse(row) as { key: string }).key) }).toEqual({
      code: 0,
      keys: ['4006381', 'alone'],
    })
    expect(JSON.parse(rows[0] ?? '')).toMatchObject({ site: 'a.example', data: { price: 3 } })
    const { code: refused, err } = await call('export', '--merged', 'shops.ts', '--spider', 'shops')
    expect({ refused, err }).toMatchObject({
      refused: 2,
      err: expect.stringContaining('--spider cannot be combined with --merged'),
    })
  })

  it('needs a kind that says how', async () => {
    const review = await call('records', 'merged', 'shops.ts', '--kind', 'review')
    expect(review.code).toBe(2)
    expect(review.err).toContain('the kind review of shops does not have merge rules')
  })
})
