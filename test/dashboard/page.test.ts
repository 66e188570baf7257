import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { confirmed, question, startBrowser } from '../support/dashboard.js'
import { type FakeApi, startFakeApi, TOKEN } from './fake-api.js'
import { HOSTILE } from './fake-backends.js'

/** How the page behaves: signing in, asking before it acts, losing the server, text that wants to be more than text. */

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

/** One page for all that does not ask who is there: as a person goes from view to view. */
let shared: Page | null = null

async function open(view: string): Promise<Page> {
  if (shared === null) {
    shared = await browser.newPage()
    await shared.goto(`${api.origin}/#token=${TOKEN}&to=${view}`)
  } else {
    await shared.evaluate(`location.hash = ${JSON.stringify(view)}`)
  }
  await shared.locator('.connection.live').waitFor()
  return shared
}

describe('the token', () => {
  it('is taken out of the address, and stays for the tab', async () => {
    const page = await browser.newPage()
    await page.goto(`${api.origin}/#token=${TOKEN}&to=/workers`)
    await page.locator('.connection.live').waitFor()
    expect(page.url()).toBe(`${api.origin}/#/workers`)
    await page.reload()
    await page.locator('.connection.live').waitFor()
    expect(await page.evaluate('JSON.stringify(localStorage) + document.cookie')).not.toContain(TOKEN)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token').waitFor()
    expect(await page.evaluate('sessionStorage.length')).toBe(0)
    await page.close()
  })

  it('is asked for, and a wrong one is refused with a reason', async () => {
    const page = await browser.newPage()
    await page.goto(`${api.origin}/#token=wrong`)
    await page.getByLabel('Token').fill('wrong again')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').getByText('unauthorized').waitFor()
    await page.getByLabel('Token').fill(TOKEN)
    await page.keyboard.press('Enter')
    await page.locator('.connection.live').waitFor()
    await page.close()
  })
})

describe('a control', () => {
  it('says what it will do, and does it only then; by keyboard too', async () => {
    const page = await open('/crawls/bookshops')
    const pause = page.getByRole('button', { name: 'Pause' })
    await pause.focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('48 links in flight will be finished').waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect(api.orders).toEqual([])
    expect(await page.evaluate('document.activeElement.textContent.trim()')).toBe('Pause')
    await page.keyboard.press('Enter')
    await dialog.getByRole('button', { name: 'Pause the crawl' }).click()
    await page.getByText('bookshops is paused').waitFor()
    expect(api.orders.splice(0)).toEqual(['POST /api/crawls/bookshops/pause {}'])
  })

  it('starts a crawl and goes to it', async () => {
    const page = await open('/')
    await page.getByRole('button', { name: 'Start a crawl' }).click()
    await page.getByLabel('Spider').selectOption('jobs')
    await page.getByText('No running worker has this spider').waitFor()
    await page.getByText('shoal worker <spider file>').waitFor()
    await page.getByLabel('Fresh crawl').check()
    await page.getByText('jobs will be cancelled for good').waitFor()
    await page.getByRole('button', { name: 'Start jobs' }).click()
    await question(page).getByText('5,140 remaining links will not be').waitFor()
    await confirmed(page, 'Go back')
    await question(page).waitFor({ state: 'detached' })
    expect(api.orders).toEqual([])
    await page.getByRole('button', { name: 'Start jobs' }).click()
    await confirmed(page, 'Cancel it and start fresh')
    await page.waitForURL('**/#/crawls/jobs')
    expect(api.orders.splice(0)).toEqual(['POST /api/crawls {"spider":"jobs","fresh":true}'])
  })
})

it('says when the server is gone, and finds it again', async () => {
  const page = await open('/')
  api.setUp(false)
  await page.getByText('Connection lost, reconnecting').waitFor()
  api.setUp(true)
  await page.locator('.connection.live').waitFor()
})

it('says when the command that served it has ended, and not that it is tried again', async () => {
  const page = await open('/')
  api.sayBye()
  await page.getByText('The command that served this page has ended').waitFor()
  await page.waitForTimeout(600)
  expect(await page.getByText('reconnecting').count()).toBe(0)
  api.setUp(true)
  await page.locator('.connection.live').waitFor()
})

