import { afterEach, expect, it } from 'vitest'
import { connect, defineSpider } from '../../src/index.js'
import { burn, startSlowServer } from '../support/slow-server.js'

const PAGES = 24
const HANDLER_MS = 50

let toClose: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of toClose.reverse()) await close()
  toClose = []
})

it.each([
  { serverMs: 1, from: 0, to: 20 },
  { serverMs: 300, from: 200, to: 1_500 },
])(
  'a host of $serverMs ms is shown as such, although the handlers need all of the CPU',
  async ({ serverMs, from, to }) => {
    const server = await startSlowServer(serverMs)
    toClose.push(server.close)
    const shoal = await connect({ queue: 'memory:', store: 'memory:' })
    toClose.push(() => shoal.close())
    const crawl = await shoal.crawl(
      defineSpider({
        name: 'busy',
        start: Array.from({ length: PAGES }, (_, n) => `${server.origin}/${n}`),
        allowPrivate: ['127.0.0.1:*'],
        robots: false,
        pace: { delay: 0, concurrency: 64 },
        routes: { page: { match: '/*', handler: () => burn(HANDLER_MS) } },
      }),
    )
    const { done } = await crawl.runWorkers()
    expect(done).toBe(PAGES)
    const [host] = await shoal.frontier.hosts(crawl.id, { limit: 1 })
    expect(host?.latencyMs).toBeGreaterThanOrEqual(from)
    expect(host?.latencyMs).toBeLessThan(to)
  },
)
