import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { CrawlStats, WorkerInfo } from '../../src/frontier/frontier.js'
import { type Backends, openBackends } from '../../src/wire/backends.js'
import { type AccessEntry, checkPoliteness } from '../support/access-log.js'
import { lastJson, onMachine, runCli, startCli, tempDir } from '../support/cli.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'
import { startTcpProxy } from '../support/tcp-proxy.js'

/** One host with one slot: whoever holds it stops everybody else when it dies. Judged by the log of the site, and by nothing that Shoal says. */
const PAGES = 30
const DELAY_MS = 100
const ANSWER_MS = 150
const LOST_AFTER_MS = 5_000
/** A reap every second, and what the machine needs while other tests run. */
const SLACK_MS = 2_000
const SOON = { timeout: 60_000, interval: 100 }
const dir = tempDir('dead-worker')
let redis: RedisServer
let site: Server
let entries: AccessEntry[]
let backends: Backends
let crawl: string
let spider: string
const stops: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  site = createServer((request, response) => {
    const path = request.url ?? ''
    const times = { t: performance.timeOrigin + performance.now(), end: null, status: 0, bytes: 0 }
    const about = { host: 'site', method: 'GET', n: 1, run: 1, conn: 1, ua: '' }
    const index = entries.push({ ...times, path, ...about }) - 1
    response.once('close', () => {
      const entry = entries[index]
      if (entry !== undefined) entries[index] = { ...entry, end: performance.timeOrigin + performance.now() }
    })
    if (path === '/robots.txt') return response.writeHead(404).end()
    setTimeout(() => response.setHeader('content-type', 'text/html').end(`<h1>${path}</h1>`), ANSWER_MS)
  })
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
})

beforeEach(async () => {
  entries = []
  redis = await startRedis()
  backends = await openBackends({ queue: redis.url, store: 'memory:' })
  const { port } = site.address() as AddressInfo
  const start = Array.from({ length: PAGES }, (_, page) => `http://127.0.0.1:${port}/${page}`)
  spider = join(dir.path, 'single.mjs')
  writeFileSync(
    spider,
    `import { defineSpider } from 'shoal'
     export default defineSpider({
       name: 'single', start: ${JSON.stringify(start)}, allowPrivate: ['127.0.0.1:*'],
       pace: { delay: '${DELAY_MS}ms', concurrency: 1 }, records: { page: {} },
       routes: { page: { match: '/**', record: { kind: 'page', key: 'h', fields: { h: 'h1' } } } },
     })`,
  )
  const started = await runCli(['start', spider, '--json'], here())
  expect(started.code, started.stderr).toBe(0)
  crawl = String(lastJson(started.stdout).crawl)
})

afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
  await backends.close()
  await redis.stop()
})

afterAll(() => {
  site.closeAllConnections()
  site.close()
  dir.remove()
})

const here = (queue = redis.url) => ({ cwd: dir.path, env: { SHOAL_QUEUE: queue } })

function worker(options: { queue?: string; machine?: string } = {}): void {
  const { env, cwd } = here(options.queue)
  const named: Record<string, string> = options.machine === undefined ? {} : onMachine(options.machine)
  const args = ['worker', spider, '--lost-after', `${LOST_AFTER_MS}ms`, '--grace', '1s']
  const { child, result } = startCli(args, { cwd, env: { ...env, ...named } })
  stops.push(() => {
    child.kill('SIGCONT')
    child.kill('SIGKILL')
    return result
  })
}

/** They begin together: on a busy machine the first could be done before the last has started. */
async function underWay(workers: readonly Parameters<typeof worker>[0][]): Promise<void> {
  await backends.frontier.setState(crawl, 'paused')
  for (const options of workers) worker(options)
  await expect.poll(async () => (await backends.frontier.workers()).length, SOON).toBe(workers.length)
  await backends.frontier.setState(crawl, 'running')
  await expect.poll(() => pages().length, SOON).toBeGreaterThan(5)
}

