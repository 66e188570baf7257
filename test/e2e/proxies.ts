import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { runCli, startCli, tempDir } from '../support/cli.js'
import { startProxies } from '../support/proxy-server.js'
import { startRedis } from '../support/redis-server.js'

/** A fleet that goes out through proxies with an address each, and a site that keeps a log of who asked when. */
export interface ProxyRun {
  readonly workers: number
  readonly proxies: number
  /** Of one address. */
  readonly delayMs: number
  /** Measured for so long, from when every worker is at work. */
  readonly seconds: number
  /** So many of the proxies are dead, and so many others are refused by the site. */
  readonly dead?: number
  readonly banned?: number
  readonly redis: boolean
}

export interface ProxyReport {
  readonly pagesPerMinute: number
  /** Requests of one address that came sooner after the one before than 0.9 × the delay. */
  readonly violations: number
  /** Addresses that the site saw. */
  readonly addresses: number
  /** Requests of the whole run, in the order in which they were sent: true for one that gave a page. */
  readonly requests: readonly boolean[]
  /** How often each bad proxy was tried, all workers together. */
  readonly badTries: readonly number[]
  readonly failedAttempts: number
  readonly deadLetters: number
}

interface Asked {
  readonly at: number
  readonly from: string
  readonly ok: boolean
}

export async function runProxies(run: ProxyRun): Promise<ProxyReport> {
  const dir = tempDir('proxies')
  const log: Asked[] = []
  const dead = await Promise.all(Array.from({ length: run.dead ?? 0 }, (_, nth) => startDeadProxy(`dead ${nth}`, log)))
  const proxies = await startProxies(run.proxies - dead.length, 60)
  const refused = new Set(proxies.slice(0, run.banned ?? 0).map(({ proxyAddress }) => proxyAddress))
  const site = createServer((request, answer) => {
    const from = request.socket.remoteAddress ?? ''
    const ok = !refused.has(from)
    log.push({ at: performance.now(), from, ok })
    if (!ok) answer.writeHead(403, { 'content-type': 'text/html' }).end('<title>Access denied</title>')
    else if (request.url === '/robots.txt') answer.writeHead(404).end()
    else answer.writeHead(200, { 'content-type': 'text/html' }).end('<title>page</title>')
  })
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
  const { port } = site.address() as AddressInfo
  const redis = run.redis ? await startRedis() : null
  try {
    const entries = [...dead, ...proxies].map(({ url }) => url)
    writeFileSync(join(dir.path, 'pools.json'), JSON.stringify({ dc: { kind: 'datacenter', entries } }))
    // Enough for the fastest run, start-up included.
    const count = Math.ceil((run.proxies * (run.seconds + 60) * 1_000) / run.delayMs)
    writeFileSync(join(dir.path, 'spider.ts'), spiderFile(port, run.delayMs, count))
    const queue = redis === null ? [] : ['--queue', redis.url]
    const cli = { cwd: dir.path }
    const started = await runCli(['start', 'spider.ts', ...queue, '--store', 'sqlite:records.db'], cli)
    if (started.code !== 0) throw new Error(started.stderr)
    const order = ['worker', 'spider.ts', '--procs', String(run.workers), '--proxies', 'pools.json', ...queue]
    const fleet = startCli([...order, '--store', 'sqlite:records.db'], cli)
    const status = async () => {
      const { stdout } = await runCli(['status', '--json', ...queue, '--store', 'sqlite:records.db'], cli)
      return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Status
    }
    while ((await status()).workers.length < run.workers) {
      if (fleet.child.exitCode !== null) throw new Error((await fleet.result).stderr)
      await delay(500)
    }
    await delay(2 * run.delayMs)
    const from = performance.now()
    await delay(run.seconds * 1_000)
    const to = performance.now()
    const { failed, dead: deadLetters } = await status()
    fleet.child.kill('SIGTERM')
    await fleet.result
    const pages = log.filter(({ at, ok }) => ok && at >= from && at < to).length
    const inOrder = log.toSorted((a, b) => a.at - b.at)
    const bad = new Set([...dead.map(({ name }) => name), ...refused])
    return {
      pagesPerMinute: Math.round((pages / (to - from)) * 60_000),
      violations: violationsIn(inOrder, run.delayMs),
      addresses: new Set(log.map((one) => one.from)).size,
      requests: inOrder.map(({ ok }) => ok),
      badTries: [...bad].map((name) => log.filter((one) => one.from === name).length),
      failedAttempts: failed,
      deadLetters,
    }
  } finally {
    site.closeAllConnections()
    site.close()
    await Promise.all([...dead, ...proxies].map((proxy) => proxy.stop()))
    await redis?.stop()
    dir.remove()
  }
}

interface Status {
  readonly failed: number
  readonly dead: number
  readonly workers: readonly unknown[]
}

/** Takes a connection and resets it; each one is a request that failed. */
async function startDeadProxy(name: string, log: Asked[]) {
  const server = createTcpServer((socket) => {
    log.push({ at: performance.now(), from: name, ok: false })
    socket.on('error', () => {})
    socket.resetAndDestroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const stop = async () => void server.close()
  return { name, url: `http://127.0.0.1:${port}`, stop }
}

function violationsIn(inOrder: readonly Asked[], delayMs: number): number {
  const last = new Map<string, number>()
  let violations = 0
  for (const { at, from } of inOrder) {
    const before = last.get(from)
    if (before !== undefined && at - before < 0.9 * delayMs) violations++
    last.set(from, at)
  }
  return violations
}

function spiderFile(port: number, delayMs: number, pages: number): string {
  return `import { defineSpider } from 'shoal'
export default defineSpider({
  name: 'proxies',
  seeds: function* () { for (let n = 0; n < ${pages}; n++) yield 'http://127.0.0.1:${port}/page/' + n },
  scope: { hosts: ['127.0.0.1:${port}'] },
  proxy: { pool: 'dc', choose: 'rotate' },
  pace: { delay: '${delayMs}ms', concurrency: 1 },
  budget: { pagesPerHost: ${pages} },
  allowPrivate: ['127.0.0.1:*'],
  routes: { page: { match: '/page/*' } },
})
`
}
