import { afterAll, beforeAll, expect, it } from 'vitest'
import { batch, fetchRow, record } from '../../contract/record-store-contract.js'
import { visitRow, visitsContract } from '../../contract/visits-contract.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { emptyPostgresStore } from './opened.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.end())

visitsContract('postgres', () => emptyPostgresStore(server.address()))

it('postgres: writes the visits beside a row that the server refuses', async () => {
  const store = await emptyPostgresStore(server.address())
  const poison = fetchRow({ status: 99_999 })
  const statuses = await store.records.write(batch({ records: [record()], fetches: [poison], visits: [visitRow()] }))
  expect(statuses).toEqual(['written'])
  expect(await store.visits.last('books', ['00000000000000aa'])).toHaveLength(1)
  expect(await store.visits.counts('crawl-1')).toMatchObject({ new: 1 })
  await store.close()
})

it('postgres: writers that confirm each other’s records end, and count right', async () => {
  const store = await emptyPostgresStore(server.address())
  const keys = Array.from({ length: 60 }, (_, i) => `k${i}`)
  await store.records.write(batch({ records: keys.map((key) => record({ key })) }))
  await Promise.all(
    [0, 1, 2, 3].map((worker) => {
      const half = (at: number) => keys.filter((_, i) => i % 4 === at)
      const lease = { crawl: 'crawl-2', gen: 1, epoch: `${2000 + worker}`, scrapedAt: 20_000 }
      return store.records.write(
        batch({
          records: half(worker).map((key) => record({ key, ...lease, data: { worker } })),
          confirmed: half((worker + 1) % 4).map((key) => ({ ...record({ key }), ...lease })),
        }),
      )
    }),
  )
  expect(await store.records.counts({ crawl: 'crawl-2' })).toMatchObject([{ records: 60 }])
  await store.close()
})