const stats = (): Promise<CrawlStats> => backends.frontier.stats(crawl)
const pages = () => entries.filter(({ path }) => path !== '/robots.txt')

/** The worker that holds the host's slot, with its request open at the site; it gets the signal. */
async function strike(signal: 'SIGKILL' | 'SIGSTOP', dead?: WorkerInfo): Promise<{ holder: WorkerInfo; at: number }> {
  for (;;) {
    const open = pages().find(({ end }) => end === null)
    // One that is dead may still be listed with what it held.
    const alive = (await backends.frontier.workers()).filter(({ about }) => about?.pid !== dead?.about?.pid)
    const holder = alive.find(({ inFlight }) => inFlight > 0)
    const isOpen = open !== undefined && entries.some(({ path, end }) => path === open.path && end === null)
    if (holder?.about != null && isOpen) {
      process.kill(holder.about.pid, signal)
      return { holder, at: performance.timeOrigin + performance.now() }
    }
    await sleep(5)
  }
}

/** From a moment to the next request at the site. */
async function nextRequestAfter(at: number): Promise<number> {
  const next = () => pages().find(({ t }) => t > at)?.t
  await expect.poll(next, { timeout: 40_000, interval: 20 }).toBeDefined()
  return (next() ?? 0) - at
}

async function finished(): Promise<CrawlStats> {
  await expect.poll(async () => (await stats()).state, SOON).toBe('finished')
  return stats()
}

function expectPolite(): void {
  // Half of the delay, because this process is not alone on the machine.
  expect(checkPoliteness(entries, { delayMs: DELAY_MS, concurrency: 1, tolerance: 0.5 }).violations).toEqual([])
}

describe('a worker that holds the only slot of a host', () => {
  it('is replaced within a second or two when its process dies on the same machine', { timeout: 90_000 }, async () => {
    await underWay([{}, {}, {}, {}])
    const { at } = await strike('SIGKILL')
    expect(await nextRequestAfter(at)).toBeLessThan(2_000)
    expect(await finished()).toMatchObject({ done: PAGES, dead: 0 })
    expect(pages().length).toBeLessThanOrEqual(PAGES + 1)
    expectPolite()
  })

  it('is replaced when its machine dies, and fenced when it was only frozen', { timeout: 120_000 }, async () => {
    await underWay(['m1', 'm2', 'm3', 'm4'].map((name) => ({ machine: name })))
    const killed = await strike('SIGKILL')
    expect(await nextRequestAfter(killed.at)).toBeLessThan(LOST_AFTER_MS + SLACK_MS)

    await sleep(1_000)
    const frozen = await strike('SIGSTOP', killed.holder)
    expect(await nextRequestAfter(frozen.at + ANSWER_MS)).toBeLessThan(LOST_AFTER_MS + SLACK_MS)
    await sleep(LOST_AFTER_MS)
    process.kill(frozen.holder.about?.pid ?? 0, 'SIGCONT')
    expect(await finished()).toMatchObject({ done: PAGES, dead: 0 })
    expect(pages().length).toBeLessThanOrEqual(PAGES + 2)
    expectPolite()
  })

  it('starts no request once it cannot reach the queue, which others have taken over by then', {
    timeout: 90_000,
  }, async () => {
    const proxy = await startTcpProxy(redis.port)
    stops.push(() => proxy.stop())
    await underWay([{ queue: `redis://127.0.0.1:${proxy.port}`, machine: 'm1' }])
    const cutAt = performance.timeOrigin + performance.now()
    proxy.hold()
    // The others watch.
    const taken = async () => {
      await backends.frontier.reap(100)
      return (await stats()).leased
    }
    await expect.poll(taken, { timeout: LOST_AFTER_MS + SLACK_MS, interval: 500 }).toBe(0)
    await sleep(2_000)
    // A permit is valid for two seconds.
    expect(pages().filter(({ t }) => t > cutAt + 2_500)).toEqual([])
    proxy.release()
    expect(await finished()).toMatchObject({ done: PAGES, dead: 0 })
    expectPolite()
  })
})
