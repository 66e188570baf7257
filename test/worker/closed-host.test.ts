import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock, systemRandom } from '../../src/clock.js'
import { openCrawl } from '../../src/coordinator/crawls.js'
import { seedCrawl } from '../../src/coordinator/seeding.js'
import { silentLog } from '../../src/log.js'
import { type RunningWorker, startWorker } from '../../src/run/workers/start-worker.js'
import { defineSpider } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import { type Backends, openBackends } from '../../src/wire/backends.js'
import { until } from '../support/server-process.js'

let server: Server
let backends: Backends
let worker: RunningWorker
let host: string
let pages: string[]

/** The host is closed by hand while its robots.txt is on the way. */
beforeEach(async () => {
  pages = []
  backends = await openBackends({ queue: 'memory:', store: 'memory:' })
  server = createServer(async (request, response) => {
    response.setHeader('content-type', 'text/html')
    if (request.url === '/robots.txt') {
      await backends.frontier.setHost(host, { blocked: true })
      response.writeHead(404).end()
      return
    }
    pages.push(request.url ?? '')
    response.end('<h1>open</h1>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterEach(async () => {
  await worker.stop(0)
  await backends.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

it('a link in flight whose host is closed goes back unfetched with no attempt used, and is visited as soon as the host is opened', async () => {
  const spider = spiderFromDefinition(
    defineSpider({
      ...{ name: 's', start: [`http://${host}/`], allowPrivate: ['127.0.0.1:*'], pace: { delay: 0 } },
      routes: { page: { match: '**', handler() {} } },
    }),
  )
  const clock = systemClock
  const { crawl } = await openCrawl(backends, spider, { fresh: false, clock, random: systemRandom })
  await seedCrawl(backends, spider, crawl, { clock, signal: new AbortController().signal }).all
  const parts = { clock, random: systemRandom, log: silentLog }
  worker = startWorker({ id: 'w1', backends, spiders: [spider], concurrency: 1, ...parts })
  await until('its host is closed', async () => (await backends.frontier.hosts(crawl, { limit: 1 }))[0]?.set !== null)
  await until('it is handed back', async () => (await backends.frontier.stats(crawl)).leased === 0)
  expect(await backends.frontier.stats(crawl)).toMatchObject({ queued: 1, delayed: 0, failed: 0, retried: 0 })
  expect(pages).toEqual([])
  await backends.frontier.setHost(host, { blocked: false })
  await until('it is visited', async () => (await backends.frontier.stats(crawl)).state === 'finished', 10_000)
  expect(pages).toEqual(['/'])
})
