import { afterAll, beforeAll, expect, it } from 'vitest'
import type { StoredRecord } from '../../src/store/record-store.js'
import { type PostgresServer, startPostgres } from '../support/postgres-server.js'
import { type CrawledShop, crawlShop, dialled, PRODUCTS, RIGHT, signalled } from './reparse.js'

let server: PostgresServer
let shop: CrawledShop & { crawl: string }
let port: string
beforeAll(async () => {
  server = await startPostgres()
  const address = await server.createDatabase()
  port = new URL(address).port
  shop = await crawlShop(address)
}, 60_000)
afterAll(async () => {
  await shop.close()
  await server.end()
})

const priceOf = ({ data }: StoredRecord) => (data as { price?: number | null }).price ?? null

it('reparses with the records in Postgres: shown, killed in the middle, written', async () => {
  const before = await shop.records()
  expect(before.map(priceOf)).toEqual(Array(PRODUCTS).fill(null))
  const dry = await shop.reparse({ fields: RIGHT }, '--dry-run')
  expect(dry).toMatchObject({ code: 0, written: PRODUCTS, added: 0, unchanged: 0, gone: 0, missing: 0, failed: 0 })
  expect(dry.fields).toMatchObject([{ kind: 'product', field: 'price', records: PRODUCTS, filled: PRODUCTS }])
  expect(await shop.records()).toEqual(before)

  expect((await signalled(shop, 'SIGKILL', { fields: RIGHT })).signal).toBe('SIGKILL')
  const half = (await shop.records()).map(priceOf)
  expect([half.length, half.includes(null)]).toEqual([PRODUCTS, true])

  const whole = await shop.reparse({ fields: RIGHT })
  expect(whole).toMatchObject({ code: 0, pages: dry.pages, fenced: 0, gone: 0 })
  expect(Number(whole.written) + Number(whole.unchanged)).toBe(PRODUCTS)
  const rows = await shop.records()
  expect(rows.map(({ key }) => key)).toEqual(before.map(({ key }) => key))
  expect(rows.map(priceOf)).toEqual(Array(PRODUCTS).fill(expect.any(Number)))

  // Its own database and nobody else.
  expect(dialled(shop.dir).filter((line) => !line.includes(port))).toEqual([])
}, 60_000)
