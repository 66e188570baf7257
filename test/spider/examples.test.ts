import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { createShop, SHOP_DEFAULTS } from '../../src/demo/shop.js'
import { loadSpider } from '../../src/spider/load.js'
import { createPage } from '../../src/spider/page.js'
import { createAdmitter } from '../../src/url/admit.js'

const ORIGIN = 'https://books.example'

it('the example spider finds the books of a shop that looks like the demo', async () => {
  const spider = await loadSpider(fileURLToPath(new URL('../../examples/books.ts', import.meta.url)))
  const shop = createShop({ ...SHOP_DEFAULTS, faults: 0 })
  const door = createAdmitter(spider.admit)
  const visit = async (href: string, base: string, given?: string) => {
    const admission = door.resolve(href, base, given === undefined ? {} : { route: given })
    if (!admission.ok) throw new Error(admission.refusal.message)
    const { url, route } = admission.target
    const { status, headers, body } = shop.answer(url.slice(ORIGIN.length), 1, ORIGIN)
    const page = createPage({
      ...{ url, requestedUrl: url, status, headers, route, depth: 0, attempt: 1, data: undefined },
      body: Buffer.from(body),
    })
    return { url, harvest: await spider.routes.get(route)?.harvest(page) }
  }

  const listing = await visit(`${ORIGIN}/`, `${ORIGIN}/`)
  const next = listing.harvest?.links.find(({ route }) => route === 'listing')
  // The shop has moved some of its books.
  const book = listing.harvest?.links.find(
    ({ route, href }) => route === 'book' && shop.answer(href, 1, ORIGIN).status === 200,
  )
  expect((await visit(next?.href ?? '', listing.url, next?.route)).harvest?.links.length).toBeGreaterThan(10)
  const { harvest } = await visit(book?.href ?? '', listing.url, book?.route)
  expect(harvest).toMatchObject({
    records: [
      { kind: 'book', data: { title: expect.any(String), price: expect.any(Number), sku: expect.any(String) } },
    ],
    rejected: [],
  })
})
