import { describe, expect, it } from 'vitest'
import { createShop, SHOP_DEFAULTS } from '../../src/demo/shop.js'
import { demoDefinition } from '../../src/demo/spider.js'
import { createPage } from '../../src/spider/page.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import { createAdmitter } from '../../src/url/admit.js'
import type { Json, Link } from '../../src/url/link.js'

const ORIGIN = 'http://127.0.0.1:20000'

describe('the spider of the demo', () => {
  it('finds every page of the shop and its record, and wants nothing else but what robots.txt will refuse', async () => {
    const shop = createShop({ ...SHOP_DEFAULTS, pages: 130 })
    const spider = spiderFromDefinition(demoDefinition({ origin: ORIGIN }))
    const admitter = createAdmitter(spider.admit)
    const wanted = new Set<string>()
    const records: Json[] = []
    const queue: Link[] = []
    const want = (href: string, base: string, depth: number, route?: string) => {
      const admission = admitter.resolve(href, base, route === undefined ? {} : { route })
      if (!admission.ok) return
      const link = admitter.link(admission.target, depth)
      if (!('fp' in link) || wanted.has(link.url)) return
      wanted.add(link.url)
      queue.push(link)
    }

    for (const start of spider.start) want(start, start, 0)
    for (let link = queue.shift(); link !== undefined; link = queue.shift()) {
      const { url, depth } = link
      // Late enough that pages which fail at first work by now.
      const answer = shop.answer(url.slice(ORIGIN.length), 9, ORIGIN)
      if (answer.status === 301) want(answer.headers.location ?? '', url, depth, link.route)
      if (answer.status !== 200 || url.startsWith(`${ORIGIN}/private/`)) continue
      const route = spider.routes.get(link.route)
      const page = createPage({
        url,
        requestedUrl: url,
        status: 200,
        headers: answer.headers,
        body: Buffer.from(answer.body),
        route: link.route,
        depth,
        attempt: 1,
        data: undefined,
      })
      const harvest = await route?.harvest(page)
      expect(harvest?.rejected).toEqual([])
      records.push(...(harvest?.records ?? []).map((record) => record.data))
      for (const found of harvest?.links ?? []) want(found.href, url, depth + 1, found.route)
    }

    const site = shop.siteMap()
    const forbidden = [...wanted].filter((url) => url.startsWith(`${ORIGIN}/private/`))
    expect(forbidden).toEqual([`${ORIGIN}/private/account.html`])
    expect([...wanted].sort()).toEqual([...site.map((page) => ORIGIN + page.path), ...forbidden].sort())
    const expected = site.flatMap(({ product, alwaysFails }) =>
      product === undefined || alwaysFails ? [] : [{ title: product.title, price: product.price, sku: product.sku }],
    )
    const bySku = (a: Json, b: Json) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)
    const found = records.map((data) => {
      const { title, price, sku } = data as { title: string; price: number; sku: string }
      return { title, price, sku }
    })
    expect(found.sort(bySku)).toEqual(expected.sort(bySku))
  })
})
