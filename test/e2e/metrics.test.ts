import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { QUEUE_METRICS, WORKER_METRICS } from '../../src/observe/metrics/metric-names.js'
import { SPENT } from '../../src/observe/vitals/vitals.js'
import { checkMetrics } from '../support/check-metrics.js'
import { runCli, startCli, tempDir } from '../support/cli.js'

const LINKS = Array.from({ length: 5_000 }, (_, page) => `<a href="/${page}">on</a>`)
const TOKEN = 'a-token-of-24-characters'
let dir: ReturnType<typeof tempDir>
let site: Server
let spider: string

beforeEach(async () => {
  dir = tempDir('metrics')
  site = createServer((request, response) => {
    const page = Number(/\d+/.exec(request.url ?? '')?.[0] ?? 0)
    if (request.url === '/robots.txt') response.writeHead(404).end()
    else
      response
        .setHeader('content-type', 'text/html')
        .end(page < 500 ? LINKS.slice(page * 9, page * 9 + 9).join('') : '')
  })
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  spider = join(dir.path, 'spider.mjs')
  writeFileSync(
    spider,
    `import { defineSpider } from 'shoal'
     export default defineSpider({ name: 'endless', start: ['${origin}/0'], allowPrivate: ['127.0.0.1:*'],
       pace: { delay: '20ms', concurrency: 2 }, routes: { page: { match: '**', follow: [{ links: 'a' }] } } })`,
  )
})

afterEach(async () => {
  dir.remove()
  site.closeAllConnections()
  await new Promise((resolve) => site.close(resolve))
})

it('a run with two worker processes can be scraped while it works: all workers, the queue, health', async () => {
  const queue = `sqlite:${join(dir.path, 'shoal.db')}`
  const { child, result } = startCli(
    ['run', spider, '--queue', queue, '--workers', '2', '--concurrency', '3', '--metrics', '0', '--json'],
    { env: { SHOAL_TOKEN: TOKEN } },
  )
  const said = new Promise<string>((resolve) =>
    child.stdout?.on('data', (piece: string) => {
      const { metrics } = JSON.parse(piece.split('\n', 1)[0] ?? '') as { metrics: string }
      resolve(metrics)
    }),
  )
  const url = await said
  const headers = { authorization: `Bearer ${TOKEN}` }
  const scrape = async () => checkMetrics(await (await fetch(url, { headers })).text())
  try {
    expect((await fetch(url)).status).toBe(401)
    const pages = async () =>
      (await scrape()).lines.filter(({ name }) => name === 'shoal_pages_total').map(({ value }) => value)
    await expect.poll(async () => (await pages()).filter((count) => count > 0).length, { timeout: 25_000 }).toBe(2)
    const { problems, lines, types } = await scrape()
    expect(problems).toEqual([])
    // Everything that the tables name is there, but what this crawl has none of.
    const rare =
      /^shoal_(failures_total|dead_letters|proxy_|proxies|alerts_active|crawl_eta_seconds|crawl_filtered_links|crawl_counts)/
    for (const name of [...Object.keys(WORKER_METRICS), ...Object.keys(QUEUE_METRICS)])
      if (!rare.test(name)) expect(types.has(name), name).toBe(true)
    const sumOf = (name: string) =>
      lines.filter((line) => line.name === name).reduce((total, { value }) => total + value, 0)
    expect(sumOf('shoal_slots')).toBe(6)
    expect(sumOf('shoal_received_bytes_total')).toBeGreaterThan(0)
    const doing = new Set(
      lines.filter(({ name }) => name === 'shoal_slot_seconds_total').map(({ labels }) => labels.doing),
    )
    expect([...doing].sort()).toEqual([...SPENT].sort())
    const base = new URL(url).origin
    expect(await (await fetch(`${base}/healthz`)).json()).toEqual({ ok: true, reasons: [] })
    expect((await fetch(`${base}/readyz`)).status).toBe(200)
    // A worker that is killed is told of no more; its successor is another one.
    const workers = (all: typeof lines) =>
      all.filter(({ name }) => name === 'shoal_worker_info').map(({ labels }) => labels)
    const before = workers(lines)
    process.kill(Number(before[0]?.pid), 'SIGKILL')
    await expect
      .poll(async () => workers((await scrape()).lines).some(({ worker }) => worker === before[0]?.worker), {
        timeout: 10_000,
      })
      .toBe(false)
  } finally {
    child.kill('SIGINT')
    await result
  }
  // Who left in order has taken its note along.
  const { stdout } = await runCli(['workers', '--queue', queue, '--json'])
  expect(stdout.trim()).toBe('')
})

it('a listener that other machines could reach is refused before anything is fetched', async () => {
  const queue = `sqlite:${join(dir.path, 'shoal.db')}`
  const open = await runCli(['run', spider, '--queue', queue, '--metrics', '0.0.0.0:0'])
  expect(open).toMatchObject({ code: 2, stdout: '' })
  expect(open.stderr).toContain('SHOAL_TOKEN')
})
