import { existsSync } from 'node:fs'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { type PostgresServerOptions, startPgBouncer, startPostgres } from './postgres-server.js'
import { endAfterTest } from './redis-opened.js'

async function postgresForTest(options: PostgresServerOptions = {}) {
  const server = await startPostgres(options)
  endAfterTest({ stop: () => server.end() })
  return server
}

async function select(address: string, sql: string): Promise<unknown[][]> {
  const client = new Client({ connectionString: address })
  await client.connect()
  try {
    return (await client.query<unknown[]>({ text: sql, rowMode: 'array' })).rows
  } finally {
    await client.end()
  }
}

test('A durable server keeps its data over an immediate stop and a kill, on the same port', async () => {
  const server = await postgresForTest({ durable: true })
  await server.query('CREATE TABLE t (n int)')
  for (const end of [() => server.stop('immediate'), () => server.kill(), () => server.stop('fast')]) {
    const before = server.pid
    await server.query('INSERT INTO t VALUES (1)')
    await end()
    await expect(server.query('SELECT 1')).rejects.toThrow('ECONNREFUSED')
    await server.start()
    expect(server.pid).not.toBe(before)
  }
  expect(await server.query('SELECT n FROM t')).toEqual([{ n: 1 }, { n: 1 }, { n: 1 }])
  await server.end()
  expect(existsSync(server.dir)).toBe(false)
})

test('Each database is a fresh one, and settings reach the server', async () => {
  const server = await postgresForTest({ settings: { max_connections: '7' } })
  const [first, second] = [await server.createDatabase(), await server.createDatabase()]
  await select(first, 'CREATE TABLE t (n int)')
  expect(await select(second, "SELECT to_regclass('t'), current_setting('max_connections')")).toEqual([[null, '7']])
})

test('A server with a password and TLS lets nobody in without them', async () => {
  const server = await postgresForTest({ password: "it's/secret", tls: true })
  expect(
    await select(await server.createDatabase(), 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()'),
  ).toEqual([[true]])
  await expect(select(server.address().replace('secret', 'wrong'), 'SELECT 1')).rejects.toThrow('authentication failed')
  await expect(select(server.address().replace(/\?.*/, ''), 'SELECT 1')).rejects.toThrow('no pg_hba.conf entry')
})

test('A server that cannot start says why', async () => {
  await expect(startPostgres({ settings: { no_such_setting: '1' } })).rejects.toThrow(/unrecognized configuration/)
})

test('PgBouncer in transaction mode gives each transaction any of its connections', async () => {
  const server = await postgresForTest()
  const bouncer = await startPgBouncer(server, 1)
  endAfterTest({ stop: () => bouncer.end() })
  const database = new URL(await server.createDatabase()).pathname.slice(1)
  const pids = await Promise.all([1, 2].map(() => select(bouncer.address(database), 'SELECT pg_backend_pid()')))
  expect(pids[0]).toEqual(pids[1])
})
