import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock, systemRandom } from '../../src/clock.js'
import { openCrawl } from '../../src/coordinator/crawls.js'
import { seedCrawl } from '../../src/coordinator/seeding.js'
import { ShoalError } from '../../src/errors.js'
import type { Frontier, Settlement } from '../../src/frontier/frontier.js'
import { createLog } from '../../src/log.js'
import { type RunningWorker, startWorker } from '../../src/run/workers/start-worker.js'
import { defineSpider } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import { type Backends, openBackends } from '../../src/wire/backends.js'

let server: Server
let backends: Backends
let worker: RunningWorker
/** Of each page, the links that came with each settle of it that was sent. */
let sent: Map<string, number[]>

beforeEach(async () => {
  sent = new Map()
  server = createServer((request, response) => {
    response.setHeader('content-type', 'text/html')
    if (request.url === '/robots.txt') response.writeHead(404).end()
    else response.end('<a href="/1">1</a> <a href="/2">2</a> <a href="/3">3</a>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  backends = await openBackends({ queue: 'memory:', store: 'memory:' })
})

afterEach(async () => {
  await worker.stop(0)
  await backends.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

/** The first settle of /3, the last page, gets no reply, and the queue that comes back may be an older one. */
function losesTheServer(frontier: Frontier): Frontier {
  let doubts = 0
  const urls = new Map<string, string>()
  const wrapped: Partial<Frontier> = {
    async lease(request) {
      const reply = await frontier.lease(request)
      for (const { token, link } of reply.leases) urls.set(token, new URL(link.url).pathname)
      return reply
    },
    async settle(settlements: readonly Settlement[]) {
      let cut = false
      for (const { lease, outcome } of settlements) {
        const path = urls.get(lease.token) ?? ''
        const links = outcome.kind === 'done' ? outcome.links.length : -1
        cut ||= path === '/3' && !sent.has(path)
        sent.set(path, [...(sent.get(path) ?? []), links])
      }
      if (!cut) return frontier.settle(settlements)
      doubts++
      throw new ShoalError('queue_down', 'the queue is down')
    },
  }
  return new Proxy(frontier, {
    get(target, name) {
      if (name === 'doubts') return doubts
      if (name === 'lease' || name === 'settle') return wrapped[name]
      const member: unknown = Reflect.get(target, name, target)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

it('sends a queue that may have been restored all links of a page, known before or not', async () => {
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const spider = spiderFromDefinition(
    defineSpider({
      name: 'older',
      start: [`${origin}/`],
      allowPrivate: ['127.0.0.1:*'],
      pace: { delay: 0, concurrency: 1 },
      routes: { page: { match: '**', follow: [{ links: 'a' }] } },
    }),
  )
  const { crawl } = await openCrawl(backends, spider, { fresh: false, clock: systemClock, random: systemRandom })
  await seedCrawl(backends, spider, crawl, { clock: systemClock, signal: new AbortController().signal }).all
  worker = startWorker({
    id: 'w1',
    backends: { ...backends, frontier: losesTheServer(backends.frontier) },
    spiders: [spider],
    concurrency: 1,
    clock: systemClock,
    random: systemRandom,
    log: createLog('error', systemClock, () => {}),
  })
  await expect.poll(async () => (await backends.frontier.stats(crawl)).state, { timeout: 15_000 }).toBe('finished')
  // The others left out what the queue was known to have; so did /3 at first, and sent everything once there was a doubt.
  expect(Object.fromEntries(sent)).toEqual({ '/': [3], '/1': [0], '/2': [0], '/3': [0, 3] })
})
