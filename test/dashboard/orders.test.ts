import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { confirmed, goTo, question, startBrowser } from '../support/dashboard.js'
import { type FakeApi, startFakeApi, TOKEN } from './fake-api.js'

/** What each button of the views sends, after its question and not before. */

let api: FakeApi
let browser: Browser
let page: Page

beforeAll(async () => {
  api = await startFakeApi()
  browser = await startBrowser()
  page = await browser.newPage()
  await page.goto(`${api.origin}/#token=${TOKEN}&to=/`)
  await page.locator('.connection.live').waitFor()
})

afterAll(async () => {
  await browser?.close()
  await api?.close()
})

const CRAWL = '/crawls/bookshops'
const fp = (nth: number) => nth.toString(16).padStart(16, '0')
const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' }).last()

const ORDERS: readonly [
  what: string,
  place: string,
  steps: readonly (string | RegExp)[],
  action: string,
  sent: string,
][] = [
  [
    'changes a pace',
    `${CRAWL}/hosts?order=name`,
    ['shop-00003.example', 'Change the pace'],
    'Change the pace',
    'PUT /api/hosts/shop-00003.example {"delayMs":1000,"concurrency":2}',
  ],
  [
    'blocks a host',
    `${CRAWL}/hosts?order=name&begins=shop-00004`,
    ['shop-00004.example', 'Block'],
    'Block the host',
    'PUT /api/hosts/shop-00004.example {"blocked":true}',
  ],
  [
    'opens a host again',
    `${CRAWL}/hosts?order=name&begins=shop-00002`,
    ['shop-00002.example', 'Unblock'],
    'Unblock the host',
    'PUT /api/hosts/shop-00002.example {"blocked":false}',
  ],
  [
    'promotes a link',
    `${CRAWL}/links?state=queued`,
    [/^Promote .*\/p\/2\?/],
    'Promote it',
    `POST /api/crawls/bookshops/links/${fp(2)}/promote {"host":"shop.example"}`,
  ],
  [
    'retries a link',
    `${CRAWL}/links?state=delayed`,
    [/^Retry .*\/p\/3\?/],
    'Retry it',
    `POST /api/crawls/bookshops/links/${fp(3)}/retry {"host":"shop.example"}`,
  ],
  [
    'removes a link',
    `${CRAWL}/links?state=delayed`,
    [/^Remove .*\/p\/4\?/],
    'Remove it',
    `POST /api/crawls/bookshops/links/${fp(4)}/remove {"host":"shop.example"}`,
  ],
  [
    'replays one dead letter',
    `${CRAWL}/links?state=dead`,
    [/^Replay .*\/p\/5\?/],
    'Replay it',
    `POST /api/crawls/bookshops/dead/replay {"fp":"${fp(5)}"}`,
  ],
  [
    'replays those of an error',
    `${CRAWL}/dead`,
    ['Replay 38 with timeout'],
    'Replay them',
    'POST /api/crawls/bookshops/dead/replay {"code":"timeout"}',
  ],
  [
    'purges those of a host',
    `${CRAWL}/dead?host=shop.example`,
    ['Purge those of this host'],
    'Purge them',
    'POST /api/crawls/bookshops/dead/purge {"host":"shop.example"}',
  ],
  [
    'replays those of an error of a host',
    `${CRAWL}/dead?host=shop.example`,
    ['Replay those with timeout of this host'],
    'Replay them',
    'POST /api/crawls/bookshops/dead/replay {"code":"timeout","host":"shop.example"}',
  ],
  ['drains a worker', '/workers', ['Drain w-1'], 'Drain the worker', 'POST /api/workers/w-1/drain {}'],
  ['wakes a proxy', '/proxies?pool=dc', ['Wake proxy-2'], 'Wake it', 'POST /api/proxies/dc/proxy-2/wake {}'],
]

describe('an order from a view', () => {
  it.each(ORDERS)('%s', async (_what, place, steps, action, sent) => {
    await goTo(page, place)
    for (const step of steps) await button(step).click()
    await confirmed(page, 'Go back')
    await question(page).waitFor({ state: 'detached' })
    expect(api.orders).not.toContain(sent)
    await button(steps.at(-1) ?? '').click()
    await confirmed(page, action)
    await expect.poll(() => api.orders).toContain(sent)
    const close = page.getByRole('button', { name: 'Close', exact: true })
    if ((await close.count()) > 0) await close.click()
  })
})
