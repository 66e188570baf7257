import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { BrowserContextOptions } from 'playwright-core'
import { startCli, tempDir } from '../support/cli.js'
import { goTo, openPage, startBrowser, startDashboard } from '../support/dashboard.js'
import { startLivelySites } from '../support/lively-sites.js'

/** `npm run screenshots`: pictures for the documentation, of a crawl that is really under way. */
const OUT = fileURLToPath(new URL('../../docs/img/', import.meta.url))
/** Long enough for the charts to have something to show. */
const LIVELY_MS = 100_000

const WIDE: BrowserContextOptions = { viewport: { width: 1280, height: 860 }, colorScheme: 'light' }
const DARK: BrowserContextOptions = { ...WIDE, colorScheme: 'dark' }
const PHONE: BrowserContextOptions = {
  viewport: { width: 390, height: 844 },
  deviceScaleFactor: 1.5,
  colorScheme: 'light',
}

const dir = tempDir('screenshots')
const sites = await startLivelySites(dir.path)
const here = { cwd: dir.path }
const { url, child: dashboard } = await startDashboard([sites.spider], here)
const workers = [1, 2].map(() =>
  startCli(['worker', sites.spider, '--proxies', sites.pools, '--concurrency', '24'], here),
)
const browser = await startBrowser()
try {
  mkdirSync(OUT, { recursive: true })
  const { page } = await openPage(browser, url, WIDE)
  await page.getByRole('button', { name: 'Start a crawl' }).click()
  await page.getByRole('button', { name: 'Start shops' }).click()
  await page.getByRole('link', { name: 'Hosts' }).waitFor()
  const crawl = /#(\/crawls\/[^/?]+)/.exec(page.url())?.[1] ?? ''
  console.error(`${crawl} runs; pictures in ${LIVELY_MS / 1000} s`)
  await sleep(LIVELY_MS)
  const dead = encodeURIComponent('http://paper.example/item/28')
  for (const [name, place, options] of [
    ['dashboard-light', crawl, WIDE],
    ['dashboard-dark', crawl, DARK],
    ['dashboard-phone', crawl, PHONE],
    ['dashboard-overview', '/', WIDE],
    ['dashboard-hosts', `${crawl}/hosts`, WIDE],
    ['dashboard-dead', `${crawl}/dead`, WIDE],
    ['dashboard-explain', `${crawl}/explain?url=${dead}`, WIDE],
    ['dashboard-proxies', '/proxies', DARK],
    ['dashboard-workers', '/workers', WIDE],
  ] as const) {
    const { page: one } = await openPage(browser, url, options)
    await goTo(one, place)
    await sleep(2_500)
    await one.screenshot({ path: join(OUT, `${name}.png`) })
    await one.context().close()
  }
} finally {
  await browser.close()
  for (const child of [dashboard, ...workers.map((one) => one.child)]) child.kill('SIGTERM')
  await Promise.all(workers.map(({ result }) => result))
  await sites.close()
  dir.remove()
}
