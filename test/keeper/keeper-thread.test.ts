import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config.js'
import { runCrawl } from '../../src/run/run-crawl.js'
import { openBackends } from '../../src/wire/backends.js'
import { tempDir } from '../support/cli.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'

const dir = tempDir('keeper')
let redis: RedisServer
let server: Server
let requests: string[] = []

beforeAll(async () => {
  redis = await startRedis()
  server = createServer((request, response) => {
    requests.push(request.url ?? '')
    if (request.url === '/robots.txt') response.writeHead(404).end()
    else response.setHeader('content-type', 'text/html').end('<h1>page</h1>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})

afterAll(async () => {
  await redis.stop()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  dir.remove()
})

describe('a lease on Redis', () => {
  it('is kept while a handler blocks the event loop for several leases, off which it is renewed', async () => {
    requests = []
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const path = join(dir.path, 'slow.mjs')
    writeFileSync(
      path,
      `import { defineSpider } from 'shoal'
       export default defineSpider({
         name: 'slow', start: ['${origin}/'], allowPrivate: ['127.0.0.1:*'],
         lease: { visibility: '1s', heartbeat: '300ms' }, handlerTimeout: '20s',
         routes: { page: { match: '/**', handler() { const until = Date.now() + 4000; while (Date.now() < until); } } },
       })`,
    )
    const queue = redis.url
    const summary = await runCrawl({
      settings: loadConfig({
        flags: {
          queue,
          store: `sqlite:${join(dir.path, 'shoal.db')}`,
          concurrency: 4,
          logLevel: 'silent',
          grace: '1s',
        },
        env: {},
      }),
      source: { kind: 'file', path },
      workers: 1,
      fresh: false,
      drain: new AbortController().signal,
    })
    expect(summary).toMatchObject({ state: 'finished', pages: 1, dead: 0 })
    expect(requests.filter((url) => url === '/')).toHaveLength(1)
    const backends = await openBackends({ queue, store: 'memory:' })
    expect(await backends.frontier.stats(summary.crawl)).toMatchObject({ done: 1, reclaimed: 0, stale: 0 })
    await backends.close()
  })
})
