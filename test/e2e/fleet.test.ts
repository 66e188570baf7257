import type { ChildProcess } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.js'
import { type DemoShop, launchShop } from '../../src/demo/launch.js'
import { createShop, SHOP_DEFAULTS } from '../../src/demo/shop.js'
import { pauseUntil, whileAway } from '../../src/while-away.js'
import { type Backends, openBackends } from '../../src/wire/backends.js'
import { type CliResult, lastJson, runCli, startCli, tempDir } from '../support/cli.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'

/** A fleet as it is operated: the real command line, a real Redis, and accidents in the middle. */
const SHOP = { ...SHOP_DEFAULTS, pages: 150 }
const DEMO = JSON.stringify(fileURLToPath(new URL('../../dist/demo/spider.js', import.meta.url)))
/** Looked for on command lines and in everything that is printed. */
const PASSWORD = 'canary-6f2c'
const SOON = { timeout: 30_000, interval: 200 }

const dir = tempDir('fleet')
let redis: RedisServer
let shop: DemoShop
/** To look at the queue without starting a command each time. */
let backends: Backends
const children: ChildProcess[] = []

beforeAll(async () => {
  redis = await startRedis({ aof: 'always', password: PASSWORD })
  shop = await launchShop({ dir: dir.path, options: SHOP })
  backends = await openBackends({ queue: redis.url, store: 'memory:' })
})

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

afterAll(async () => {
  await backends.close()
  await shop.close()
  await redis.stop()
  dir.remove()
})

/** The demo's spider, or another version of it: an edit that changes nothing but the file. */
function spiderFile(name: string, edit = ''): string {
  const path = join(dir.path, name)
  writeFileSync(
    path,
    `import { demoDefinition } from ${DEMO}\nexport default demoDefinition({ origin: ${JSON.stringify(shop.origin)} })\n${edit}`,
  )
  return path
}

const here = () => ({ cwd: dir.path, env: { SHOAL_QUEUE: redis.url } })

async function shoal(...args: string[]): Promise<CliResult> {
  const result = await runCli(args, here())
  expect(result.stdout + result.stderr).not.toContain(PASSWORD)
  return result
}

function worker(...args: string[]): { child: ChildProcess; result: Promise<CliResult> } {
  const started = startCli(['worker', ...args], here())
  children.push(started.child)
  return started
}

/** The newest crawl as `shoal status --json` shows it. */
async function status(): Promise<Record<string, unknown>> {
  const { stdout } = await shoal('status', '--json')
  return stdout === '' ? {} : lastJson(stdout)
}

async function done(crawl: string): Promise<number> {
  const look = () => backends.frontier.stats(crawl)
  return (await whileAway(look, pauseUntil(new AbortController().signal, systemClock))).done
}

function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

describe('a fleet on Redis', () => {
  it('fetches the whole site through kill -9, a drain, a Redis that is away, and a worker with another version', async () => {
    const spider = spiderFile('demo.mjs')
    const started = await shoal('start', spider, '--json')
    expect(started.code, started.stderr).toBe(0)
    const crawl = String(lastJson(started.stdout).crawl)
    const first = worker(spider, '--concurrency', '4')
    const second = worker(spider, '--concurrency', '4', '--grace', '5s')
    const atWork = async () => (await backends.frontier.workers()).filter((one) => one.done > 5).length
    await expect.poll(atWork, SOON).toBe(2)
    first.child.kill('SIGKILL')

    await redis.kill()
    const red = await shoal('status')
    expect(red.code).toBe(4)
    await sleep(3_000)
    await redis.restart()
    const before = await done(crawl)
    await expect.poll(() => done(crawl), { ...SOON, timeout: 10_000 }).toBeGreaterThan(before)

    second.child.kill('SIGTERM')
    const drained = await second.result
    expect(drained.code, drained.stderr).toBe(0)
    expect(drained.stderr).not.toContain(PASSWORD)
    expect(drained.stderr.match(/backend\.waiting/g)).toHaveLength(1)
    expect(drained.stderr.match(/backend\.back/g)).toHaveLength(1)

    const third = worker(spiderFile('edited.mjs', '// edited\n'), '--exit-when-idle')
    await expect.poll(async () => (await status()).otherVersion, SOON).toHaveLength(1)
    const last = await third.result
    expect(last.code, last.stderr).toBe(0)
    expect(
      jsonLines(
        last.stderr
          .split('\n')
          .filter((line) => line.startsWith('{'))
          .join('\n'),
      ),
    ).toContainEqual(expect.objectContaining({ event: 'spider.changed', crawl, spider: 'demo' }))

    const site = createShop(SHOP).siteMap()
    const end = await status()
    expect(end).toMatchObject({ crawl, state: 'finished', dead: site.filter((page) => page.alwaysFails).length })
    const records = jsonLines((await shoal('records', 'list', '--limit', '100000', '--json')).stdout)
    const wanted = site.flatMap((page) => (page.product === undefined || page.alwaysFails ? [] : [page.product.sku]))
    expect(records.map((record) => record.key).sort()).toEqual(wanted.sort())
    expect(jsonLines((await shoal('workers', '--json')).stdout)).toEqual([])
  }, 120_000)

  it('leaves crawls of spiders it does not have alone, and names them', async () => {
    const other = join(dir.path, 'other.mjs')
    writeFileSync(
      other,
      `import { defineSpider } from 'shoal'
       export default defineSpider({ name: 'other', start: ['http://127.0.0.1:9/'], routes: { page: { match: '/**' } } })`,
    )
    const started = await shoal('start', other)
    expect(started.code, started.stderr).toBe(0)
    const crawl = started.stdout.trim()
    const running = worker(spiderFile('demo.mjs'))
    await expect.poll(async () => (await backends.frontier.workers()).length, SOON).toBe(1)
    expect(await status()).toMatchObject({ crawl, holders: 0 })
    running.child.kill('SIGTERM')
    const { code, stderr } = await running.result
    expect(code, stderr).toBe(0)
    expect(stderr).toContain(`"event":"spider.unknown","crawl":"${crawl}","spider":"other"`)
    expect((await shoal('cancel', crawl)).code).toBe(0)
  }, 60_000)

  it('replaces a process that dies, and ends its processes with the command', async () => {
    const running = worker(spiderFile('demo.mjs'), '--procs', '2', '--grace', '1s')
    const { frontier } = backends
    await expect.poll(async () => (await frontier.workers()).length, SOON).toBe(2)
    const [victim] = await frontier.workers()
    process.kill(victim?.about?.pid ?? 0, 'SIGKILL')
    const isBack = async () => {
      const now = await frontier.workers()
      return now.length === 2 && now.every((one) => one.worker !== victim?.worker)
    }
    await expect.poll(isBack, SOON).toBe(true)
    const pids = (await frontier.workers()).flatMap((one) => one.about?.pid ?? [])
    for (const pid of pids) expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toContain(PASSWORD)
    running.child.kill('SIGKILL')
    await expect.poll(() => pids.filter(isAlive), SOON).toEqual([])
  }, 60_000)
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
