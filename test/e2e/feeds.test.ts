import type { ChildProcess } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { openRedis, type RedisConnection } from '../../src/redis/connection.js'
import { type CliResult, lastJson, runCli, startCli, tempDir } from '../support/cli.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'

/** Feeds as they are used: another program pushes, a fleet that runs already fetches. */
const SOON = { timeout: 30_000, interval: 50 }
const PICKED_UP_MS = 2_000

// Processes are started in every test: on a busy machine each takes seconds.
vi.setConfig({ testTimeout: 120_000 })

const dir = tempDir('feeds')
const hits: { path: string; at: number; headers: IncomingHttpHeaders }[] = []
const site = createServer((request, response) => {
  hits.push({ path: request.url ?? '', at: performance.now(), headers: request.headers })
  response.setHeader('content-type', 'text/html')
  response.end(request.url === '/broken' ? '' : '<h1>a page</h1>')
})
let host: string
let redis: RedisServer
let direct: RedisConnection
const children: ChildProcess[] = []

beforeAll(async () => {
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  host = `127.0.0.1:${(site.address() as AddressInfo).port}`
  redis = await startRedis()
  direct = await openRedis(redis.url)
})

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await direct.command(null, ['FLUSHALL'])
  hits.length = 0
})

afterAll(async () => {
  await direct.close()
  await redis.stop()
  site.close()
  site.closeAllConnections()
  dir.remove()
})

function spiderFile(name: string, feed: string): string {
  const path = join(dir.path, `${name}.ts`)
  writeFileSync(
    path,
    `import { defineSpider } from 'shoal'
export default defineSpider({
  name: '${name}', scope: { hosts: ['${host}'] }, allowPrivate: ['${host}'], robots: false,
  pace: { delay: 0, concurrency: 20 }, ${feed}
  records: { page: {} }, routes: { page: { match: '**', record: { kind: 'page', fields: { title: 'h1' } } } },
})
`,
  )
  return path
}

const at = (args: readonly string[]): string[] => [...args, '--queue', redis.url, '--store', `sqlite:${dir.path}/s.db`]
const shoal = (...args: string[]): Promise<CliResult> => runCli(at(args), { cwd: dir.path })
const page = (path: string) => `http://${host}${path}`
const push = (key: string, ...entries: string[]) => direct.command(key, ['LPUSH', key, ...entries])
const hit = (path: string) => hits.filter((one) => one.path === path)

/** A worker that has fetched a page already: the start of a process is not what is measured. */
async function warmWorker(file: string, key: string, pushWarm = () => push(key, page('/warm'))): Promise<void> {
  const { child } = startCli(at(['worker', file]), { cwd: dir.path })
  children.push(child)
  await pushWarm()
  await expect.poll(() => hit('/warm').length, SOON).toBe(1)
}

/** Milliseconds from a push to the request; of several, because the machine may be busy with other things. */
async function quickest(pushPath: (path: string) => Promise<unknown>): Promise<number> {
  const took: number[] = []
  for (const path of ['/t1', '/t2', '/t3', '/t4']) {
    const pushedAt = performance.now()
    await pushPath(path)
    await expect.poll(() => hit(path).length, SOON).toBe(1)
    took.push((hit(path)[0]?.at ?? 0) - pushedAt)
  }
  return Math.min(...took)
}

it('fetches what is pushed in under two seconds, once, and lists what it refused', async () => {
  const file = spiderFile('plain', 'feed: true,')
  await warmWorker(file, 'shoal:feed:plain')
  expect(await quickest((path) => push('shoal:feed:plain', page(path)))).toBeLessThan(PICKED_UP_MS)
  await push(
    'shoal:feed:plain',
    page('/one'),
    'garbage',
    JSON.stringify({ url: page('/two'), priority: 5, data: { n: 1 } }),
    '{"url":',
    'https://elsewhere.example/',
  )
  await expect.poll(() => hit('/one').length + hit('/two').length, SOON).toBe(2)

  await expect
    .poll(async () => (await shoal('feed', 'plain', '--rejected', '--json')).stdout, SOON)
    .toContain('elsewhere')
  const refused = (await shoal('feed', 'plain', '--rejected', '--json')).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(refused.map(({ text }) => text).sort()).toEqual(['garbage', 'https://elsewhere.example/', '{"url":'].sort())
  expect(refused.find(({ text }) => text === 'garbage')).toMatchObject({ reason: expect.stringContaining('not a URL') })

  await push('shoal:feed:plain', page('/one'), JSON.stringify({ url: page('/two'), again: true }))
  await expect.poll(() => hit('/two').length, SOON).toBe(2)
  expect(hit('/one')).toHaveLength(1)
  await expect.poll(() => direct.command(null, ['HLEN', '{shoal:feed:plain}:taken']), SOON).toBe(0)
  expect(await direct.command(null, ['LLEN', 'shoal:feed:plain'])).toBe(0)
  const { stdout } = await shoal('status', '--json')
  expect(lastJson(stdout)).toMatchObject({ state: 'running', seeding: true, queued: 0 })
})

