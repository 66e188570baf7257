import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { StoredRecord } from '../../src/store/record-store.js'
import { lastJson } from '../support/cli.js'
import { type CrawledShop, crawlShop, damage, dialled, PRODUCTS, RIGHT, signalled, WRONG } from './reparse.js'

let shop: CrawledShop & { crawl: string }
beforeAll(async () => {
  shop = await crawlShop(null)
})
afterAll(() => shop.close())

const priceOf = ({ data }: StoredRecord) => (data as { price?: number | null }).price ?? null
const skuOf = ({ data }: StoredRecord) => (data as { sku: string }).sku

describe('shoal reparse', () => {
  it('shows what a mended selector would change, writes it without a single request, and can be repeated', async () => {
    const before = await shop.records()
    expect(before.map(priceOf)).toEqual(Array(PRODUCTS).fill(null))
    const dry = await shop.reparse({ fields: RIGHT }, '--dry-run')
    const clean = { code: 0, missing: 0, failed: 0, rejected: 0, fenced: 0, gone: 0, interrupted: false }
    expect(dry).toMatchObject({ ...clean, dryRun: true, written: PRODUCTS, added: 0, unchanged: 0 })
    // Pages that only list products.
    expect(dry.passed).toBeGreaterThan(0)
    expect(dry.pages).toBe(PRODUCTS + Number(dry.passed))
    expect(dry.fields).toEqual([
      {
        ...{ kind: 'product', field: 'price', records: PRODUCTS, filled: PRODUCTS, emptied: 0, retyped: 0, changed: 0 },
        examples: expect.arrayContaining([expect.objectContaining({ after: expect.stringMatching(/^[\d.]+$/) })]),
      },
    ])
    expect(await shop.records()).toEqual(before)

    const first = await shop.reparse({ fields: RIGHT }, '--workers', '3')
    expect(first).toMatchObject({ ...clean, written: PRODUCTS, unchanged: 0, pages: dry.pages })
    const rows = await shop.records()
    for (const [index, row] of rows.entries()) {
      const old = before[index] as StoredRecord
      const { key, url, crawl, scrapedAt, firstSeenAt } = old
      expect(row).toMatchObject({ key, url, crawl, scrapedAt, firstSeenAt })
      expect([skuOf(row), priceOf(row)]).toEqual([skuOf(old), expect.any(Number)])
      expect(row.updatedAt).toBeGreaterThan(old.updatedAt)
    }
    expect(await shop.reparse({ fields: RIGHT })).toMatchObject({ ...clean, written: 0, unchanged: PRODUCTS })
    expect(await shop.records()).toEqual(rows)
    expect(dialled(shop.dir)).toEqual([])
  })

  it('finishes the page in hand at Ctrl-C; killed outright and run again it gives the same rows', async () => {
    const stopped = await signalled(shop, 'SIGINT', { fields: WRONG })
    expect(stopped.code).toBe(130)
    const { pages, interrupted, written } = lastJson(stopped.stdout)
    expect({ interrupted, left: Number(pages) < PRODUCTS }).toEqual({ interrupted: true, left: true })
    expect(Number(written)).toBeGreaterThan(0)
    expect((await signalled(shop, 'SIGKILL', { fields: WRONG })).signal).toBe('SIGKILL')
    const half = (await shop.records()).map(priceOf)
    expect([half.length, half.includes(null), half.some((price) => price !== null)]).toEqual([PRODUCTS, true, true])
    expect(await shop.reparse({ fields: RIGHT })).toMatchObject({ code: 0, interrupted: false })
    expect((await shop.records()).map(priceOf)).toEqual(Array(PRODUCTS).fill(expect.any(Number)))
  })

  it('does not overwrite what a newer crawl gave', async () => {
    const newer = await shop.crawlAgain()
    const before = await shop.records()
    const old = await shop.reparse({ fields: RIGHT }, '--crawl', shop.crawl)
    expect(old).toMatchObject({ code: 0, written: 0, fenced: PRODUCTS })
    expect(await shop.records()).toEqual(before)
    const again = await shop.reparse({ fields: RIGHT }, '--crawl', newer, '--route', 'product')
    expect(again).toMatchObject({ code: 0, pages: PRODUCTS, written: PRODUCTS, fenced: 0 })
  })

  it('tells of routes that are gone, handlers that throw, pages that are damaged and records that are gone', async () => {
    damage(join(shop.dir, '.shoal', 'pages'))
    const handler = `handler({ url }) { if (url.includes('_1/')) throw new Error('no'); if (url.includes('_2/')) void Promise.reject(new Error('late')) },`
    const fields = { sku: '.sku', title: 'h1' }
    const report = await shop.reparse({ fields, route: 'article', key: '', handler }, '--dry-run')
    const missing = Number(report.missing)
    expect(missing).toBeGreaterThan(0)
    expect(report.missingPages).toContainEqual(expect.stringMatching(/^http:/))
    expect(report.rerouted).toBeGreaterThanOrEqual(PRODUCTS - missing)
    expect(report).toMatchObject({ code: 0, unrouted: 0, failed: 1, added: report.written, gone: report.written })
    expect(report.written).toBeGreaterThanOrEqual(PRODUCTS - missing - 1)
    expect(report.goneRecords).toHaveLength(20)
    expect(report.failures).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          code: 'handler_error',
          message: expect.stringMatching(/^shop\.ts:\d+:\d+: Error: no$/),
          count: 1,
        }),
        expect.objectContaining({ code: 'handler_error', message: expect.stringContaining('Error: late') }),
      ]),
    )
  })

  it('says in one line that there is nothing to read', async () => {
    const { code, stderr } = await shop.shoal('reparse', 'shop.ts', '--route', 'nowhere')
    expect({ code, stderr }).toEqual({
      code: 5,
      stderr: expect.stringMatching(/^error not_found: spider shop has no saved raw pages that match\n {2}→ .*\n$/),
    })
  })
})
