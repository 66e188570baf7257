import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { systemClock, systemRandom } from '../../src/clock.js'
import { openCrawl } from '../../src/coordinator/crawls.js'
import { seedCrawl } from '../../src/coordinator/seeding.js'
import { silentLog } from '../../src/log.js'
import type { TryOrder } from '../../src/run/try/tried-page.js'
import { tryPage } from '../../src/run/try/try-page.js'
import { startWorker } from '../../src/run/workers/start-worker.js'
import { defineSpider } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import type { Spider } from '../../src/spider/spider.js'
import { SCREENSHOT_HEADER } from '../../src/store/rows.js'
import { type Backends, openBackends } from '../../src/wire/backends.js'
import { browsersUnder, type Site, startSite } from '../fetch/browser/support.js'

/** A shop whose products are rendered by scripts, except for one. */
const product = (name: string) => `<!doctype html><body><div id="root"></div><script>
  setTimeout(() => { root.innerHTML = '<h1>${name}</h1><a href="/product/three">next</a>' }, 50)
</script>`
let site: Site
let backends: Backends

beforeAll(async () => {
  const plain = '<h1>Plain</h1><p>rendered by the server</p>'
  site = await startSite({
    '/robots.txt': (_request, response) => response.writeHead(404).end(),
    '/': '<h1>Shop</h1><a href="/product/one">1</a><a href="/product/plain">2</a>',
    '/product/one': product('One'),
    '/product/plain': plain,
    '/product/three': `<h2>Three</h2><script>setTimeout(() => { document.querySelector('h2').outerHTML = '<h1>Three</h1>' }, 50)</script>`,
    '/broken': '<h1>Broken</h1><script>1</script>',
  })
  backends = await openBackends({ queue: 'memory:', store: 'memory:' })
})

afterAll(async () => {
  await backends.close()
  await site.close()
})

function shop(name: string, start: string, product: object = {}): Spider {
  return spiderFromDefinition(
    defineSpider({
      name,
      start: [`${site.origin}${start}`],
      allowPrivate: ['127.0.0.1:*'],
      pace: { delay: '50ms', concurrency: 2 },
      retries: { max: 0 },
      records: { product: { schema: z.object({ name: z.string().min(1) }) } },
      routes: {
        product: {
          match: '/product/*',
          follow: [{ links: 'a' }],
          record: { kind: 'product', key: 'name', fields: { name: 'h1' } },
          render: 'fallback',
        },
        broken: { match: '/broken', render: { wait: '.never', settle: '200ms' }, ...product },
        list: { match: '/', follow: [{ links: 'a' }] },
      },
    }),
  )
}

async function crawl(spider: Spider): Promise<string> {
  const { crawl: id } = await openCrawl(backends, spider, { fresh: false, clock: systemClock, random: systemRandom })
  await seedCrawl(backends, spider, id, { clock: systemClock, signal: new AbortController().signal })
  const worker = startWorker({
    ...{ id: `w-${spider.name}`, backends, spiders: [spider], pools: new Map(), concurrency: 4 },
    ...{ clock: systemClock, random: systemRandom, log: silentLog },
  })
  await expect.poll(async () => (await backends.frontier.stats(id)).state, { timeout: 20_000 }).toBe('finished')
  await worker.stop(1_000)
  await worker.ended
  return id
}

it('takes pages by HTTP, and renders those whose fields are missing', async () => {
  await crawl(shop('shop', '/'))
  const keys: string[] = []
  for await (const { key } of backends.store.records.scan({ spider: 'shop' })) keys.push(key)
  expect(keys.sort()).toEqual(['One', 'Plain', 'Three'])
  const asked = (path: string) => site.requests.filter((one) => one === path).length
  // Each page that is rendered is asked for a second time, with a permit of its own.
  expect([asked('/'), asked('/product/plain'), asked('/product/one'), asked('/product/three')]).toEqual([1, 1, 2, 2])
  expect(browsersUnder()).toEqual([])
})

function tried(path: string): TryOrder {
  const settings = { proxies: null, pool: null, country: null, browser: '/nowhere/chromium', cache: null }
  const plain = { route: null, given: null, rendered: false, fresh: false, save: null }
  return { url: `${site.origin}${path}`, ...plain, settings }
}

it('starts no browser for pages that do without', async () => {
  const page = await tryPage(shop('plain', '/product/plain'), tried('/product/plain'))
  expect(page.records.map(({ key }) => key)).toEqual(['Plain'])
  await expect(tryPage(shop('one', '/product/one'), tried('/product/one'))).rejects.toMatchObject({
    code: 'browser_missing',
  })
})

it('keeps a picture of the page that failed', async () => {
  const id = await crawl(shop('broken', '/broken'))
  const [dead] = await backends.frontier.links({ crawl: id, state: 'dead', limit: 2 })
  expect(dead?.failures.at(-1)?.code).toBe('not_rendered')
  const [fetch] = await backends.store.fetches.of({ fp: dead?.fp ?? '', crawl: id, limit: 5 })
  const picture = await backends.pages.get(fetch?.headers?.[SCREENSHOT_HEADER] ?? '')
  expect(Buffer.from(picture ?? []).subarray(0, 2)).toEqual(Buffer.from([0xff, 0xd8]))
})
