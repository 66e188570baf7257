import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock, systemRandom } from '../../src/clock.js'
import { openCrawl } from '../../src/coordinator/crawls.js'
import { seedCrawl } from '../../src/coordinator/seeding.js'
import { ShoalError } from '../../src/errors.js'
import type { Frontier, LeaseRequest } from '../../src/frontier/frontier.js'
import { createLog } from '../../src/log.js'
import { type RunningWorker, startWorker } from '../../src/run/workers/start-worker.js'
import { defineSpider } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import type { Spider } from '../../src/spider/spider.js'
import { type Backends, openBackends } from '../../src/wire/backends.js'

let server: Server
let origin: string
let requests: string[]
let backends: Backends
let isDown: boolean
/** Calls that were carried out although their answer got lost. */
let loseAnswers: boolean
let leased: LeaseRequest[]
let events: Record<string, unknown>[]
let workers: RunningWorker[]

beforeEach(async () => {
  requests = []
  leased = []
  events = []
  workers = []
  isDown = false
  loseAnswers = false
  server = createServer((request, response) => {
    requests.push(request.url ?? '')
    response.setHeader('content-type', 'text/html')
    if (request.url === '/robots.txt') response.writeHead(404).end()
    else response.end(`<h1>${request.url}</h1><a href="/1">1</a> <a href="/2">2</a> <a href="/3">3</a>`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  backends = await openBackends({ queue: 'memory:', store: 'memory:' })
})

afterEach(async () => {
  isDown = false
  for (const worker of workers) await worker.stop(0)
  await backends.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

function spider(name: string): Spider {
  return spiderFromDefinition(
    defineSpider({
      name,
      start: [`${origin}/?${name}`],
      allowPrivate: ['127.0.0.1:*'],
      pace: { delay: 0, concurrency: 2 },
      records: { page: {} },
      routes: {
        page: {
          match: '**',
          follow: [{ links: 'a' }],
          record: { kind: 'page', key: 'title', fields: { title: 'h1' } },
        },
      },
    }),
  )
}

/** The queue with a line that can be cut, before the call or after it. */
function cuttable(frontier: Frontier): Frontier {
  return new Proxy(frontier, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      return async (...args: unknown[]) => {
        const gone = () => new ShoalError('queue_down', 'the queue is down')
        if (isDown) throw gone()
        if (name === 'lease') leased.push(args[0] as LeaseRequest)
        const answer: unknown = await Reflect.apply(member, target, args)
        if (loseAnswers && name !== 'crawls') throw gone()
        return answer
      }
    },
  })
}

async function start(spiders: readonly Spider[]): Promise<string[]> {
  const crawls: string[] = []
  for (const one of spiders) {
    const { crawl } = await openCrawl(backends, one, { fresh: false, clock: systemClock, random: systemRandom })
    await seedCrawl(backends, one, crawl, { clock: systemClock, signal: new AbortController().signal }).all
    crawls.push(crawl)
  }
  const log = createLog('info', systemClock, (line) => events.push(JSON.parse(line)))
  const cut = { ...backends, frontier: cuttable(backends.frontier) }
  const parts = { id: 'w1', backends: cut, spiders, concurrency: 2, clock: systemClock, random: systemRandom, log }
  workers.push(startWorker(parts))
  return crawls
}

const state = async (crawl: string) => (await backends.frontier.stats(crawl)).state
const logged = (event: string) => events.filter((one) => one.event === event)
const SOON = { timeout: 15_000 }

describe('a worker whose queue is down', () => {
  it('pauses, logs it once, and resumes on its own with no attempt used up', async () => {
    isDown = true
    const [crawl = ''] = await start([spider('one')])
    await expect.poll(() => logged('backend.waiting').length, SOON).toBe(1)
    await systemClock.sleep(1_500)
    isDown = false
    await expect.poll(() => state(crawl), SOON).toBe('finished')
    expect(await backends.frontier.stats(crawl)).toMatchObject({ done: 4, dead: 0, failed: 0, retried: 0 })
    expect(logged('backend.waiting')).toHaveLength(1)
    expect(logged('backend.back')).toHaveLength(1)
  })

  it('repeats calls whose answer was lost, with the same number, and fetches nothing twice', async () => {
    loseAnswers = true
    const [crawl = ''] = await start([spider('one')])
    await expect.poll(() => leased.length, SOON).toBeGreaterThan(1)
    expect(new Set(leased.map(({ seq }) => seq)).size).toBe(1)
    loseAnswers = false
    await expect.poll(() => requests.length, SOON).toBeGreaterThan(1)
    loseAnswers = true
    await systemClock.sleep(1_000)
    loseAnswers = false
    await expect.poll(() => state(crawl), SOON).toBe('finished')
    expect(await backends.frontier.stats(crawl)).toMatchObject({ done: 4, dead: 0, failed: 0, stale: 0, reclaimed: 0 })
    expect(requests.filter((path) => path !== '/robots.txt').sort()).toEqual(['/1', '/2', '/3', '/?one'])
  })

  it('ends within its grace time all the same', async () => {
    const [crawl = ''] = await start([spider('one')])
    await expect.poll(() => requests.length, SOON).toBeGreaterThan(0)
    isDown = true
    await workers[0]?.stop(300)
    isDown = false
    const { dead, failed } = await backends.frontier.stats(crawl)
    expect({ dead, failed }).toEqual({ dead: 0, failed: 0 })
  })
})

describe('a worker with several spiders', () => {
  it('serves the crawls of each with its own rules, and reports where it runs', async () => {
    const spiders = [spider('one'), spider('two')]
    const crawls = await start(spiders)
    for (const crawl of crawls) await expect.poll(() => state(crawl), SOON).toBe('finished')
    for await (const record of backends.store.records.scan({})) expect(['one', 'two']).toContain(record.spider)
    for (const name of ['one', 'two']) expect(requests).toContain(`/?${name}`)
    const [about] = await backends.frontier.workers()
    expect(about?.about).toMatchObject({
      pid: process.pid,
      spiders: { one: spiders[0]?.hash, two: spiders[1]?.hash },
    })
  })
})
