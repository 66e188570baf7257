import { writeFileSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { lastJson, runCli, tempDir } from '../support/cli.js'
import { startRedis } from '../support/redis-server.js'

vi.setConfig({ testTimeout: 90_000 })
const dir = tempDir('throttle')
const sites: Server[] = []
afterAll(async () => {
  for (const site of sites) {
    site.closeAllConnections()
    await new Promise((resolve) => site.close(resolve))
  }
  dir.remove()
})

/** As the site saw it, by its own clock. */
interface Seen {
  readonly at: number
  readonly path: string
  readonly worker: string
}

async function startSite(address: string, answer: (path: string, workers: number, response: ServerResponse) => void) {
  const seen: Seen[] = []
  const site = createServer((request, response) => {
    const path = request.url ?? ''
    seen.push({ at: performance.now(), path, worker: String(request.headers['x-worker']) })
    if (path === '/robots.txt') response.writeHead(404).end()
    else answer(path, new Set(seen.map(({ worker }) => worker)).size, response)
  })
  sites.push(site)
  await new Promise<void>((resolve) => site.listen(0, address, resolve))
  return { origin: `http://${address}:${(site.address() as AddressInfo).port}`, seen }
}

const page = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>x</h1>')

/** The header tells the site which process asks. */
function writeSpider(name: string, urls: readonly string[], options: string): string {
  const file = join(dir.path, `${name}.ts`)
  writeFileSync(
    file,
    `import { defineSpider } from 'shoal'
     export default defineSpider({
       name: '${name}', start: ${JSON.stringify(urls)}, allowPrivate: ['127.0.0.1:*', '127.0.0.2:*'],
       headers: { 'x-worker': String(process.pid) }, routes: { page: { match: '**', handler() {} } }, ${options}
     })`,
  )
  return file
}

describe('a site that asks for time', () => {
  it('hears nothing for five seconds from any worker, and it costs no attempt', async () => {
    const redis = await startRedis()
    try {
      const asked: number[] = []
      let asking = false
      const { origin, seen } = await startSite('127.0.0.1', (_, workers, response) => {
        // As soon as both are at work.
        if (workers < 2 || asking) return page(response)
        asking = true
        response.writeHead(429, { 'retry-after': '5' }).end(() => asked.push(performance.now()))
      })
      const urls = Array.from({ length: 80 }, (_, i) => `${origin}/${i}`)
      const file = writeSpider('silence', urls, "pace: { delay: '40ms', concurrency: 4 }")
      const here = { cwd: dir.path, env: { SHOAL_QUEUE: redis.url } }
      const run = await runCli(['run', file, '--workers', '2', '--json'], here)
      expect({ code: run.code, stderr: run.stderr }).toMatchObject({ code: 0 })

      const [from = 0] = asked
      expect(asked).toHaveLength(1)
      const before = seen.filter(({ at }) => at <= from)
      const after = seen.filter(({ at }) => at > from).map(({ at, worker }) => ({ at: at - from, worker }))
      // Requests that were on their way when it said so, no later than a tenth of a second.
      expect(after.filter(({ at }) => at > 100 && at < 5_000)).toEqual([])
      expect(new Set(before.map(({ worker }) => worker)).size).toBe(2)
      expect(new Set(after.filter(({ at }) => at >= 5_000).map(({ worker }) => worker)).size).toBe(2)
      // Every page once, and the one that was asked to wait twice.
      expect(seen.filter(({ path }) => path !== '/robots.txt')).toHaveLength(urls.length + 1)
      expect(seen.filter(({ path }) => path === '/robots.txt')).toHaveLength(1)
      const status = lastJson((await runCli(['status', '--json'], here)).stdout)
      expect(status).toMatchObject({ done: 80, failed: 0, retried: 0, throttled: 1, dead: 0 })
    } finally {
      await redis.stop()
    }
  })

  it('for ever gets a dead letter and an open circuit, while the other hosts go on', async () => {
    const busy = await startSite('127.0.0.1', (_, __, response) => {
      response.writeHead(503, { 'retry-after': '1' }).end()
    })
    const fine = await startSite('127.0.0.2', (_, __, response) => page(response))
    const urls = [`${busy.origin}/never`, ...Array.from({ length: 20 }, (_, i) => `${fine.origin}/${i}`)]
    const file = writeSpider('forever', urls, "maxThrottles: 2, pace: { delay: '100ms', concurrency: 2 }")
    const here = { cwd: dir.path }
    const run = await runCli(['run', file, '--json'], here)
    expect(run.stderr).not.toContain('internal')
    const pages = busy.seen.filter(({ path }) => path === '/never')
    expect(pages).toHaveLength(3)
    const [first = 0, last = 0] = [pages[0]?.at, pages.at(-1)?.at]
    expect(fine.seen.filter(({ at }) => at > first && at < last).length).toBeGreaterThanOrEqual(5)
    expect(fine.seen.filter(({ path }) => path !== '/robots.txt')).toHaveLength(20)

    const dead = await runCli(['explain', `${busy.origin}/never`, '--json'], here)
    expect(lastJson(dead.stdout)).toMatchObject({
      state: 'dead',
      attempts: 1,
      throttles: 2,
      failures: Array(3).fill({ code: 'throttled', message: 'the server answered 503', at: expect.any(Number) }),
      hostInfo: { throttles: 3 },
    })
  })
})
