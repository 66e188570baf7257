import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startBrowser } from '../support/dashboard.js'
import { type FakeApi, startFakeApi, TOKEN } from './fake-api.js'

/** Every view, light and dark: nothing that keeps people out. */

/** Evaluated from outside: the page's rules forbid a script that is not its own. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const NOWHERE = '/nowhere'
const VIEWS = [
  '/',
  '/crawls/bookshops',
  '/crawls/bookshops/hosts',
  '/crawls/bookshops/links',
  '/crawls/bookshops/dead',
  '/crawls/bookshops/explain?url=https%3A%2F%2Fshop.example%2F',
  '/workers',
  '/proxies',
  '/records',
  '/alerts',
  '/audit',
  NOWHERE,
]

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

interface Finding {
  readonly id: string
  readonly impact: string | null
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
}

async function findings(page: Page): Promise<string[]> {
  const found = (await page.evaluate(
    'axe.run(document, { resultTypes: ["violations"] }).then((all) => all.violations)',
  )) as Finding[]
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ''}`))
}

const LOOKS = [
  { scheme: 'light', width: 1280 },
  { scheme: 'dark', width: 360 },
] as const

describe.each(LOOKS)('$scheme, $width px', ({ scheme, width }) => {
  let page: Page

  beforeAll(async () => {
    const options = { viewport: { width, height: 800 }, colorScheme: scheme, reducedMotion: 'reduce' } as const
    page = await (await browser.newContext(options)).newPage()
    await page.goto(api.origin)
    await page.evaluate(AXE)
  })

  it('signing in has no serious finding', async () => {
    await page.getByLabel('Token').waitFor()
    expect(await findings(page)).toEqual([])
    await page.getByLabel('Token').fill(TOKEN)
    await page.keyboard.press('Enter')
    await page.locator('.connection.live').waitFor()
  })

  it.each(VIEWS)('%s has no serious finding', async (view) => {
    await go(page, view)
    expect(await findings(page)).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
  })

  it('a question has no serious finding', async () => {
    await go(page, '/crawls/bookshops')
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('dialog').waitFor()
    expect(await findings(page)).toEqual([])
  })
})

/** Within the page, as a person goes: what was put into it stays. */
async function go(page: Page, view: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(view)}`)
  const [place] = view.split('?')
  await page.locator(view === NOWHERE ? 'h1:text("Page not found")' : `[aria-current][href="#${place}"]`).waitFor()
  await page.locator('main h1').waitFor()
  await page.locator('.loading').waitFor({ state: 'detached' })
}
