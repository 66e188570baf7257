import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.js'
import { openPostgresStore } from '../../../src/store/postgres/open-postgres.js'
import { batch, record } from '../../contract/record-store-contract.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { until } from '../../support/server-process.js'

/** Several writers of one database, and somebody else who writes in it. */
let server: PostgresServer
beforeAll(async () => {
  // Whoever has waited for so long looks whether it waits in a deadlock, once, and is its victim.
  server = await startPostgres({ settings: { deadlock_timeout: '300ms' } })
})
afterAll(() => server.end())

const toEnd: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of toEnd.splice(0).reverse()) await end()
})

async function openStore(address: string) {
  const store = await openPostgresStore(address, { clock: systemClock, create: true })
  toEnd.push(() => store.close())
  return store
}

async function connect(address: string): Promise<Client> {
  const client = new Client({ connectionString: address })
  await client.connect()
  toEnd.push(() => client.end())
  return client
}

const KEYS = 300
const rows = (round: number) =>
  Array.from({ length: KEYS }, (_, key) => record({ key: `k${key}`, epoch: String(1000 + round), data: { round } }))

it('two writers of the same records in opposite orders never wait for each other crosswise', async () => {
  const address = await server.createDatabase()
  const [up, down] = [await openStore(address), await openStore(address)]
  for (let round = 0; round < 20; round++) {
    const [first, second] = await Promise.all([
      up.records.write(batch({ records: rows(round) })),
      down.records.write(batch({ records: rows(round).reverse() })),
    ])
    expect([...first, ...second].filter((status) => status === 'written')).toHaveLength(KEYS)
  }
  // What a session has counted is known when it has ended.
  await Promise.all([up.close(), down.close()])
  const database = new URL(address).pathname.slice(1)
  expect(await server.query(`SELECT deadlocks FROM pg_stat_database WHERE datname = '${database}'`)).toEqual([
    { deadlocks: '0' },
  ])
})

it('a deadlock with somebody else is tried again, unnoticed', async () => {
  const address = await server.createDatabase()
  const store = await openStore(address)
  await store.records.write(batch({ records: [record({ key: 'a' }), record({ key: 'b' })] }))
  const other = await connect(address)
  // It looks much later than the store's session.
  await other.query("BEGIN; SET LOCAL deadlock_timeout = '10s'")
  await other.query("UPDATE shoal.records SET url = 'theirs' WHERE key = 'b'")
  const written = store.records.write(
    batch({ records: [record({ key: 'a', epoch: '2000', data: 1 }), record({ key: 'b', epoch: '2000', data: 1 })] }),
  )
  await until('the store waits for the row', async () => {
    return (await other.query('SELECT 1 FROM pg_locks WHERE NOT granted')).rows.length > 0
  })
  await other.query("UPDATE shoal.records SET url = 'theirs' WHERE key = 'a'")
  await other.query('COMMIT')
  expect(await written).toEqual(['written', 'written'])
})
