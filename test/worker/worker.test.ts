import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock, systemRandom } from '../../src/clock.js'
import { openCrawl } from '../../src/coordinator/crawls.js'
import { seedCrawl } from '../../src/coordinator/seeding.js'
import { silentLog } from '../../src/log.js'
import { type RunningWorker, startWorker } from '../../src/run/workers/start-worker.js'
import { defineSpider } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import type { Spider } from '../../src/spider/spider.js'
import type { RecordStore, WriteBatch } from '../../src/store/record-store.js'
import { type Backends, openBackends } from '../../src/wire/backends.js'

let server: Server
let origin: string
let requests: string[]
/** Set by a test to hold answers back. */
let gate: Promise<void>
let backends: Backends

beforeEach(async () => {
  requests = []
  gate = Promise.resolve()
  server = createServer(async (request, response) => {
    requests.push(request.url ?? '')
    await gate
    response.setHeader('content-type', 'text/html')
    if (request.url === '/robots.txt') response.writeHead(404).end()
    else response.end(`<h1>${request.url}</h1><a href="/1">1</a> <a href="/2">2</a>`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  backends = await openBackends({ queue: 'memory:', store: 'memory:' })
})

afterEach(async () => {
  await backends.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

function spider(): Spider {
  return spiderFromDefinition(
    defineSpider({
      name: 'small',
      start: [`${origin}/`],
      allowPrivate: ['127.0.0.1:*'],
      pace: { delay: 0, concurrency: 4 },
      routes: {
        page: {
          match: '**',
          follow: [{ links: 'a' }],
          record: { kind: 'page', key: 'title', fields: { title: 'h1' } },
        },
      },
      records: { page: {} },
    }),
  )
}

async function crawlWith(store: RecordStore): Promise<{ crawl: string; worker: RunningWorker }> {
  const made = spider()
  const { crawl } = await openCrawl(backends, made, { fresh: false, clock: systemClock, random: systemRandom })
  await seedCrawl(backends, made, crawl, { clock: systemClock, signal: new AbortController().signal })
  const worker = startWorker({
    id: 'w1',
    backends: { ...backends, store },
    spiders: [made],
    concurrency: 4,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
  })
  return { crawl, worker }
}

const state = async (crawl: string) => (await backends.frontier.stats(crawl)).state

async function keys(): Promise<string[]> {
  const found: string[] = []
  for await (const record of backends.store.records.scan({})) found.push(record.key)
  return found.sort()
}

/** The store of the backends, with a hook before each batch is written. */
function watched(before: (batch: WriteBatch) => Promise<void>): RecordStore {
  const { store } = backends
  const write = async (batch: WriteBatch) => {
    await before(batch)
    return store.records.write(batch)
  }
  return { ...store, records: { ...store.records, write } }
}

describe('a worker', () => {
  it('crawls to the end, each page once, robots.txt once', async () => {
    const { crawl, worker } = await crawlWith(backends.store)
    await expect.poll(() => state(crawl), { timeout: 10_000 }).toBe('finished')
    await worker.stop(1_000)
    expect([...requests].sort()).toEqual(['/', '/1', '/2', '/robots.txt'])
    expect(await keys()).toEqual(['/', '/1', '/2'])
  })

  it('settles nothing before its records are committed', async () => {
    const doneAtWrite: number[] = []
    const store = watched(async () => {
      // Long enough for a settle that does not wait for it.
      await systemClock.sleep(50)
      const [crawl] = await backends.frontier.crawls()
      doneAtWrite.push((await backends.frontier.stats(crawl?.id ?? '')).done)
    })
    const { crawl, worker } = await crawlWith(store)
    await expect.poll(() => state(crawl), { timeout: 10_000 }).toBe('finished')
    await worker.stop(1_000)
    // The first page is not done while its records are being written.
    expect(doneAtWrite[0]).toBe(0)
  })

  it('changes nothing in the queue when its lease was lost during the write, and the page is fetched again', async () => {
    let robbed = false
    const store = watched(async () => {
      if (robbed) return
      robbed = true
      await backends.frontier.forfeit('w1')
    })
    const { crawl, worker } = await crawlWith(store)
    await expect.poll(() => state(crawl), { timeout: 10_000 }).toBe('finished')
    await worker.stop(1_000)
    expect(await backends.frontier.stats(crawl)).toMatchObject({ done: 3, dead: 0, reclaimed: 1, stale: 1 })
    expect(requests.filter((path) => path === '/')).toHaveLength(2)
    expect(await keys()).toEqual(['/', '/1', '/2'])
  })

  it('finishes what is in flight when it is stopped, and takes nothing new', async () => {
    let open = () => {}
    gate = new Promise((resolve) => {
      open = resolve
    })
    const { crawl, worker } = await crawlWith(backends.store)
    await expect.poll(() => requests.length, { timeout: 10_000 }).toBe(1)
    const stopped = worker.stop(30_000)
    open()
    await stopped
    expect(await backends.frontier.stats(crawl)).toMatchObject({ done: 1, leased: 0, queued: 2, failed: 0 })
  })

  it('hands back what does not end within the grace period, with no attempt used', async () => {
    gate = new Promise(() => {})
    const { crawl, worker } = await crawlWith(backends.store)
    await expect.poll(() => requests.length, { timeout: 10_000 }).toBe(1)
    await worker.stop(100)
    expect(await backends.frontier.stats(crawl)).toMatchObject({ done: 0, leased: 0, queued: 1, failed: 0 })
    const [link] = await backends.frontier.links({ crawl, limit: 1 })
    expect(link).toMatchObject({ attempts: 0, state: 'queued' })
  })

  it('stops without losing anything when the backends cannot be used', async () => {
    const { ShoalError } = await import('../../src/errors.js')
    const store = watched(async () => {
      throw new ShoalError('disk_full', 'the disk is full')
    })
    const { crawl, worker } = await crawlWith(store)
    await expect(worker.ended).rejects.toMatchObject({ code: 'disk_full' })
    expect(await backends.frontier.stats(crawl)).toMatchObject({ done: 0, dead: 0, failed: 0, total: 1 })
  })
})
