import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock, systemRandom } from '../../src/clock.js'
import { openCrawl } from '../../src/coordinator/crawls.js'
import { seedCrawl } from '../../src/coordinator/seeding.js'
import { ShoalError } from '../../src/errors.js'
import { createLog } from '../../src/log.js'
import { type RunningWorker, startWorker } from '../../src/run/workers/start-worker.js'
import { defineSpider } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import type { BlobStore } from '../../src/store/blob-store.js'
import { type Backends, openBackends } from '../../src/wire/backends.js'
import { CREDENTIALS, type S3Server, startS3 } from '../support/s3-server.js'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.js'

const PAGES = 120
let site: Server
let origin: string
let served: string[]
/** The rest of a page, after its title. */
let filling: string
let s3: S3Server
let proxy: TcpProxy
let backends: Backends
let worker: RunningWorker | null
let events: Record<string, unknown>[]

beforeAll(async () => {
  Object.assign(process.env, CREDENTIALS)
  s3 = await startS3()
})
afterAll(() => s3.end())

let crawls = 0
beforeEach(async () => {
  served = []
  filling = ''
  events = []
  worker = null
  site = createServer((request, response) => {
    if (request.url === '/robots.txt') return void response.writeHead(404).end()
    served.push(request.url ?? '')
    response.setHeader('content-type', 'text/html')
    const links = Array.from({ length: PAGES }, (_, n) => `<a href="/${n}">${n}</a>`)
    const rest = request.url === '/' ? links.join('') : filling
    setTimeout(() => response.end(`<h1>${request.url}</h1>${rest}`), 20)
  })
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  proxy = await startTcpProxy(s3.port)
  backends = await openBackends({
    queue: 'memory:',
    store: 'memory:',
    pages: s3.address(`crawl-${++crawls}`, proxy.port),
  })
})
afterEach(async () => {
  proxy.refuse(false)
  await worker?.stop(0)
  await backends.close()
  await proxy.stop()
  site.closeAllConnections()
  await new Promise((resolve) => site.close(resolve))
})

async function start(pages: BlobStore = backends.pages): Promise<string> {
  const spider = spiderFromDefinition(
    defineSpider({
      ...{ name: 'keeps', start: [`${origin}/`], savePages: true, allowPrivate: ['127.0.0.1:*'] },
      pace: { delay: 0, concurrency: 8 },
      routes: { page: { match: '**', follow: [{ links: 'a' }] } },
    }),
  )
  const { crawl } = await openCrawl(backends, spider, { fresh: false, clock: systemClock, random: systemRandom })
  await seedCrawl(backends, spider, crawl, { clock: systemClock, signal: new AbortController().signal }).all
  const log = createLog('info', systemClock, (line) => events.push(JSON.parse(line)))
  const parts = { id: 'w1', spiders: [spider], concurrency: 8, clock: systemClock, random: systemRandom, log }
  worker = startWorker({ ...parts, backends: { ...backends, pages } })
  worker.ended.catch(() => {})
  return crawl
}

const stats = (crawl: string) => backends.frontier.stats(crawl)
const logged = (event: string) => events.filter((one) => one.event === event && one.part === 'pages')
const SOON = { timeout: 25_000, interval: 50 }

describe('a worker whose storage for raw pages is down', () => {
  it('waits, logs it once, and resumes on its own: every page kept, fetched once, no attempt used up', async () => {
    const crawl = await start()
    await vi.waitUntil(async () => (await stats(crawl)).done >= 20, SOON)
    proxy.refuse(true)
    proxy.reset()
    await vi.waitUntil(() => logged('backend.waiting').length > 0, SOON)
    await systemClock.sleep(1_000)
    expect((await stats(crawl)).state).toBe('running')
    proxy.refuse(false)
    await vi.waitUntil(async () => (await stats(crawl)).state === 'finished', SOON)
    expect(await stats(crawl)).toMatchObject({ done: PAGES + 1, dead: 0 })
    expect(new Set(served).size).toBe(served.length)
    expect([logged('backend.waiting').length, logged('backend.back').length]).toEqual([1, 1])
    for await (const { fp } of backends.store.crawls.knownPages(crawl, true)) {
      const [fetch] = await backends.store.fetches.of({ fp, crawl, limit: 2 })
      expect(fetch).toMatchObject({ attempt: 1, error: null })
      expect(await backends.pages.get(fetch.page ?? '')).not.toBeNull()
    }
    expect(await backends.pages.maintenance?.check(() => {})).toMatchObject({ pages: PAGES + 1, damaged: [] })
  }, 60_000)

  it('fetches no more than it may hold in memory', async () => {
    filling = ' '.repeat(4 * 1024 * 1024)
    let back = () => {}
    const isBack = new Promise<void>((resolve) => {
      back = resolve
    })
    const put: BlobStore['put'] = async (page) => {
      if (page.length > 1_000_000) await isBack
      return `sha256:${'0'.repeat(64)}`
    }
    await start({ ...backends.pages, hurry() {}, put })
    // 32 MB that wait, and then the eight slots.
    await vi.waitUntil(() => served.length >= 8, SOON)
    await systemClock.sleep(1_500)
    expect(served.length).toBeLessThanOrEqual(1 + 9 + 8)
    back()
  }, 60_000)

  it('hands its pages back when it is stopped meanwhile', async () => {
    const crawl = await start()
    await vi.waitUntil(async () => (await stats(crawl)).done >= 5, SOON)
    proxy.refuse(true)
    proxy.reset()
    await vi.waitUntil(() => logged('backend.waiting').length > 0, SOON)
    await worker?.stop(100)
    expect(await stats(crawl)).toMatchObject({ leased: 0, dead: 0, state: 'running' })
  }, 60_000)

  it('does not wait for one that hangs when its grace is over', async () => {
    const crawl = await start()
    await vi.waitUntil(async () => (await stats(crawl)).done >= 5, SOON)
    proxy.hold()
    const before = (await stats(crawl)).done
    await vi.waitUntil(() => served.length > before + 8, SOON)
    const stoppedAt = performance.now()
    await worker?.stop(100)
    // A call to the place has 30 s.
    expect(performance.now() - stoppedAt).toBeLessThan(15_000)
    expect(await stats(crawl)).toMatchObject({ leased: 0, dead: 0, state: 'running' })
    proxy.release()
  }, 60_000)

  it('ends when they are refused, and the link goes back as it was', async () => {
    const refused = new ShoalError('pages_forbidden', 's3://bucket/: no access (AccessDenied)')
    const crawl = await start({ ...backends.pages, hurry() {}, put: () => Promise.reject(refused) })
    await expect(worker?.ended).rejects.toMatchObject({ code: 'pages_forbidden', exitCode: 4 })
    expect(await stats(crawl)).toMatchObject({ done: 0, dead: 0, leased: 0, total: 1 })
  })
})
