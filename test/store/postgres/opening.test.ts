import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.js'
import { isAway, ShoalError } from '../../../src/errors.js'
import { openPostgresStore } from '../../../src/store/postgres/open-postgres.js'
import { batch, fetchRow, record, rejectedRow } from '../../contract/record-store-contract.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { startTcpProxy } from '../../support/tcp-proxy.js'

const CANARY = 'pa55-canary@:/x'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres({ password: CANARY, tls: true })
})
afterAll(() => server.end())

const open = (address: string) => openPostgresStore(address, { clock: systemClock, create: true })

async function refused(address: string): Promise<ShoalError> {
  const error = await open(address).then(
    async (store) => {
      await store.close()
      throw new Error('it was opened')
    },
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(ShoalError)
  const told = JSON.stringify([error, (error as ShoalError).message, (error as ShoalError).hint])
  for (const secret of [CANARY, encodeURIComponent(CANARY), 'pa55-canary']) expect(told).not.toContain(secret)
  return error as ShoalError
}

describe('an address of Postgres', () => {
  it.each([
    ['postgres://localhost', 'it names no database'],
    [`postgres://u:${CANARY}@[::1/db`, 'it is not of the form'],
    [`postgres://u:${encodeURIComponent(CANARY)}@localhost/db?shema=x`, 'unknown part ?shema='],
    ['postgres://localhost/db?schema=Bad-Name', '?schema= must be'],
  ])('%s is refused', async (address, words) => {
    const error = await refused(address)
    expect(error).toMatchObject({ code: 'store_address', message: expect.stringContaining(words) })
  })

  it('works with TLS and a password', async () => {
    const store = await open(`${server.address()}&schema=with_tls`)
    expect(await store.records.write(batch({ records: [record()] }))).toEqual(['written'])
    await store.close()
  })

  it('says what is wrong with it: password, database, TLS, nobody there', async () => {
    const good = new URL(server.address())
    const changed = (change: (url: URL) => void) => {
      const url = new URL(good)
      change(url)
      return url.href
    }
    expect(await refused(changed((url) => (url.password = `${CANARY}x`)))).toMatchObject({ code: 'store_auth' })
    expect(await refused(changed((url) => (url.pathname = '/nowhere')))).toMatchObject({ code: 'store_missing' })
    expect(await refused(changed((url) => url.searchParams.delete('sslrootcert')))).toMatchObject({ code: 'store_tls' })
    expect(await refused(changed((url) => (url.search = '?sslmode=disable')))).toMatchObject({ code: 'store_tls' })
    expect(await refused(changed((url) => (url.port = '1')))).toMatchObject({ code: 'store_unreachable' })
  })

  it('may lack rights: they are asked for by name', async () => {
    await server.query(`CREATE ROLE reader LOGIN PASSWORD 'reader'`)
    const url = new URL(server.address())
    url.username = 'reader'
    url.password = 'reader'
    url.searchParams.set('schema', 'not_yours')
    expect(await refused(url.href)).toMatchObject({
      code: 'store_forbidden',
      message: expect.stringContaining('permission denied'),
    })
  })

  it('may be that of a role that owns nothing, once the owner has made the tables', async () => {
    const url = new URL(server.address())
    url.searchParams.set('schema', 'granted')
    await (await open(url.href)).close()
    await server.query(`CREATE ROLE worker LOGIN PASSWORD 'worker'; GRANT USAGE ON SCHEMA granted TO worker;
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA granted TO worker;
      GRANT USAGE ON ALL SEQUENCES IN SCHEMA granted TO worker`)
    url.username = 'worker'
    url.password = 'worker'
    const store = await open(url.href)
    const fetches = [fetchRow({ at: systemClock.now() })]
    expect(await store.records.write(batch({ records: [record()], fetches, rejected: [rejectedRow()] }))).toEqual([
      'written',
    ])
    await store.close()
  })

  it('must keep its text as UTF-8', async () => {
    await server.query(`CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'`)
    expect(await refused(server.address('latin'))).toMatchObject({ code: 'store_encoding' })
  })
})

describe('a server that goes away', () => {
  it('is told as away, and the same call works when it is back', async () => {
    const plain = await startPostgres()
    const store = await open(plain.address())
    await plain.stop('immediate')
    const error = await store.records.write(batch({ records: [record()] })).catch((thrown: unknown) => thrown)
    expect(isAway(error)).toBe(true)
    expect(await store.records.counts({}).catch(isAway)).toBe(true)
    await plain.start()
    expect(await store.records.write(batch({ records: [record()] }))).toEqual(['written'])
    await store.close()
    await plain.end()
  })

  it('took the batch and its answer was lost: the same batch again changes nothing', async () => {
    const plain = await startPostgres()
    const proxy = await startTcpProxy(plain.port)
    const store = await open(plain.address().replace(`:${plain.port}/`, `:${proxy.port}/`))
    await store.records.write(batch({ records: [record({ key: 'first' })] }))
    void proxy.dropNextReply()
    const work = batch({ records: [record(), record({ key: 'k2' })] })
    const error = await store.records.write(work).catch((thrown: unknown) => thrown)
    expect(isAway(error)).toBe(true)
    expect(await store.records.write(work)).toEqual(['unchanged', 'unchanged'])
    expect(await store.records.counts({})).toMatchObject([{ records: 3, unchanged: 0 }])
    await store.close()
    await proxy.stop()
    await plain.end()
  })
})
