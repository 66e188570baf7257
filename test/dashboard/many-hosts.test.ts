import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { HostView, Page as ListPage } from '../../src/api/api-types.js'
import { startBrowser } from '../support/dashboard.js'
import { type FakeApi, startFakeApi, TOKEN } from './fake-api.js'
import { hosts } from './fake-backends.js'

/** A crawl of ten thousand hosts: loaded as one scrolls, drawn where one looks. */
const HOSTS = 10_000
/** More than the real server gives at once: the test is about drawing them. */
const AT_ONCE = 2_500

let api: FakeApi
let browser: Browser

beforeAll(async () => {
  api = await startFakeApi()
  browser = await startBrowser()
})

afterAll(async () => {
  await browser?.close()
  await api?.close()
})

function answer(url: URL): ListPage<HostView> {
  const from = Number(url.searchParams.get('after') ?? 0)
  const [like] = hosts()
  if (like === undefined) throw new Error('there is no host to copy')
  const items = Array.from({ length: AT_ONCE }, (_, nth) => ({
    ...like,
    host: nameOf(from + nth),
  }))
  return { items, next: from + AT_ONCE < HOSTS ? String(from + AT_ONCE) : null }
}

function nameOf(nth: number): string {
  return `shop-${String(nth).padStart(5, '0')}.example`
}

it('scrolls through ten thousand hosts with a few dozen rows at a time', async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  await page.route('**/api/crawls/*/hosts?*', (route) =>
    route.fulfill({ json: answer(new URL(route.request().url())) }),
  )
  await page.goto(`${api.origin}/#token=${TOKEN}&to=/crawls/bookshops/hosts?order=name`)
  await page.getByRole('button', { name: nameOf(0) }).waitFor()
  const rows = () => page.getByRole('row').count()
  const last = page.getByRole('button', { name: nameOf(HOSTS - 1) })
  let most = await rows()
  while ((await last.count()) === 0) {
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 0)))')
    most = Math.max(most, await rows())
  }
  expect(most).toBeLessThan(100)
  await page.evaluate('scrollTo(0, 0)')
  await page.getByRole('button', { name: nameOf(0) }).click()
  await page.getByLabel('Seconds between requests').waitFor()
  await page.close()
}, 60_000)
