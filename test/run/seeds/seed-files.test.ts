import { writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Clock, systemClock, systemRandom } from '../../../src/clock.js'
import { specFor } from '../../../src/coordinator/crawls.js'
import { fileCrawl, setCrawlState } from '../../../src/coordinator/file-crawl.js'
import type { FileFetcher } from '../../../src/discovery/listings.js'
import { createLog } from '../../../src/log.js'
import type { Pool } from '../../../src/proxy/pool.js'
import { loadPools } from '../../../src/proxy/pools.js'
import { openSeedFiles } from '../../../src/run/seeds/seed-files.js'
import { spiderNotices } from '../../../src/run/spider-notices.js'
import { workerIds } from '../../../src/run/workers/worker-ids.js'
import type { SpiderDefinition } from '../../../src/spider/definition.js'
import { resolveSpider } from '../../../src/spider/resolve.js'
import type { Spider } from '../../../src/spider/spider.js'
import { type Backends, openBackends } from '../../../src/wire/backends.js'
import { runCli, tempDir } from '../../support/cli.js'

const clock = systemClock
const dir = tempDir('seed-files')
afterAll(() => dir.remove())
let backends: Backends
let closing: (() => unknown)[]

beforeEach(async () => {
  backends = await openBackends({ queue: 'memory:', store: 'memory:' })
  closing = [() => backends.close()]
})
afterEach(async () => {
  for (const close of closing.reverse()) await close()
})

type Answer = { status?: number; headers?: Record<string, string>; body?: string; afterMs?: number }
interface Asked {
  readonly path: string
  readonly headers: IncomingHttpHeaders
}

async function site(address: string, answer: (path: string) => Answer) {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    const path = request.url ?? ''
    asked.push({ path, headers: request.headers })
    const { status = 200, headers = {}, body = '', afterMs = 0 } = answer(path)
    await sleep(afterMs)
    response.writeHead(status, headers).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, address, resolve))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const origin = `http://${address}:${(server.address() as AddressInfo).port}`
  return { origin, asked, count: (path: string) => asked.filter((one) => one.path === path).length }
}

function spiderOf(origin: string, more: Partial<SpiderDefinition> = {}): Spider {
  return resolveSpider(
    {
      ...{ name: 's', start: [`${origin}/`], allowPrivate: ['127.0.0.1:*', '127.0.0.2:*'], robots: false },
      ...{ pace: { delay: 0 }, routes: { page: { match: '**' } }, ...more },
    },
    'h',
  )
}

async function open(spider: Spider, pools: readonly Pool[] = [], by: Clock = clock): Promise<FileFetcher> {
  const log = createLog('error', clock, () => {})
  const signal = new AbortController().signal
  const atHand = new Map(pools.map((pool) => [pool.name, pool]))
  return openSeedFiles({ backends, spider, crawl: 'c', pools: atHand, clock: by, random: systemRandom, log, signal })
}
const textOf = async (files: FileFetcher, url: string) => {
  const { spool } = await files.get(url)
  const pieces: Buffer[] = []
  for await (const piece of spool.read()) pieces.push(piece)
  spool.close()
  return Buffer.concat(pieces).toString()
}
const states = async () => (await backends.frontier.crawls()).map(({ state }) => state)

