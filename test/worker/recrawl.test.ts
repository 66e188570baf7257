import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock, systemRandom } from '../../src/clock.js'
import { openCrawl } from '../../src/coordinator/crawls.js'
import { seedCrawl } from '../../src/coordinator/seeding.js'
import { silentLog } from '../../src/log.js'
import { startWorker } from '../../src/run/workers/start-worker.js'
import { resolveSpider } from '../../src/spider/resolve.js'
import type { Spider } from '../../src/spider/spider.js'
import type { StoredRecord } from '../../src/store/record-store.js'
import { type Backends, openBackends } from '../../src/wire/backends.js'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

let servers: Server[]
let requests: { url: string; etag: string | undefined; since: string | undefined }[]
let pages: Map<string, Answer>
let origin: string
let backends: Backends
let handled: string[]

async function listen(): Promise<string> {
  const server = createServer((request, response) => {
    const { url = '', headers } = request
    requests.push({ url, etag: headers['if-none-match'], since: headers['if-modified-since'] })
    response.setHeader('content-type', 'text/html')
    const answer = pages.get(url)
    if (answer === undefined) response.writeHead(404).end()
    else answer(request, response)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

beforeEach(async () => {
  servers = []
  requests = []
  handled = []
  pages = new Map()
  origin = await listen()
  backends = await openBackends({ queue: 'memory:', store: 'memory:' })
})

afterEach(async () => {
  await backends.close()
  for (const server of servers) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

/** With an ETag, answered by 304 when it is asked for by that one. */
const tagged =
  (html: string, etag: string): Answer =>
  (request, response) => {
    response.setHeader('etag', etag)
    if (request.headers['if-none-match'] === etag) response.writeHead(304).end()
    else response.end(html)
  }
const plain =
  (html: string): Answer =>
  (_, response) => {
    response.end(html)
  }

function spider(fields: { hash?: string; savePages?: boolean; headers?: Record<string, string> } = {}): Spider {
  const { hash = 'v1', ...more } = fields
  return resolveSpider(
    {
      name: 'shop',
      start: [`${origin}/`],
      allowPrivate: ['127.0.0.1:*'],
      scope: { hosts: ['*'] },
      pace: { delay: 0, concurrency: 4 },
      retries: { max: 0 },
      robots: false,
      lease: { visibility: '1s', heartbeat: '300ms' },
      recrawl: true,
      ...more,
      records: { page: {} },
      routes: {
        page: {
          match: '**',
          follow: [{ links: 'a' }],
          record: { kind: 'page', fields: { title: 'h1' } },
          handler(page) {
            handled.push(new URL(page.url).pathname)
          },
        },
      },
    },
    hash,
  )
}

async function crawl(made: Spider, frontier = backends.frontier): Promise<string> {
  requests = []
  handled = []
  const { crawl: id } = await openCrawl(backends, made, { fresh: false, clock: systemClock, random: systemRandom })
  await seedCrawl(backends, made, id, { clock: systemClock, signal: new AbortController().signal }).all
  const parts = {
    backends: { ...backends, frontier },
    spiders: [made],
    pools: new Map(),
    concurrency: 4,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
  }
  const worker = startWorker({ id: 'w1', ...parts })
  await expect.poll(async () => (await backends.frontier.stats(id)).state, { timeout: 10_000 }).toBe('finished')
  await worker.stop(1_000)
  return id
}

async function records(): Promise<Map<string, StoredRecord>> {
  const found = new Map<string, StoredRecord>()
  for await (const record of backends.store.records.scan({})) found.set(new URL(record.url).pathname, record)
  return found
}

const counts = async (id: string) => backends.store.visits.counts(id)

describe('a spider that recrawls', () => {
  it('asks on condition, handles what changed, confirms the rest, and reaches what lies behind it', async () => {
    pages.set('/', tagged('<h1>home</h1><a href="/a">a</a><a href="/b">b</a>', 'W/"home"'))
    pages.set('/a', plain('<h1>a</h1><a href="/deep">deep</a>'))
    pages.set('/b', tagged('<h1>b</h1>', '"b1"'))
    pages.set('/deep', tagged('<h1>deep</h1>', '"deep"'))
    const first = await crawl(spider())
    expect(requests.every(({ etag, since }) => etag === undefined && since === undefined)).toBe(true)
    expect(await counts(first)).toEqual({ new: 4, changed: 0, notModified: 0, sameBody: 0 })
    const before = await records()

    pages.set('/b', tagged('<h1>b2</h1><a href="/new">new</a>', '"b2"'))
    pages.set('/new', plain('<h1>new</h1>'))
    const second = await crawl(spider())
    expect(requests.map(({ url, etag }) => [url, etag])).toEqual(
      expect.arrayContaining([
        ['/', 'W/"home"'],
        ['/a', undefined],
        ['/b', '"b1"'],
        ['/deep', '"deep"'],
        ['/new', undefined],
      ]),
    )
    expect(handled.sort()).toEqual(['/b', '/new'])
    expect(await counts(second)).toEqual({ new: 1, changed: 1, notModified: 2, sameBody: 1 })
    expect((await backends.frontier.stats(second)).done).toBe(5)
    const after = await records()
    for (const path of ['/', '/a', '/deep']) {
      const { crawl: by, scrapedAt, updatedAt } = after.get(path) ?? {}
      expect({ by, updatedAt }).toEqual({ by: second, updatedAt: before.get(path)?.updatedAt })
      expect(scrapedAt).toBeGreaterThan(before.get(path)?.scrapedAt ?? Number.POSITIVE_INFINITY)
    }
    expect(after.get('/b')?.data).toEqual({ title: 'b2' })
    expect(await backends.store.records.counts({ crawl: second })).toMatchObject([{ records: 5, unchanged: 3 }])
  })

  it('follows the links of an unchanged page though another page had given them first', async () => {
    pages.set('/', tagged('<h1>home</h1><a href="/a">a</a><a href="/b">b</a>', '"1"'))
    pages.set('/a', plain('<h1>a</h1><a href="/shared">s</a>'))
    pages.set('/b', tagged('<h1>b</h1><a href="/shared">s</a>', '"b"'))
    pages.set('/shared', plain('<h1>shared</h1>'))
    await crawl(spider())
    pages.set('/a', plain('<h1>a has lost it</h1>'))
    await crawl(spider())
    expect(requests.map(({ url }) => url)).toContain('/shared')
  })

  it('handles every page again when its code has changed', async () => {
    pages.set('/', tagged('<h1>home</h1>', '"1"'))
    await crawl(spider())
    const second = await crawl(spider({ hash: 'v2' }))
    expect(requests).toMatchObject([{ url: '/', etag: undefined }])
    expect(handled).toEqual(['/'])
    expect(await counts(second)).toMatchObject({ changed: 1 })
    await crawl(spider({ hash: 'v2' }))
    expect(handled).toEqual([])
  })

  it('asks on condition at the end of a redirect, and nowhere on the way', async () => {
    const other = await listen()
    const to =
      (place: string): Answer =>
      (_, response) =>
        response.writeHead(302, { location: place, etag: '"1"' }).end()
    pages.set('/', to(`${other}/far`))
    pages.set('/far', tagged('<h1>far</h1>', '"far"'))
    await crawl(spider())
    await crawl(spider())
    expect(requests).toMatchObject([
      { url: '/', etag: undefined },
      { url: '/far', etag: '"far"' },
    ])
    expect(handled).toEqual([])
    // Now it leads elsewhere: the validators of one are not sent to the other.
    pages.set('/', to(`${await listen()}/else`))
    pages.set('/else', tagged('<h1>else</h1>', '"else"'))
    await crawl(spider())
    expect(requests).toMatchObject([{ etag: undefined }, { url: '/else', etag: undefined }])
    expect(handled).toEqual(['/else'])
  })

  it('handles the same body again when it comes from another place', async () => {
    const to =
      (place: string): Answer =>
      (_, response) =>
        response.writeHead(302, { location: place }).end()
    pages.set('/', to('/v1/'))
    for (const folder of ['/v1/', '/v2/']) {
      pages.set(folder, plain('<h1>list</h1><a href="item">i</a>'))
      pages.set(`${folder}item`, plain(`<h1>${folder}</h1>`))
    }
    await crawl(spider())
    pages.set('/', to('/v2/'))
    await crawl(spider())
    expect(requests.map(({ url }) => url)).toEqual(['/', '/v2/', '/v2/item'])
  })

  it('asks with the validators of the last answer, also when that was the same page again', async () => {
    const asked: (string | undefined)[] = []
    const answer = async (html: Answer) => {
      pages.set('/', html)
      await crawl(spider())
      asked.push(requests[0]?.etag)
    }
    await answer(tagged('<h1>e</h1>', '"a"'))
    await answer(tagged('<h1>e</h1>', '"b"'))
    await answer((_, response) => response.writeHead(304, { etag: '"c"' }).end())
    await answer((_, response) => response.writeHead(304).end())
    await answer(plain('<h1>e</h1>'))
    await answer(plain('<h1>e</h1>'))
    expect(asked).toEqual([undefined, '"a"', '"b"', '"c"', '"c"', undefined])
  })

  it('keeps no header by which a server would name a picture', async () => {
    pages.set('/', (_, response) => response.setHeader('x-shoal-screenshot', 'sha256:00').end('<h1>x</h1>'))
    await crawl(spider({ savePages: true }))
    const { pages: kept } = await backends.store.pages.part({ spider: 'shop', newestOnly: true }, null, 10)
    expect(kept).toMatchObject([{ headers: { 'content-type': 'text/html' } }])
    expect(kept[0]?.headers).not.toHaveProperty('x-shoal-screenshot')
  })

  it('takes a 304 that nobody asked for as an error', async () => {
    pages.set('/', (_, response) => response.writeHead(304).end())
    const id = await crawl(spider())
    expect(await backends.frontier.deadByError(id)).toMatchObject([{ code: 'http_error', count: 1 }])
    expect(await counts(id)).toBeNull()
    // Nor one for which the user asked himself.
    pages.set('/', tagged('<h1>home</h1>', '"1"'))
    await crawl(spider())
    const own = await crawl(spider({ headers: { 'If-None-Match': '"1"' } }))
    expect((await backends.frontier.stats(own)).dead).toBe(1)
  })

  it('keeps the old visit when a handler fails, so that the page is handled again', async () => {
    pages.set('/', tagged('<h1>home</h1>', '"1"'))
    const failing = spider()
    const [route] = failing.routes.values()
    if (route === undefined) throw new Error('it has a route')
    const routes = new Map([[route.name, { ...route, harvest: () => Promise.reject(new Error('no')) }]])
    await crawl({ ...failing, routes })
    expect(handled).toEqual([])
    await crawl(spider())
    expect(handled).toEqual(['/'])
  })

  it('loses no link when its worker dies between the commit and the acknowledgement', async () => {
    pages.set('/', tagged('<h1>home</h1><a href="/a">a</a>', '"1"'))
    pages.set('/a', plain('<h1>a</h1>'))
    let refused = 0
    const frontier = new Proxy(backends.frontier, {
      get(target, name) {
        if (name === 'settle' && refused === 0)
          return async (settlements: unknown[]) => {
            refused += 1
            return settlements.map(() => false)
          }
        const member: unknown = Reflect.get(target, name, target)
        return typeof member === 'function' ? member.bind(target) : member
      },
    })
    const id = await crawl(spider(), frontier)
    expect(refused).toBe(1)
    expect(requests.map(({ url, etag }) => [url, etag])).toEqual([
      ['/', undefined],
      ['/', '"1"'],
      ['/a', undefined],
    ])
    expect((await records()).size).toBe(2)
    expect(await counts(id)).toEqual({ new: 2, changed: 0, notModified: 1, sameBody: 0 })
  })

  it('lets a reparse find the page that was kept under the lease that its records have now', async () => {
    pages.set('/', tagged('<h1>home</h1>', '"1"'))
    await crawl(spider({ savePages: true }))
    const second = await crawl(spider({ savePages: true }))
    expect(await counts(second)).toMatchObject({ notModified: 1 })
    const { pages: kept } = await backends.store.pages.part({ spider: 'shop', newestOnly: true }, null, 10)
    expect(kept).toMatchObject([{ crawl: second, status: 304, headers: { etag: '"1"' } }])
    const [page] = kept
    const readings = [{ url: `${origin}/`, gen: page?.gen ?? 0, epoch: page?.epoch ?? '' }]
    expect(await backends.store.lookup.leftOver('shop', readings, [])).toHaveLength(1)
  })

  it('asks for the whole page when the one that was kept is gone', async () => {
    pages.set('/', tagged('<h1>home</h1>', '"1"'))
    await crawl(spider({ savePages: true }))
    let gone = true
    const has = backends.pages.has.bind(backends.pages)
    backends.pages.has = async (ref) => !gone && has(ref)
    const second = await crawl(spider({ savePages: true }))
    expect(requests).toMatchObject([{ url: '/', etag: undefined }])
    expect(await counts(second)).toMatchObject({ sameBody: 1 })
    gone = false
    expect(await counts(await crawl(spider({ savePages: true })))).toMatchObject({ notModified: 1 })
  })

  it('refuses a freshness window, which would lose changes', () => {
    const definition = { name: 'x', start: [origin], recrawl: true, routes: { page: { match: '**' } } }
    expect(() => resolveSpider({ ...definition, records: { a: { fresh: '1h' } } }, 'h')).toThrow('records.a.fresh')
    expect(resolveSpider({ ...definition, records: { a: {} } }, 'h').records.get('a')?.freshMs).toBe(0)
  })
})
