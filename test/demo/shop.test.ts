import * as cheerio from 'cheerio'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createShop, FORBIDDEN, SHOP_DEFAULTS, type Shop, type SitePage } from '../../src/demo/shop.js'
import { runs } from '../support/longer.js'

const ORIGIN = 'http://127.0.0.1:20000'

/** Follows every link of the site but the forbidden ones, asking again where a page fails, as a crawl would. */
function walk(shop: Shop): Map<string, { status: number; asked: number }> {
  const found = new Map<string, { status: number; asked: number }>()
  const queue = ['/']
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    if (found.has(path)) continue
    let asked = 1
    let answer = shop.answer(path, asked, ORIGIN)
    while ([500, 429].includes(answer.status) && asked < 4) answer = shop.answer(path, ++asked, ORIGIN)
    found.set(path, { status: answer.status, asked })
    const hrefs = answer.status === 301 ? [answer.headers.location] : answer.status === 200 ? hrefsOf(answer.body) : []
    for (const href of hrefs)
      if (href !== undefined && !FORBIDDEN.some((prefix) => href.startsWith(prefix))) queue.push(href)
  }
  return found
}

function hrefsOf(html: string): (string | undefined)[] {
  const $ = cheerio.load(html)
  return $('a')
    .toArray()
    .map((element) => $(element).attr('href'))
}

const byPath = (site: readonly SitePage[]) => new Map(site.map((page) => [page.path, page]))

describe('the demo shop', () => {
  it('has exactly the pages of its site map, whatever the options', () => {
    const options = fc.record({
      seed: fc.integer({ min: 0, max: 1_000_000 }),
      pages: fc.integer({ min: 1, max: 130 }),
      bytes: fc.constant(1_000),
      faults: fc.constantFrom(0, 0.5, 1, 3),
    })
    fc.assert(
      fc.property(options, (given) => {
        const shop = createShop(given)
        const site = byPath(shop.siteMap())
        expect(site.size).toBe(shop.siteMap().length)
        const found = walk(shop)
        expect([...found.keys()].sort()).toEqual([...site.keys()].sort())
        for (const [path, { status, asked }] of found) {
          const page = site.get(path)
          const expected = page?.kind === 'moved' ? 301 : page?.kind === 'missing' ? 404 : page?.alwaysFails ? 500 : 200
          expect({ path, status }).toEqual({ path, status: expected })
          if (status === 200) expect(asked).toBe(1 + (page?.failsFirst ?? 0))
        }
      }),
      { numRuns: runs(15) },
    )
  })

  it('gives every product page the record of the site map', () => {
    const shop = createShop({ ...SHOP_DEFAULTS, pages: 40 })
    for (const { path, product, alwaysFails, failsFirst } of shop.siteMap()) {
      if (product === undefined || alwaysFails) continue
      const $ = cheerio.load(shop.answer(path, failsFirst + 1, ORIGIN).body)
      expect($('h1').text()).toBe(product.title)
      expect($('.price').text()).toBe(`£${product.price.toFixed(2)}`)
      expect($('.sku').text()).toBe(product.sku)
    }
  })

  it('has pages of the size asked for, with ten to forty links', () => {
    const shop = createShop({ ...SHOP_DEFAULTS, bytes: 9_000 })
    for (const { path, kind, alwaysFails } of shop.siteMap()) {
      if (kind !== 'product' || alwaysFails) continue
      const { body } = shop.answer(path, 9, ORIGIN)
      expect(Buffer.byteLength(body)).toBeGreaterThan(9_000)
      expect(Buffer.byteLength(body)).toBeLessThan(9_300)
      expect(hrefsOf(body).length).toBeGreaterThanOrEqual(10)
      expect(hrefsOf(body).length).toBeLessThanOrEqual(40)
    }
  })

  it('casts every part in the default shop, and none but redirects without faults', () => {
    const usual = createShop(SHOP_DEFAULTS).siteMap()
    expect(usual.filter((page) => page.alwaysFails && page.kind === 'product')).toHaveLength(3)
    expect(usual.filter((page) => page.slowMs > 0)).toHaveLength(6)
    expect(usual.filter((page) => page.failsFirst > 0)).toHaveLength(11)
    expect(usual.filter((page) => page.kind === 'moved')).toHaveLength(3)
    const calm = createShop({ ...SHOP_DEFAULTS, faults: 0 }).siteMap()
    expect(calm.filter((page) => page.alwaysFails || page.slowMs > 0 || page.failsFirst > 0)).toEqual([])
  })

  it('forbids in robots.txt what its pages link to all the same', () => {
    const shop = createShop(SHOP_DEFAULTS)
    const { body } = shop.answer('/robots.txt', 1, ORIGIN)
    expect(body).toContain('Disallow: /private/')
    expect(body).toContain('Disallow: /calendar/')
    expect(body).toContain(`Sitemap: ${ORIGIN}/sitemap.xml`)
    const links = hrefsOf(shop.answer('/', 1, ORIGIN).body)
    for (const prefix of FORBIDDEN) expect(links.some((href) => href?.startsWith(prefix))).toBe(true)
  })

  it('lists every product in the sitemap', () => {
    const shop = createShop(SHOP_DEFAULTS)
    const { body } = shop.answer('/sitemap.xml', 1, ORIGIN)
    const listed = [...body.matchAll(/<loc>([^<]*)<\/loc>/g)].map((match) => match[1])
    const products = shop.siteMap().filter((page) => page.kind === 'product')
    expect(listed).toEqual([`${ORIGIN}/`, ...products.map((page) => ORIGIN + page.path)])
  })

  it('has a calendar that never ends', () => {
    const shop = createShop(SHOP_DEFAULTS)
    let path = '/events/?month=2026-01'
    const seen = new Set<string>()
    for (let month = 0; month < 30; month++) {
      expect(seen.has(path)).toBe(false)
      seen.add(path)
      path =
        cheerio
          .load(shop.answer(path, 1, ORIGIN).body)('a.next')
          .attr('href') ?? ''
    }
    expect(path).toBe('/events/?month=2028-07')
  })
})
