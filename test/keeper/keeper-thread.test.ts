import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config.js'
import { KeeperThread, keepThrough } from '../../src/keeper/client.js'
import type { ToKept } from '../../src/keeper/protocol.js'
import { runCrawl } from '../../src/run/run-crawl.js'
import { openBackends } from '../../src/wire/backends.js'
import { linkTo, specOf } from '../contract/frontier-fixtures.js'
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

  it('is kept although the keeper thread dies', async () => {
    const backends = await openBackends({ queue: redis.url, store: 'memory:' })
    const { frontier } = backends
    const visibilityMs = 4_000
    await frontier.open(specOf({ id: 'keeper-dies', spider: 'kept', visibilityMs }))
    await frontier.add('keeper-dies', [linkTo('a.test/1')])
    const { leases } = await frontier.lease({
      worker: 'kept',
      seq: 1,
      want: 1,
      spiders: ['kept'],
    })
    const holding = leases.map(({ token, epoch }) => ({ token, epoch, settling: false, waiting: false }))
    expect(holding).toHaveLength(1)
    const keeper = new KeeperThread(redis.url)
    const port = keeper.connect()
    const threads: MessagePort[] = []
    port.on('message', (message: ToKept) => threads.push(message.keeper))
    const lost: string[] = []
    const keeping = { worker: 'kept', lostAfterMs: 60_000, heartbeatMs: 300, holdMs: 60_000 }
    const kept = keepThrough(port, { ...keeping, held: () => holding, onLost: (tokens) => lost.push(...tokens) })
    await kept.ready
    // The thread does not expect that, and ends.
    threads[0]?.postMessage(null)
    await expect.poll(() => threads.length, { timeout: 20_000 }).toBe(2)
    const until = performance.now() + 2 * visibilityMs
    while (performance.now() < until) {
      await frontier.reap(100)
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    expect(await frontier.stats('keeper-dies')).toMatchObject({ leased: 1, reclaimed: 0 })
    expect(lost).toEqual([])
    kept.stop()
    await keeper.close()
    await backends.close()
  })
})