it('shows answers that take longer than the time between two questions', async () => {
  const slowly = async (view: string, calls: string, found: string) => {
    const page = await browser.newPage()
    await page.route(calls, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 2_600))
      await route.continue()
    })
    await page.goto(`${api.origin}/#token=${TOKEN}&to=${view}`)
    await page.getByText(found).first().waitFor({ timeout: 10_000 })
    await page.close()
  }
  await Promise.all([
    slowly('/workers', '**/api/workers', 'slots busy'),
    slowly('/crawls/bookshops/hosts', '**/hosts?*', 'shop-00003.example'),
  ])
})

it('says which crawl there is not', async () => {
  const page = await open('/crawls/nobody')
  await page.getByRole('alert').getByText('no_such_crawl').waitFor()
})

it('says once that the queue is away, and leads back from a crawl that was deleted', async () => {
  const page = await open('/crawls/bookshops/hosts')
  await page.getByText('shop-00003.example').waitFor()
  api.answerWith({ status: 503, code: 'queue_down' })
  const told = page.getByText('queue_down')
  await told.first().waitFor()
  // Time for the list to ask, too.
  await page.waitForResponse((response) => response.status() === 503)
  expect(await told.count()).toBe(1)
  api.answerWith({ status: 404, code: 'not_found' })
  await page.getByText('This crawl does not exist, or was deleted').waitFor()
  api.answerWith(null)
  await page.getByRole('link', { name: 'Go to the overview' }).click()
  await page.getByRole('heading', { name: 'Crawls' }).waitFor()
})

it('brings the tab of a view into sight on a small screen', async () => {
  const page = await open('/crawls/bookshops')
  await page.setViewportSize({ width: 360, height: 740 })
  await page.evaluate('location.hash = "/crawls/bookshops/explain"')
  const tab = page.locator('.tabs [aria-current]', { hasText: 'Explain' })
  await expect
    .poll(async () => {
      const box = await tab.boundingBox()
      return box !== null && box.x >= 0 && box.x + box.width <= 360
    })
    .toBe(true)
  await page.setViewportSize({ width: 1280, height: 720 })
})

it('shows what it fetched as text only', async () => {
  const page = await open('/')
  const refused: string[] = []
  page.on('console', (message) => refused.push(message.text()))
  for (const view of ['', 'crawls/bookshops', 'alerts', 'audit', `crawls/${encodeURIComponent(HOSTILE)}`]) {
    await page.evaluate(`location.hash = ${JSON.stringify(`/${view}`)}`)
    await page.getByText('onerror=globalThis.harmed').first().waitFor()
  }
  expect(await page.evaluate('globalThis.harmed')).toBeUndefined()
  expect(await page.evaluate('document.querySelectorAll("main img, main script, main iframe").length')).toBe(0)
  expect(await page.evaluate('[...document.links].filter((link) => !link.href.startsWith("http")).length')).toBe(0)
  expect(refused).toEqual([])
})

it('shows what the scope did to links, with the setting and an example', async () => {
  const page = await open('/crawls/bookshops')
  const panel = page.getByRole('region', { name: 'Links changed or rejected' })
  await panel.getByText('changed: session id removed').waitFor()
  const text = (await panel.textContent()) ?? ''
  expect(text).toContain('https://shop.example/a?PHPSESSID=4f1c → https://shop.example/a scope.traps.sessionIds')
  expect(text).toContain('kept: a parameter looks like a session id')
  expect(text).toContain('rejected: year outside 1900 to 2100')
})

it('shows the same figures as a table, and light or dark by hand', async () => {
  const page = await open('/crawls/bookshops')
  await page.getByRole('img', { name: /Pages and errors per second over time. Now: pages \d/ }).waitFor()
  await page.getByRole('button', { name: 'Table of Response time' }).click()
  await page
    .getByRole('table', { name: /Response time/ })
    .getByRole('row')
    .nth(12)
    .waitFor()
  for (const name of ['light', 'dark', 'auto']) {
    await page.getByRole('button', { name: /Theme/ }).click()
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe(name)
  }
})
