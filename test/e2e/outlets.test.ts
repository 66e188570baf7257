import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type RunningShop, startShop } from '../../src/demo/server.js'
import { createShop } from '../../src/demo/shop.js'
import type { OutletInfo } from '../../src/store/outlets.js'
import type { StoredRecord } from '../../src/store/record-store.js'
import { openBackends } from '../../src/wire/backends.js'
import { batch, record } from '../contract/record-store-contract.js'
import { lastJson, runCli, startCli } from '../support/cli.js'
import { type PostgresServer, startPostgres } from '../support/postgres-server.js'
import { type RedisServer, redisCommand, startRedis, until } from '../support/redis-server.js'

const SHOP = { seed: 9, pages: 30, bytes: 1_000, faults: 0 }
let redis: RedisServer
let postgres: PostgresServer
let shop: RunningShop
let hook: Server
let hookUrl: string
let received: StoredRecord[][]
let onBatch: (response: ServerResponse) => void
let dir: string

beforeAll(async () => {
  ;[redis, postgres] = await Promise.all([startRedis(), startPostgres()])
  hook = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk
    })
    request.on('end', () => {
      received.push((JSON.parse(body) as { records: StoredRecord[] }).records)
      onBatch(response)
    })
  })
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve))
  hookUrl = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/hook`
})
afterAll(async () => {
  hook.closeAllConnections()
  await new Promise((resolve) => hook.close(resolve))
  await Promise.all([redis.stop(), postgres.end()])
})
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'shoal-outlets-'))
  received = []
  onBatch = (response) => response.end()
  await redisCommand(redis.port, 'FLUSHALL')
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

function spider(outlets: string, start = 'https://books.example/'): void {
  writeFileSync(
    join(dir, 'books.ts'),
    `import { defineSpider } from 'shoal'
     import { z } from 'zod'
     export default defineSpider({
       name: 'books', start: ['${start}'], allowPrivate: ['127.0.0.1:*'], pace: { delay: '1ms', concurrency: 4 },
       records: { product: z.object({ sku: z.string() }) },
       outlets: [${outlets}],
       routes: {
         listing: { match: ['/', '/catalogue/page-*'], follow: [{ links: 'a' }] },
         product: { match: ['/catalogue/*/index.html', '/old/*'], record: { kind: 'product', key: 'sku', fields: { sku: '.sku' } } },
       },
     })`,
  )
}

const webhook = (fields = '') => `{ webhook: '${hookUrl}', batch: 10, ${fields} }`
const list = (fields = '') => `{ redis: 'list', address: '${redis.url}', ${fields} }`
const cli = (...args: string[]) => runCli(args, { cwd: dir })
const json = async (...args: string[]) => lastJson((await cli(...args, '--json')).stdout)

/** Records in the database of this directory. */
async function store(keys: readonly string[], at?: string): Promise<void> {
  const file = `sqlite:${join(dir, '.shoal', 'shoal.db')}`
  const backends = await openBackends({ queue: file, store: at ?? file })
  const rows = keys.map((key) => record({ key, kind: 'product', data: { sku: key } }))
  for (let next = 0; next < rows.length; next += 10)
    await backends.store.records.write(batch({ records: rows.slice(next, next + 10) }))
  await backends.close()
}

async function listed(): Promise<OutletInfo[]> {
  const file = `sqlite:${join(dir, '.shoal', 'shoal.db')}`
  const backends = await openBackends({ queue: file, store: file })
  try {
    return await backends.store.outlets.list()
  } finally {
    await backends.close()
  }
}

const keysTo = (n: number, prefix = 'k') => Array.from({ length: n }, (_, i) => `${prefix}${i}`)
const inList = async () =>
  ((await redisCommand(redis.port, 'LRANGE', 'shoal:books:items', '0', '-1')) as string[]).map(
    (text) => (JSON.parse(text) as StoredRecord).key,
  )

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await new Promise((resolve) => child.once('exit', resolve))
}

describe('outlets', () => {
  it('have every record when a run has ended, and say how far they are', async () => {
    shop = await startShop({ ...SHOP, port: 0, accessLog: join(dir, 'access.log') })
    try {
      spider([list('maxLength: 5'), webhook(`secretEnv: 'HOOK_SECRET'`)].join(), `http://127.0.0.1:${shop.port}/`)
      const env = { HOOK_SECRET: 'abc-secret-xyz' }
      const ran = await runCli(['run', 'books.ts', '--json', '--log-level', 'info'], { cwd: dir, env })
      expect(ran.code).toBe(0)
      expect(ran.stderr).not.toContain('abc-secret-xyz')
      const products = createShop(SHOP)
        .siteMap()
        .flatMap(({ product }) => (product === undefined ? [] : [product.sku]))
      expect(
        received
          .flat()
          .map(({ key }) => key)
          .sort(),
      ).toEqual(products.sort())
      expect(await inList()).toHaveLength(5)
      const [first, second] = await listed()
      const sent = { sent: products.length, error: null, stopped: false, holder: null }
      expect(first).toMatchObject({ name: 'books/list', ...sent, trimmed: products.length - 5 })
      expect(second).toMatchObject({ name: 'books/webhook', ...sent, trimmed: 0 })
    } finally {
      await shop.close()
    }
  })

  it.each([
    ['sqlite', [3]],
    ['postgres', [4]],
  ])('get everything from %s though their feeder is killed between answer and note', async (engine, kills) => {
    spider(webhook())
    const keys = keysTo(300)
    const at = engine === 'postgres' ? await postgres.createDatabase() : undefined
    await store(keys, at)
    const where = at === undefined ? [] : ['--store', at]
    for (const kill of kills) {
      let batches = 0
      const { child, result } = startCli(['outlets', 'run', 'books.ts', '--follow', ...where], { cwd: dir })
      onBatch = (response) => {
        batches++
        response.end(() => {
          if (batches === kill) child.kill('SIGKILL')
        })
      }
      await ended(child)
      expect((await result).signal).toBe('SIGKILL')
    }
    onBatch = (response) => response.end()
    expect(await json('outlets', 'run', 'books.ts', ...where)).toMatchObject({
      outlet: 'books/webhook',
      kind: 'delivered',
    })
    const got = received.flat().map(({ key }) => key)
    expect(new Set(got).size).toBe(keys.length)
    // In order, but for what came again; the rows of one transaction in any order.
    const tens = (list: readonly string[]) => list.map((key) => Math.floor(Number(key.slice(1)) / 10))
    expect(tens([...new Set(got)])).toEqual(tens(keys))
    // A page of Postgres ends with a transaction: more than a batch may come again.
    if (engine === 'sqlite') expect(got.length - keys.length).toBeLessThanOrEqual(10)
  })

  it('are fed by one process at a time, and by another as soon as that one is killed', async () => {
    spider(list())
    await store(keysTo(50))
    const both = [0, 1].map(() => startCli(['outlets', 'run', 'books.ts', '--follow'], { cwd: dir }).child)
    await until('the first fifty', async () => (await inList()).length >= 50)
    await store(keysTo(25, 'more'))
    await until('the next ones', async () => (await inList()).length >= 75)
    expect(await inList()).toEqual([...keysTo(50), ...keysTo(25, 'more')])
    const holder = (await listed())[0]?.holder
    const feeding = both.find(({ pid }) => String(holder).includes(`-${pid}-`))
    expect(feeding).toBeDefined()
    feeding?.kill('SIGKILL')
    await store(keysTo(5, 'last'))
    await until('those after the kill', async () => (await inList()).length >= 80)
    expect((await inList()).slice(75)).toEqual(keysTo(5, 'last'))
    for (const child of both) child.kill('SIGTERM')
    await Promise.all(both.map(ended))
    expect(both.find((child) => child !== feeding)?.exitCode).toBe(0)
  })
})