describe('files of seeds', () => {
  it('are fetched by two processes for one crawl, neither in the way of the other', async () => {
    const { origin, asked } = await site('127.0.0.1', (path) => ({ body: path, afterMs: 50 }))
    const spider = spiderOf(origin)
    const [one, two] = [await open(spider), await open(spider)]
    const first = (async () => {
      expect(await textOf(one, `${origin}/a`)).toBe('/a')
      await one.close()
    })()
    for (const path of ['/b', '/c', '/d', '/e']) expect(await textOf(two, `${origin}${path}`)).toBe(path)
    await first
    await two.close()
    expect(asked).toHaveLength(5)
    expect(await states()).toEqual([])
  })

  it('that moved to a busy host are waited for there, and are not asked for again', async () => {
    const there = await site('127.0.0.2', () => ({ status: 404 }))
    const here = await site('127.0.0.1', () => ({ status: 301, headers: { location: `${there.origin}/sitemap.xml` } }))
    await backends.frontier.setHost(new URL(there.origin).host, { delayMs: 6_000 })
    // Files that are done and do not come are asked for again sooner than that.
    const hasty = { ...clock, sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms / 10, signal) }
    const files = await open(spiderOf(here.origin), [], hasty)
    await expect(files.get(`${there.origin}/other.xml`)).rejects.toMatchObject({ code: 'http_error' })
    await expect(files.get(`${here.origin}/sitemap.xml`)).rejects.toMatchObject({ code: 'http_error' })
    await files.close()
    expect([here.count('/sitemap.xml'), there.count('/sitemap.xml')]).toEqual([1, 1])
  })

  it('are fetched by a session whose login has its own headers and reads its answers', async () => {
    const accounts = await site('127.0.0.2', (path) =>
      path === '/login' ? { body: 'welcome', headers: { 'set-cookie': 'id=1' } } : { body: path },
    )
    const { origin } = await site('127.0.0.1', () => ({}))
    const answers: string[] = []
    const spider = spiderOf(origin, {
      headers: { 'x-own': 'secret' },
      session: {
        async login({ fetch }) {
          answers.push((await fetch(`${accounts.origin}/login`, { headers: { 'x-login': 'yes' } })).text)
        },
      },
    })
    const files = await open(spider)
    expect(await textOf(files, `${accounts.origin}/sitemap.xml`)).toBe('/sitemap.xml')
    await files.close()
    expect(answers).toEqual(['welcome'])
    expect(accounts.asked[0]?.headers).toMatchObject({ 'x-login': 'yes' })
    expect(accounts.asked[1]?.headers).toMatchObject({ cookie: 'id=1' })
    expect(accounts.asked[1]?.headers).not.toHaveProperty('x-own')
  })

  it('go through a pool that is at hand, never past all of them', async () => {
    const routes = { x: { match: '/x', proxy: false }, page: { match: '**', proxy: 'b' } } as const
    const spider = spiderOf('http://127.0.0.1:1', { proxy: 'a', routes: { ...routes, y: { match: '/y' } } })
    await expect(open(spider)).rejects.toMatchObject({ code: 'proxy_unknown' })
    const entries = { entries: ['http://127.0.0.1:9'], kind: 'datacenter' }
    const file = join(dir.path, 'pools.json')
    writeFileSync(file, JSON.stringify({ b: entries }))
    const files = await open(spider, loadPools(file, {}))
    const asking = expect(files.get('http://127.0.0.1:1/a')).rejects.toThrow()
    await expect.poll(async () => (await backends.proxies.scores('b', { limit: 9 })).length).toBeGreaterThan(0)
    await files.close()
    await asking
  })

  it('are cancelled with their crawl, and nobody is told of them as of an unknown spider', async () => {
    const { origin } = await site('127.0.0.1', () => ({ afterMs: 60_000 }))
    const spider = spiderOf(origin)
    await backends.frontier.open(specFor(spider, 'c', 1))
    const files = await open(spider)
    const failed = expect(files.get(`${origin}/a`)).rejects.toMatchObject({ code: 'crawl_ended' })
    await sleep(300)
    expect(spiderNotices([spider])(await backends.frontier.crawls())).toEqual([])
    await setCrawlState(backends.frontier, 'c', 'paused')
    expect(await states()).toEqual(['paused', 'paused'])
    await setCrawlState(backends.frontier, 'c', 'cancelled')
    expect(await states()).toEqual(['cancelled', 'cancelled'])
    await failed
  })

  it('left by a process that was killed go with its crawl, or when somebody else seeds that', async () => {
    const spider = spiderOf('http://127.0.0.1:1')
    const left = (by: number) => {
      const { id, spider: name } = fileCrawl('c', 's', workerIds()().replace(`-${process.pid}-`, `-${by}-`))
      return specFor({ ...spider, name }, id, 1)
    }
    const gone = 99_999_999
    await backends.frontier.open(left(gone))
    await backends.frontier.open(left(process.pid))
    const files = await open(spider)
    expect((await backends.frontier.crawls()).filter(({ id }) => id.includes(`-${gone}-`))).toEqual([])
    expect(await states()).toHaveLength(2)
    await files.close()

    const address = `sqlite:${join(dir.path, 'left.db')}`
    const inFile = await openBackends({ queue: address, store: address })
    try {
      await inFile.frontier.open(specFor(spider, 'c', 1))
      await inFile.frontier.open(left(gone))
      for (const args of [['cancel'], ['crawls', 'delete', 'c', '--yes']])
        expect(await runCli([...args, '--queue', address], { cwd: dir.path })).toMatchObject({ code: 0 })
      expect(await inFile.frontier.crawls()).toEqual([])
    } finally {
      await inFile.close()
    }
  })
})
