import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { startShop } from '../src/demo/server.js'
import { createShop } from '../src/demo/shop.js'
import { demoDefinition } from '../src/demo/spider.js'
import { connect, type Duration, defineSpider, type Shoal, type StoredRecord } from '../src/index.js'
import { type RedisServer, startRedis } from './support/redis-server.js'

const SHOP = { seed: 5, pages: 30, bytes: 1_000, faults: 0 }

let dir: string
let toClose: (() => Promise<unknown>)[]

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'shoal-connect-'))
  toClose = []
})

afterEach(async () => {
  for (const close of toClose.reverse()) await close()
  rmSync(dir, { recursive: true, force: true })
})

async function shop(): Promise<string> {
  const running = await startShop({ ...SHOP, port: 0, accessLog: join(dir, 'access.log') })
  toClose.push(() => running.close())
  return `http://127.0.0.1:${running.port}`
}

/** A site whose pages say their own path; `/gone` is missing, and `hold` keeps answers back until it resolves. */
async function site(hold: Promise<void> = Promise.resolve(), onRequest = () => {}): Promise<string> {
  const server: Server = createServer((request, response) => {
    onRequest()
    hold.then(() => {
      const path = request.url ?? '/'
      response.statusCode = path === '/gone' || path === '/robots.txt' ? 404 : 200
      response.setHeader('content-type', 'text/html').end(`<h1>${path}</h1>`)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  toClose.push(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const pages = (origin: string, delay: Duration = '0ms') =>
  defineSpider({
    name: 'pages',
    start: [`${origin}/`],
    scope: { hosts: [new URL(origin).host], deny: '/private/*' },
    allowPrivate: ['127.0.0.1:*'],
    pace: { delay, concurrency: 4 },
    records: { page: z.object({ path: z.string(), tag: z.string() }) },
    routes: {
      page: {
        match: '**',
        handler: (page, out) => out.record('page', page.url, { path: page.$('h1').text(), tag: '' }),
      },
      tagged: {
        data: z.object({ tag: z.string() }),
        handler: (page, out) => out.record('page', page.url, { path: page.$('h1').text(), tag: page.data.tag }),
      },
    },
  })

let redis: RedisServer
let databases = 0

beforeAll(async () => {
  redis = await startRedis()
})

afterAll(() => redis.stop())

/** Opened again in one test it is the same queue. */
function addressOf(engine: string): { queue: string; store?: string } {
  if (engine === 'memory:') return { queue: engine }
  const file = `sqlite:${join(dir, 'shoal.db')}`
  return engine === 'sqlite:' ? { queue: file } : { queue: `${redis.url}/${databases}`, store: file }
}

describe.each(['memory:', 'sqlite:', 'redis:'])('a program on %s', (engine) => {
  beforeEach(() => {
    if (engine === 'redis:') databases++
  })

  async function open(): Promise<Shoal> {
    const shoal = await connect({ ...addressOf(engine), logLevel: 'error' })
    toClose.push(() => shoal.close())
    return shoal
  }

  it('takes the arguments of a spider, typed by its schema, and resumes the crawl that has them', async () => {
    const shoal = await connect({ queue: 'memory:' })
    toClose.push(() => shoal.close())
    const shop = defineSpider(z.object({ category: z.string(), max: z.number().default(5) }), ({ category }) =>
      defineSpider({ name: 'shop', start: [`https://${category}.example/`], routes: { page: { match: '**' } } }),
    )
    const shoes = await shoal.crawl(shop, { args: { category: 'shoes', max: 10 } })
    const hats = await shoal.crawl(shop, { args: { category: 'hats' } })
    expect((await shoal.frontier.crawls()).map(({ args }) => args)).toEqual([
      { category: 'shoes', max: 10 },
      { category: 'hats' },
    ])
    expect((await shoal.crawl(shop, { args: { max: 10, category: 'shoes' } })).id).toBe(shoes.id)
    expect(hats.id).not.toBe(shoes.id)
    // @ts-expect-error: category is missing
    await expect(shoal.crawl(shop, { args: { max: 10 } })).rejects.toMatchObject({ code: 'spider_args' })
    await expect(shoal.crawl(shop)).rejects.toMatchObject({ code: 'spider_args' })
  })

  it('crawls the demo shop, streams every record and has them all in the store', async () => {
    const origin = await shop()
    const shoal = await open()
    const crawl = await shoal.crawl(demoDefinition({ origin }))
    const streamed: StoredRecord[] = []
    const reading = (async () => {
      for await (const record of crawl.subscribe()) streamed.push(record)
    })()
    const stats = await crawl.runWorkers()
    await reading
    expect(stats).toMatchObject({ state: 'finished', queued: 0, leased: 0 })
    const products = createShop(SHOP)
      .siteMap()
      .filter((page) => page.product !== undefined)
    expect(streamed.map(({ key }) => key).sort()).toEqual(products.map(({ product }) => product?.sku).sort())
    const stored: StoredRecord[] = []
    for await (const record of shoal.store.records.scan({ spider: 'demo' })) stored.push(record)
    expect(stored).toHaveLength(streamed.length)
  })

  it('stays open for more until it is sealed, and gives the records of a URL as soon as it is visited', async () => {
    const origin = await site()
    const shoal = await open()
    const crawl = await shoal.crawl(pages(origin), { start: false })
    const running = crawl.runWorkers({ until: 'stopped' })
    for (const [url, tag] of [
      ['/one', 'a'],
      ['/two', 'b'],
    ]) {
      const added = await crawl.add(`${origin}${url}`, { route: 'tagged', data: { tag }, priority: 5 })
      expect(added).toEqual({ added: 1, known: 0, refused: [], overLimit: 0 })
      const records = await crawl.result(`${origin}${url}`, { timeout: '20s' })
      expectTypeOf(records[0].data).toEqualTypeOf<{ path: string; tag: string }>()
      expect(records.map(({ data }) => data)).toEqual([{ path: url, tag }])
    }
    expect(await crawl.stats()).toMatchObject({ state: 'running', total: 2, done: 2 })
    await crawl.seal()
    expect(await running).toMatchObject({ state: 'finished', done: 2 })
  })

  it('tells what was not let in, and why a result will not come', async () => {
    const origin = await site()
    const shoal = await open()
    const crawl = await shoal.crawl(pages(origin), { start: false })
    const added = await crawl.add([`${origin}/gone`, `${origin}/gone#again`, `${origin}/private/x`, 'nonsense'])
    expect(added).toMatchObject({ added: 1, known: 1 })
    expect(added.refused.map(({ code }) => code)).toEqual(['out_of_scope', 'bad_url'])
    await expect(crawl.result(`${origin}/gone`, { timeout: '50ms' })).rejects.toMatchObject({ code: 'wait_timeout' })
    await crawl.runWorkers()
    await expect(crawl.result(`${origin}/gone`)).rejects.toMatchObject({ code: 'http_error' })
    await expect(crawl.result(`${origin}/private/x`)).rejects.toMatchObject({ code: 'out_of_scope' })
    await expect(crawl.result(`${origin}/never`)).rejects.toMatchObject({ code: 'not_found' })
  })

  it('reads URLs as they come, from any iterable', async () => {
    const shoal = await open()
    const crawl = await shoal.crawl(pages('http://127.0.0.1:1'), { start: false })
    async function* urls() {
      for (let n = 0; n < 2_500; n++) yield `http://127.0.0.1:1/${n % 2_000}`
    }
    expect(await crawl.add(urls())).toEqual({ added: 2_000, known: 500, refused: [], overLimit: 0 })
    expect(await crawl.add(new Set(['http://127.0.0.1:1/0']))).toMatchObject({ added: 0, known: 1 })
  })

  it('is paused, resumed and cancelled', async () => {
    const origin = await site()
    const shoal = await open()
    const crawl = await shoal.crawl(pages(origin))
    await crawl.pause()
    expect(await crawl.stats()).toMatchObject({ state: 'paused', queued: 1 })
    const running = crawl.runWorkers()
    await crawl.resume()
    expect(await running).toMatchObject({ state: 'finished', done: 1 })

    const other = await shoal.crawl(pages(origin))
    const waiting = other.result(`${origin}/`)
    await other.cancel()
    await expect(waiting).rejects.toMatchObject({ code: 'crawl_ended' })
    expect(await other.runWorkers()).toMatchObject({ state: 'cancelled' })
    await expect(other.add(`${origin}/late`)).rejects.toMatchObject({ code: 'crawl_ended' })
  })

  it('stops workers by signal, hands back what they held, and goes on later', async () => {
    const origin = await site()
    const shoal = await open()
    const spider = pages(origin, '50ms')
    const crawl = await shoal.crawl(spider, { start: false })
    await crawl.add(Array.from({ length: 20 }, (_, n) => `${origin}/${n}`))
    const stop = new AbortController()
    const running = crawl.runWorkers({ signal: stop.signal, concurrency: 2 })
    await crawl.result(`${origin}/0`)
    stop.abort()
    expect(await running).toMatchObject({ state: 'running', leased: 0 })
    expect(await shoal.frontier.workers()).toEqual([])
    const again = await shoal.crawl(spider, { start: false })
    expect(again.id).toBe(crawl.id)
    expect(await again.runWorkers()).toMatchObject({ state: 'finished', done: 20 })
  })

  it('finishes what is in hand when it is closed, and refuses everything afterwards', async () => {
    let letGo = () => {}
    let asked = () => {}
    const inFlight = new Promise<void>((resolve) => {
      asked = resolve
    })
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const origin = await site(held, () => asked())
    const shoal = await open()
    const crawl = await shoal.crawl(pages(origin))
    const running = crawl.runWorkers({ until: 'stopped' })
    const waiting = crawl.result(`${origin}/`)
    const refusal = expect(waiting).rejects.toMatchObject({ code: 'closed' })
    // Leased is not enough: a lease whose answer is still on its way when the worker stops is handed back.
    await inFlight
    const closing = shoal.close()
    letGo()
    await closing
    await refusal
    expect(await running).toMatchObject({ state: 'running', done: 1, leased: 0 })
    await expect(crawl.add(`${origin}/late`)).rejects.toMatchObject({ code: 'closed' })
    await expect(shoal.crawl(pages(origin))).rejects.toMatchObject({ code: 'closed' })
    await shoal.close()
  })
})

it('resumes the unfinished crawl of a spider file, or sets it aside', async () => {
  const origin = await site()
  const file = join(dir, 'spider.ts')
  writeFileSync(
    file,
    `import { defineSpider } from 'shoal'
    export default defineSpider({
      name: 'filed', start: ['${origin}/'], allowPrivate: ['127.0.0.1:*'],
      routes: { page: { match: '**' } },
    })`,
  )
  const queue = `sqlite:${join(dir, 'shoal.db')}`
  const first = await connect({ queue })
  const before = await first.crawl(file)
  await first.close()
  const second = await connect({ queue })
  toClose.push(() => second.close())
  const resumed = await second.crawl(file)
  expect(resumed.id).toBe(before.id)
  const fresh = await second.crawl(file, { fresh: true })
  expect(fresh.id).not.toBe(before.id)
  expect(await resumed.stats()).toMatchObject({ state: 'cancelled' })
})

it('two crawls of one program run side by side', async () => {
  const origin = await site()
  const shoal = await connect({ queue: `sqlite:${join(dir, 'shoal.db')}` })
  toClose.push(() => shoal.close())
  const other = defineSpider({
    name: 'other',
    start: [`${origin}/other`],
    allowPrivate: ['127.0.0.1:*'],
    pace: { delay: '0ms' },
    routes: { page: { match: '**' } },
  })
  const crawls = [await shoal.crawl(pages(origin)), await shoal.crawl(other)]
  const ended = await Promise.all(crawls.map((crawl) => crawl.runWorkers()))
  expect(ended.map(({ state, done }) => [state, done])).toEqual([
    ['finished', 1],
    ['finished', 1],
  ])
})

it('refuses an option it does not know', async () => {
  const options = { queu: 'memory:' } as object
  await expect(connect(options)).rejects.toMatchObject({ code: 'config_invalid' })
})

it('loads no database, HTTP client or parser before it connects', async () => {
  const index = new URL('../dist/index.js', import.meta.url).href
  const program = `await import(${JSON.stringify(index)})`
  const { stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: { ...process.env, NODE_DEBUG: 'esm' },
    maxBuffer: 64 * 1024 * 1024,
  })
  const packages = new Set([...stderr.matchAll(/node_modules\/((?:@[^/]+\/)?[^/'" ]+)/g)].map(([, name]) => name))
  expect([...packages]).toEqual([])
})

describe('seeds for which the queue has no room', () => {
  async function manySeeds(seeds: () => Iterable<string> | AsyncIterable<string>, maxPending: number) {
    const shoal = await connect({ queue: 'memory:', logLevel: 'error' })
    toClose.push(() => shoal.close())
    const crawl = await shoal.crawl(
      defineSpider({
        ...{ name: 'many', start: [], scope: { hosts: ['127.0.0.1'] }, allowPrivate: ['127.0.0.1:*'], robots: false },
        ...{ pace: { delay: 0 }, maxPending, seeds, routes: { page: { match: '**' } } },
      }),
    )
    expect(await crawl.stats()).toMatchObject({ state: 'running', queued: 0.9 * maxPending })
    return { shoal, crawl }
  }

  it('are added while workers run, all before the crawl finishes', async () => {
    const origin = await site()
    const { crawl } = await manySeeds(() => Array.from({ length: 20 }, (_, n) => `${origin}/${n}`), 10)
    expect(await crawl.runWorkers()).toMatchObject({ state: 'finished', done: 20 })
  })

  it('fail where somebody waits for them, and are no reason to stay open', async () => {
    const origin = await site()
    const broken = async function* () {
      for (let n = 0; n < 1_000; n++) yield `${origin}/${n}`
      throw new Error('the line broke')
    }
    const { crawl } = await manySeeds(broken, 1_000)
    await expect(crawl.runWorkers()).rejects.toThrow('the line broke')
    const { shoal } = await manySeeds(broken, 1_000)
    await shoal.close()
  })
})