/** As the libraries of these systems push them: LPUSH (scrapy-redis, Celery, BullMQ-style) or RPUSH (rq, Sidekiq-style). */
function entriesOfOthers(): { at: 'LPUSH' | 'RPUSH'; path: string; entry: string }[] {
  const celery = {
    body: Buffer.from(JSON.stringify([[page('/celery')], { shop: 7 }, { chord: null }])).toString('base64'),
    'content-encoding': 'utf-8',
    'content-type': 'application/json',
    headers: { lang: 'py', task: 'tasks.fetch', id: '5f0c', retries: 0, eta: null, origin: 'gen1@host' },
    properties: { correlation_id: '5f0c', delivery_tag: '9a', priority: 0, body_encoding: 'base64' },
  }
  const json = (at: 'LPUSH' | 'RPUSH', path: string, entry: object) => ({ at, path, entry: JSON.stringify(entry) })
  return [
    { at: 'LPUSH', path: '/bare', entry: page('/bare') },
    json('LPUSH', '/scrapy', {
      ...{
        url: page('/scrapy'),
        meta: { 'job-id': '123xsd' },
        callback: 'parse_item',
        dont_filter: true,
        priority: '5',
      },
      ...{ method: 'GET', headers: { 'X-Shop': ['seven'] }, cookies: { sid: 'abc' }, 'start-date': '01/02/26' },
    }),
    json('RPUSH', '/rq', { func: 'tasks.fetch', args: [page('/rq')], kwargs: { depth: 2 }, timeout: 180 }),
    json('LPUSH', '/celery', celery),
    json('RPUSH', '/hand', { url: page('/hand'), attempts: 3 }),
    json('LPUSH', '/bull', { name: 'fetch', data: { url: page('/bull') }, opts: { attempts: 3 } }),
    json('LPUSH', '/urls', { urls: [page('/urls'), page('/denied/two')] }),
  ]
}

/** A pickle of {'url': …}, as scrapy-redis stores its own requests. */
const PICKLE = Buffer.concat([Buffer.from('80059520000000000000007d948c0375726c94', 'hex'), Buffer.from('x.')])

it('fetches what the queues of other systems hold, lists the garbage of a key of its own, and retries it', async () => {
  const file = spiderFile('others', "feed: { redisKey: 'crawl:start_urls' },")
  const allowing = readFileSync(file, 'utf8')
  writeFileSync(file, allowing.replace('scope: { hosts:', "scope: { deny: ['/denied/**'], hosts:"))
  const key = 'crawl:start_urls'
  const { child, result } = startCli(at(['worker', file]), { cwd: dir.path })
  children.push(child)
  const entries = entriesOfOthers()
  for (const { at: command, entry } of entries) await direct.command(key, [command, key, entry])
  await direct.command(key, ['LPUSH', key, PICKLE, '{"url":', '3662e57b-0188-4b78-982c-6904058242d8', "{'url': 'x'}"])
  await direct.command(key, ['LPUSH', key, 'v'.repeat(10 * 1024 * 1024), '{"no":"url"}'])
  for (const { path } of entries) await expect.poll(() => hit(path).length, SOON).toBe(1)
  expect(hit('/scrapy')[0]?.headers).toMatchObject({ 'x-shop': 'seven', cookie: 'sid=abc' })
  await expect.poll(() => direct.command(null, ['HLEN', `{${key}}:taken`]), SOON).toBe(0)
  expect(await direct.command(null, ['LLEN', key])).toBe(0)

  // The empty list is gone, so the key can be what scrapy-redis makes of it with its other settings.
  await direct.command(key, ['SADD', key, page('/set')])
  await expect.poll(() => hit('/set').length, SOON).toBe(1)
  await direct.command(key, ['ZADD', key, '5', JSON.stringify({ url: page('/zset'), meta: {} })])
  await expect.poll(() => hit('/zset').length, SOON).toBe(1)

  // By its name alone, from a machine that does not have the file: the workers have reported the key.
  const elsewhere = tempDir('feeds-elsewhere')
  const far = (...args: string[]) => runCli([...args, '--queue', redis.url], { cwd: elsewhere.path })
  const listed = await far('feed', 'others', '--rejected', '--json')
  const rejected = listed.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const reasons = rejected.map(({ reason }) => reason).sort()
  expect(reasons).toEqual([
    expect.stringContaining('Out of scope'),
    'it has no url',
    expect.stringContaining('Python or JavaScript object'),
    expect.stringContaining('pickled Python object'),
    expect.stringContaining('not JSON'),
    expect.stringContaining('id of a job'),
    expect.stringContaining('10485760 bytes'),
  ])
  expect((await far('feed', 'others', '--refused', '--limit', '2')).stderr).toContain('newest 2 of 7')

  child.kill('SIGTERM')
  const { stderr } = await result
  const noted = stderr.split('\n').filter((line) => line.includes('feed.noted'))
  expect(noted.join()).toContain('"attempts"')
  expect(noted.filter((line) => line.includes('"attempts"'))).toHaveLength(1)

  writeFileSync(file, allowing)
  const retried = await far('feed', 'others', '--retry-rejected', '--json')
  expect(lastJson(retried.stdout)).toEqual({ spider: 'others', key, retried: 6, left: 1 })
  expect(await direct.command(null, ['LLEN', key])).toBe(6)
  children.push(startCli(at(['worker', file]), { cwd: dir.path }).child)
  await expect.poll(() => hit('/denied/two').length, SOON).toBe(1)
  await expect.poll(() => direct.command(null, ['LLEN', `{${key}}:refused`]), SOON).toBe(6)
  elsewhere.remove()
})

