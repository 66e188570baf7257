import type { ChildProcess } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { onMachine, startCli, tempDir } from '../support/cli.js'
import { confirmed, goTo, openPage, type Site, startBrowser, startDashboard, startSite } from '../support/dashboard.js'

/** The page as people use it: a real Chromium without a way to the internet, the real commands, and the log of the site as the judge. */
const dir = tempDir('dashboard')
const children: ChildProcess[] = []
const sites: Site[] = []
let browser: Browser

beforeAll(async () => {
  browser = await startBrowser()
})
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  for (const site of sites.splice(0)) await site.close()
})
afterAll(async () => {
  await browser.close()
  dir.remove()
})

/** Each test has a database of its own. */
function here(name: string) {
  const queue = `sqlite:${join(dir.path, `${name}.db`)}`
  return { cwd: dir.path, env: { SHOAL_QUEUE: queue, SHOAL_STORE: queue } }
}

async function dashboard(name: string, file: string): Promise<string> {
  const { url, child } = await startDashboard([file], here(name))
  children.push(child)
  return url
}

function worker(name: string, file: string, machine: Record<string, string> = {}): ChildProcess {
  const { cwd, env } = here(name)
  const { child } = startCli(['worker', file], { cwd, env: { ...env, ...machine } })
  children.push(child)
  return child
}

function writeSpider(name: string, { origin, host }: Site, more: string): string {
  const file = join(dir.path, `${name}.ts`)
  writeFileSync(
    file,
    `import { defineSpider } from 'shoal'
     import { z } from 'zod'
     export default defineSpider({
       name: '${name}', start: ['${origin}/'], scope: { hosts: ['${host}'] }, allowPrivate: ['${host}'],
       retries: { max: 0 }, ${more}
     })`,
  )
  return file
}

function html(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(text)
}

const PAGES = 160
const SLOW_MS = 500

describe('the dashboard in a browser', () => {
  it('starts a crawl, watches, pauses and slows it down, misses a worker, replays a dead letter and sees the end', async () => {
    let broken = true
    const site = await startSite((path, response) => {
      if (path === '/broken' && broken) response.writeHead(500).end()
      else if (path !== '/') html(response, '<h1>a page</h1>')
      else html(response, ['/broken', ...pagePaths()].map((to) => `<a href="${to}">${to}</a>`).join(' '))
    })
    sites.push(site)
    const pace = "pace: { delay: '60ms', concurrency: 1 }, routes: { page: { match: '**', follow: [{ links: 'a' }] } }"
    const file = writeSpider('shop', site, pace)
    const url = await dashboard('shop', file)
    worker('shop', file)
    // One that is killed on the same machine is found within a second and taken off the list: nobody would see that it is missing.
    const second = worker('shop', file, onMachine('elsewhere'))
    const { page, misdeeds } = await openPage(browser, url)

    await page.getByRole('button', { name: 'Start a crawl' }).click()
    await page.getByRole('button', { name: 'Start shop' }).click()
    const done = page.locator('.legend li', { hasText: 'done' }).locator('b')
    await expect.poll(() => numberIn(done), { timeout: 20_000 }).toBeGreaterThan(0)
    const before = await numberIn(done)
    await expect.poll(() => numberIn(done), { timeout: 10_000 }).toBeGreaterThan(before)

    await page.getByRole('button', { name: 'Pause' }).click()
    await confirmed(page, 'Pause the crawl')
    await badge(page, 'paused').waitFor()
    // What was in hand ends.
    await sleep(500)
    const quiet = site.seen.length
    await sleep(1_200)
    expect(site.seen.length).toBe(quiet)
    await page.getByRole('button', { name: 'Resume' }).click()
    await confirmed(page, 'Resume the crawl')
    await expect.poll(() => site.seen.length, { timeout: 10_000 }).toBeGreaterThan(quiet)

    second.kill('SIGKILL')
    const killedAt = performance.now()

    await page.getByRole('link', { name: 'Hosts' }).click()
    await changePace(page, site.host, SLOW_MS / 1000)
    await sleep(SLOW_MS)
    const from = site.seen.length
    await expect.poll(() => site.seen.length, { timeout: 15_000 }).toBeGreaterThan(from + 4)
    const slow = site.seen.slice(from).map(({ at }) => at)
    const gaps = slow.slice(1).map((at, nth) => at - (slow[nth] ?? 0))
    expect(Math.min(...gaps)).toBeGreaterThan(0.9 * SLOW_MS)

    await page.getByRole('link', { name: 'Workers' }).click()
    await page.getByText('1 worker is missing').waitFor({ timeout: killedAt + 15_000 - performance.now() })
    expect(await page.getByRole('alert').textContent()).toContain(`process ${second.pid}`)

    await page.getByRole('link', { name: 'Crawls' }).click()
    await page.getByRole('link', { name: /^1 dead letter/ }).click()
    await page.getByText('server_error').first().waitFor()
    broken = false
    const asked = () => site.seen.filter(({ path }) => path === '/broken').length
    expect(asked()).toBe(1)
    await page.getByRole('button', { name: 'Replay 1 with server_error' }).click()
    await confirmed(page, 'Replay them')
    await page.getByText('1 link back in the queue').waitFor()
    await page.getByText('No dead letters').waitFor()

    await page.getByRole('link', { name: 'Hosts' }).click()
    await page.getByRole('button', { name: site.host }).click()
    await page.getByRole('button', { name: 'Back to the spider’s pace' }).click()
    await confirmed(page, 'Reset the pace')
    await page.getByRole('button', { name: 'Close', exact: true }).click()
    await badge(page, 'finished').waitFor({ timeout: 40_000 })
    expect(asked()).toBe(2)
    expect(new Set(site.seen.map(({ path }) => path)).size).toBe(PAGES + 3)
    await page.getByRole('link', { name: 'Audit log' }).click()
    for (const action of ['crawl.start', 'crawl.pause', 'crawl.resume', 'host.set', 'dead.replay'])
      await page.getByText(action).first().waitFor()
    expect(misdeeds).toEqual({ strangers: [], dialogs: [], errors: [] })
    await page.context().close()
  }, 120_000)

  it('shows what a hostile site says as text, and does nothing of it', async () => {
    const site = await startSite((path, response) => {
      if (path === '/')
        html(
          response,
          hostilePaths()
            .map((to) => `<a href="${to.replaceAll('"', '&quot;')}">x</a>`)
            .join(' '),
        )
      else if (path.startsWith('/fails')) response.writeHead(500).end(SCRIPT)
      else html(response, hostilePage(path))
    })
    sites.push(site)
    const file = writeSpider(
      'hostile',
      site,
      `pace: { delay: 0, concurrency: 4 },
       records: { product: z.object({ title: z.string(), link: z.string(), id: z.string() }) },
       routes: { page: { match: '**', follow: [{ links: 'a' }], record: {
         kind: 'product', key: 'id', fields: { title: 'h1', link: 'i@title', id: 'b' } } } }`,
    )
    const url = await dashboard('hostile', file)
    worker('hostile', file)
    const { page, misdeeds } = await openPage(browser, url)
    await page.getByRole('button', { name: 'Start a crawl' }).click()
    await page.getByRole('button', { name: 'Start hostile' }).click()
    await badge(page, 'finished').waitFor({ timeout: 20_000 })
    const crawl = /#\/crawls\/([^/?]+)/.exec(page.url())?.[1] ?? ''

    for (const place of [
      `/crawls/${crawl}`,
      `/crawls/${crawl}/hosts?begins=${encodeURIComponent(SCRIPT)}`,
      `/crawls/${crawl}/links?state=dead`,
      `/crawls/${crawl}/links?state=${encodeURIComponent(SCRIPT)}&host=${encodeURIComponent(SCRIPT)}`,
      `/crawls/${crawl}/dead?code=server_error&host=${encodeURIComponent(SCRIPT)}`,
      `/crawls/${crawl}/explain?url=${encodeURIComponent(`javascript:alert(1)//${SCRIPT}`)}`,
      `/crawls/${crawl}/explain?url=${encodeURIComponent(`${site.origin}/fails${SCRIPT}`)}`,
      `/crawls/${encodeURIComponent(SCRIPT)}`,
      `/records?text=${encodeURIComponent(SCRIPT)}`,
      `/proxies?pool=${encodeURIComponent(SCRIPT)}`,
      '/workers',
      '/alerts',
      '/audit',
    ]) {
      await goTo(page, place)
      await sleep(400)
      await harmless(page)
    }
    await goTo(page, '/records')
    await page.getByRole('button', { name: 'script' }).first().click()
    expect(await page.locator('pre.json').textContent()).toContain(SCRIPT.slice(0, 20))
    await harmless(page)
    expect(misdeeds).toEqual({ strangers: [], dialogs: [], errors: [] })
    await page.context().close()
  }, 60_000)
})

