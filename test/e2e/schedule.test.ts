import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openBackends } from '../../src/wire/backends.js'
import { lastJson, runCli, startCli, tempDir } from '../support/cli.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'

/** Recurring and incremental together, as they are operated: real processes, a real Redis, and one of them killed. */
const dir = tempDir('schedule')
let redis: RedisServer
let site: Server
const answers: number[] = []

beforeAll(async () => {
  redis = await startRedis()
  site = createServer((request, response) => {
    const etag = `"${request.url}"`
    const status = request.headers['if-none-match'] === etag ? 304 : 200
    if (request.url === '/robots.txt') return response.writeHead(404).end()
    answers.push(status)
    response.writeHead(status, { etag, 'content-type': 'text/html' })
    response.end(status === 304 ? undefined : '<h1>page</h1><a href="/1">1</a><a href="/2">2</a>')
  })
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  const { port } = site.address() as AddressInfo
  writeFileSync(
    join(dir.path, 'often.ts'),
    `import { defineSpider } from 'shoal'
     export default defineSpider({
       name: 'often', start: ['http://127.0.0.1:${port}/'], allowPrivate: ['127.0.0.1:*'], pace: { delay: 0 }, recrawl: true,
       schedule: '* * * * * *', lease: { visibility: '3s', heartbeat: '1s' }, records: { page: {} },
       routes: { page: { match: '**', follow: [{ links: 'a' }], record: { kind: 'page', fields: { title: 'h1' } } } },
     })`,
  )
})

afterAll(async () => {
  site.closeAllConnections()
  await new Promise((resolve) => site.close(resolve))
  await redis.stop()
  dir.remove()
})

it('begins each turn once, and goes on when one of its processes is killed', async () => {
  const to = ['--queue', redis.url, '--store', `sqlite:${join(dir.path, 'shoal.db')}`]
  const start = () => startCli(['worker', 'often.ts', '--schedule', ...to], { cwd: dir.path })
  const [one, two] = [start(), start()]
  const backends = await openBackends({ queue: redis.url, store: 'memory:' })
  const finished = async () => (await backends.frontier.crawls()).filter(({ state }) => state === 'finished').length
  await expect.poll(finished, { timeout: 20_000, interval: 200 }).toBeGreaterThanOrEqual(2)
  one.child.kill('SIGKILL')
  const before = await finished()
  // In the middle of a turn its claim must run out first, which takes half a minute.
  await expect.poll(finished, { timeout: 60_000, interval: 200 }).toBeGreaterThanOrEqual(before + 1)
  const listed = lastJson((await runCli(['schedule', 'list', 'often.ts', '--json', ...to], { cwd: dir.path })).stdout)
  expect(listed).toMatchObject({ spider: 'often', cron: '* * * * * *', last: { missed: expect.any(Number) } })
  two.child.kill('SIGTERM')
  expect((await two.result).stderr).toMatch(/crawl often-\d{8}-\d{6}-turn started/)

  const crawls = await backends.frontier.crawls()
  expect(crawls.every(({ id }) => /^often-\d{8}-\d{6}-turn$/.test(id))).toBe(true)
  expect(new Set(crawls.map(({ id }) => id)).size).toBe(crawls.length)
  await backends.close()
  // Three pages, read once by all crawls together unless a worker was killed with one in hand.
  expect(answers.filter((status) => status === 200).length).toBeLessThanOrEqual(6)
  expect(answers.filter((status) => status === 304).length).toBeGreaterThanOrEqual(6)
}, 120_000)