it('takes over what a taker held when it died', async () => {
  const file = spiderFile('dead', 'feed: true,')
  await warmWorker(file, 'shoal:feed:dead')
  await direct.command(null, ['HSET', '{shoal:feed:dead}:taken', '999', page('/orphan')])
  await direct.command(null, ['ZADD', '{shoal:feed:dead}:due', '1', '999'])
  await expect.poll(() => hit('/orphan').length, SOON).toBe(1)
  await expect.poll(() => direct.command(null, ['HLEN', '{shoal:feed:dead}:taken']), SOON).toBe(0)
})

it('reads a stream as a consumer of a group', async () => {
  const file = spiderFile('stream', "feed: { redisKey: 'urls', stream: true, group: 'crawlers' },")
  const add = (path: string) => direct.command('urls', ['XADD', 'urls', '*', 'url', page(path)])
  await warmWorker(file, 'urls', () => add('/warm'))
  expect(await quickest(add)).toBeLessThan(PICKED_UP_MS)
  await direct.command('urls', ['XADD', 'urls', '*', 'url', page('/more'), 'meta', '{"shop":7}', 'attempts', '3'])
  await expect.poll(() => hit('/more').length, SOON).toBe(1)
  await expect
    .poll(async () => ((await direct.command('urls', ['XPENDING', 'urls', 'crawlers'])) as number[])[0], SOON)
    .toBe(0)
})

it('ends a fed crawl that has been idle, and takes a file', async () => {
  const file = spiderFile('idle', "feed: { idleTimeout: '2s' },")
  const urls = join(dir.path, 'urls.txt')
  writeFileSync(urls, `# three pages\n${['/a', '/b', '/c'].map(page).join('\n')}\n\nnonsense\n`)
  const running = startCli(at(['run', file, '--json']), { cwd: dir.path })
  children.push(running.child)
  const pushed = await shoal('feed', file, urls, '--json')
  expect(lastJson(pushed.stdout)).toEqual({ spider: 'idle', pushed: 4 })
  const { code, stdout } = await running.result
  expect(lastJson(stdout)).toMatchObject({ state: 'finished', pages: 3 })
  expect(code).toBe(0)
})

it('tells a crawl whose queue was emptied as lost, and recovers it', async () => {
  const file = spiderFile('lost', 'feed: true,')
  const running = startCli(at(['run', file, '--json']), { cwd: dir.path })
  children.push(running.child)
  await push('shoal:feed:lost', page('/one'), page('/two'))
  await expect.poll(() => hit('/one').length + hit('/two').length, SOON).toBe(2)
  await expect.poll(async () => lastJson((await shoal('status', '--json')).stdout).done, SOON).toBe(2)
  await direct.command(null, ['FLUSHALL'])
  const { code, stderr } = await running.result
  expect(stderr).toContain('crawl_lost')
  expect(code).toBe(8)

  const status = await shoal('status', '--json')
  expect(status.code).toBe(8)
  expect(lastJson(status.stdout)).toMatchObject({ spider: 'lost', state: 'lost' })
  const refused = await shoal('run', file)
  expect(refused).toMatchObject({ code: 8, stderr: expect.stringContaining('shoal recover') })

  const recovered = await shoal('recover', 'lost', '--json')
  expect(lastJson(recovered.stdout)).toMatchObject({ spider: 'lost', known: 2, queued: 0 })
  expect(lastJson((await shoal('status', '--json')).stdout)).toMatchObject({ state: 'running', done: 2 })
})