const SCRIPT = '<script>window.hit=1;alert(1)</script>"><img src=x onerror="window.hit=1;alert(1)">'
const TURNED = '\u202Egnp.exe\u202C\u2066'

function hostilePaths(): string[] {
  return ['/script', '/turned', '/long', '/"><svg onload=alert(1)>', `/fails${SCRIPT}`, '/fails?q=javascript:alert(1)']
}

function hostilePage(path: string): string {
  const title = path === '/long' ? 'x'.repeat(1 << 20) : path === '/turned' ? TURNED : SCRIPT
  const text = title.replaceAll('<', '&lt;')
  return `<h1>${text}</h1><i title="javascript:alert(1)">link</i><b>${path === '/script' ? `script ${text}` : path.replaceAll('<', '&lt;')}</b>`
}

const LOOK = `({
  hit: window.hit ?? null,
  elements: document.querySelectorAll('img, iframe, object, embed, script:not([src])').length,
  links: [...document.links].map(({ href, rel }) => ({ href, rel })).filter(({ href, rel }) =>
    !href.startsWith(location.origin + '/') && !(/^https?:/.test(href) && rel.includes('noopener'))),
})`

async function harmless(page: Page): Promise<void> {
  expect(await page.evaluate(LOOK)).toEqual({ hit: null, elements: 0, links: [] })
}

function pagePaths(): string[] {
  return Array.from({ length: PAGES }, (_, nth) => `/${nth}`)
}

async function numberIn(place: Locator): Promise<number> {
  return Number((await place.textContent())?.replaceAll(',', ''))
}

function badge(page: Page, text: string): Locator {
  return page.locator('.view-head .badge', { hasText: text })
}

async function changePace(page: Page, host: string, seconds: number): Promise<void> {
  await page.getByRole('button', { name: host }).click()
  await page.getByLabel('Seconds between requests').fill(String(seconds))
  await page.getByRole('button', { name: 'Change the pace' }).click()
  await confirmed(page, 'Change the pace')
  await page.getByText(`${host} has a new pace`).waitFor()
  await page.getByRole('button', { name: 'Close', exact: true }).click()
}
