import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningShop, startShop } from '../src/demo/server.js'
import { createShop } from '../src/demo/shop.js'
import { demoDefinition } from '../src/demo/spider.js'
import { connect, defineSpider, type StoredRecord } from '../src/index.js'
import { type PostgresServer, startPostgres } from './support/postgres-server.js'
import { type RedisServer, redisCommand, startRedis } from './support/redis-server.js'

const SHOP = { seed: 5, pages: 20, bytes: 1_000, faults: 0 }
const dir = mkdtempSync(join(tmpdir(), 'shoal-connect-postgres-'))
let redis: RedisServer
let postgres: PostgresServer
let shop: RunningShop

beforeAll(async () => {
  ;[redis, postgres, shop] = await Promise.all([
    startRedis(),
    startPostgres(),
    startShop({ ...SHOP, port: 0, accessLog: join(dir, 'access.log') }),
  ])
})
afterAll(async () => {
  await Promise.all([redis.stop(), postgres.end(), shop.close()])
  rmSync(dir, { recursive: true, force: true })
})

describe('a program with its queue on Redis and its records in Postgres', () => {
  it('streams every record, waits for one page, and feeds its outlets', async () => {
    const origin = `http://127.0.0.1:${shop.port}`
    const demo = demoDefinition({ origin }).definition
    const spider = defineSpider({ ...demo, outlets: [{ redis: 'hash' }] })
    const shoal = await connect({ queue: redis.url, store: postgres.address(), logLevel: 'error' })
    try {
      const crawl = await shoal.crawl(spider)
      const streamed: StoredRecord[] = []
      const reading = (async () => {
        for await (const record of crawl.subscribe()) streamed.push(record)
      })()
      const page = createShop(SHOP)
        .siteMap()
        .find(({ product }) => product !== undefined)
      const url = `${origin}${page?.path}`
      await crawl.add(url)
      const running = crawl.runWorkers()
      const [first] = await crawl.result(url, { timeout: '20s' })
      expect(first).toMatchObject({ kind: 'product', key: page?.product?.sku })
      expect(await running).toMatchObject({ state: 'finished', dead: 0 })
      await reading
      const products = createShop(SHOP)
        .siteMap()
        .flatMap(({ product }) => (product === undefined ? [] : [product.sku]))
      expect(streamed.map(({ key }) => key).sort()).toEqual(products.sort())
      const items = (await redisCommand(redis.port, 'HVALS', 'shoal:demo:records')) as string[]
      expect(items.map((text) => (JSON.parse(text) as StoredRecord).key).sort()).toEqual(products.sort())
      expect(await shoal.store.outlets.list()).toMatchObject([
        { name: 'demo/hash', sent: products.length, holder: null },
      ])
    } finally {
      await shoal.close()
    }
  })
})
