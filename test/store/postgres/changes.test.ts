import { Client, DatabaseError } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.js'
import { FROM_START } from '../../../src/store/changes.js'
import { parsePostgres } from '../../../src/store/postgres/address.js'
import { PostgresChanges } from '../../../src/store/postgres/changes.js'
import { openPostgresStore } from '../../../src/store/postgres/open-postgres.js'
import { openPg, type Pg } from '../../../src/store/postgres/pg.js'
import type { RecordStore } from '../../../src/store/record-store.js'
import { changesContract, drain } from '../../contract/changes-contract.js'
import { batch, record } from '../../contract/record-store-contract.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { emptyPostgresStore } from './opened.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.end())

const toEnd: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of toEnd.splice(0).reverse()) await end()
})

async function open(address: string): Promise<RecordStore> {
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

const keys = ({ records }: { records: readonly { key: string }[] }) => records.map(({ key }) => key)
const write = (store: RecordStore, ...names: string[]) =>
  store.records.write(batch({ records: names.map((key) => record({ key })) }))

/** As a worker writes it, in a transaction that this connection ends when it likes. */
const insert = (key: string) => `INSERT INTO shoal.records
  SELECT (jsonb_populate_record(r, jsonb_build_object('key', '${key}', 'change', pg_current_xact_id()::text::bigint))).*
  FROM shoal.records r WHERE key = 'first'`

/** First of all in this file: a new server begins to count at about 700. */
it('keeps the order of transactions when their numbers get another digit', async () => {
  const address = await server.createDatabase()
  const store = await open(address)
  await write(store, 'first')
  const sql = await connect(address)
  const next = async () => Number((await sql.query('SELECT pg_current_xact_id()::text AS n')).rows[0].n)
  let before = await next()
  while (before < 990) before = await next()
  expect(before).toBeLessThan(1_000)
  const later = Array.from({ length: 20 }, (_, i) => `k${i}`)
  for (const key of later) await write(store, key)
  expect(keys(await store.changes.read({ after: FROM_START, limit: 100 }))).toEqual(['first', ...later])
  expect(keys(await drain(store, FROM_START, { spider: 'books' }, 7))).toEqual(['first', ...later])
})

changesContract('postgres', () => emptyPostgresStore(server.address()))

describe('the change stream of Postgres', () => {
  it('skips no transaction that commits late, and gives nothing that a later cursor could miss', async () => {
    const address = await server.createDatabase()
    const store = await open(address)
    await write(store, 'first')
    const { cursor } = await drain(store, FROM_START)
    const slow = await connect(address)
    await slow.query('BEGIN')
    await slow.query(insert('slow'))
    await write(store, 'quick')
    expect(await store.changes.lag({ after: cursor, most: 9 })).toMatchObject({ records: 1 })
    const meanwhile = await drain(store, cursor)
    expect(meanwhile.records).toEqual([])
    await write(store, 'quicker')
    await slow.query('COMMIT')
    expect(keys(await drain(store, meanwhile.cursor))).toEqual(['slow', 'quick', 'quicker'])
  })

  it('gives a record that waited for the lock of a later transaction', async () => {
    const address = await server.createDatabase()
    const store = await open(address)
    await write(store, 'first')
    const early = await connect(address)
    await early.query('BEGIN')
    // Its number is given out now, its change comes after that of a transaction with a larger one.
    await early.query('SELECT pg_current_xact_id()')
    await store.records.write(batch({ records: [record({ key: 'first', epoch: '2000', data: 'second' })] }))
    const { cursor } = await drain(store, FROM_START)
    await early.query(`UPDATE shoal.records SET data = '"third"', change = pg_current_xact_id()::text::bigint`)
    await early.query('COMMIT')
    expect((await drain(store, cursor)).records).toMatchObject([{ key: 'first', data: 'third' }])
  })

  it('has no more to give when others in the cluster are busy, though the cursor moves', async () => {
    const address = await server.createDatabase()
    const store = await open(address)
    await write(store, 'first')
    const before = await store.changes.read({ after: FROM_START, limit: 10 })
    const sql = await connect(address)
    await sql.query('SELECT pg_current_xact_id()')
    const after = await store.changes.read({ after: before.cursor, limit: 10 })
    expect(after.cursor).not.toBe(before.cursor)
    expect([before.more, after.more, after.records]).toEqual([false, false, []])
    expect(await store.changes.read({ after: FROM_START, limit: 1 })).toMatchObject({ more: true })
  })

  it('ends a page with a whole transaction', async () => {
    const store = await open(await server.createDatabase())
    await write(store, ...Array.from({ length: 20 }, (_, i) => `a${i}`))
    await write(store, ...Array.from({ length: 20 }, (_, i) => `b${i}`))
    const first = await store.changes.read({ after: FROM_START, limit: 3 })
    expect(keys(first).every((key) => key.startsWith('a'))).toBe(true)
    expect(first.records).toHaveLength(20)
    const second = await store.changes.read({ after: first.cursor, limit: 100 })
    expect(second.records).toHaveLength(20)
  })

  it('counts on when a dump was restored into a younger cluster, and refuses the cursors of the old one', async () => {
    const address = await server.createDatabase()
    const before = await open(address)
    await write(before, 'a', 'b')
    const { cursor } = await drain(before, FROM_START)
    const claim = { name: 'books/list', spider: 'books', kinds: null, holder: 'p1', forMs: 60_000 }
    await before.outlets.claim(claim)
    await before.outlets.note('books/list', 'p1', { cursor, sent: 2, trimmed: 0, error: null, stop: false })
    await before.close()
    // As after pg_dump and pg_restore: the numbers are of a cluster that was far ahead, and every row is written anew.
    const sql = await connect(address)
    await sql.query('UPDATE shoal.records SET change = change + 1000000000')
    // An outlet is often far behind the last change: other databases of the cluster move it on.
    await sql.query('UPDATE shoal.outlets SET position = position + 2000000000')
    await sql.query('UPDATE shoal.settings SET value = value')
    await sql.query(`UPDATE shoal.settings SET value = gen_random_uuid() WHERE name = 'identity'`)

    const restored = await open(address)
    await expect(restored.changes.read({ after: cursor, limit: 1 })).rejects.toMatchObject({ code: 'cursor_foreign' })
    expect(keys(await drain(restored, FROM_START)).sort()).toEqual(['a', 'b'])
    await write(restored, 'c')
    expect(keys(await drain(restored, FROM_START)).at(-1)).toBe('c')
    const hold = await restored.outlets.claim(claim)
    expect(keys(await drain(restored, hold?.cursor ?? ''))).toEqual(['c'])
  })

  it('follows such a restore also under those who were at work, with what they wrote before they noticed', async () => {
    const address = await server.createDatabase()
    const store = await open(address)
    await write(store, 'a', 'b', 'confirmed')
    const { cursor } = await drain(store, FROM_START)
    const claim = { name: 'books/list', spider: 'books', kinds: null, holder: 'p1', forMs: 60_000 }
    await store.outlets.claim(claim)
    await store.outlets.note('books/list', 'p1', { cursor, sent: 3, trimmed: 0, error: null, stop: false })
    const sql = await connect(address)
    await sql.query('UPDATE shoal.records SET change = change + 1000000000')
    await sql.query('UPDATE shoal.outlets SET position = position + 1000000000')
    await sql.query('UPDATE shoal.settings SET value = value')
    // One that looks as if it were of this cluster, but came with the dump.
    await sql.query(`UPDATE shoal.records SET change = txid_current() + 2 WHERE key = 'b'`)

    await write(store, 'c', 'd')
    await store.records.write(
      batch({ records: [record({ key: 'd', epoch: '2000' }), record({ key: 'confirmed', epoch: '2000' })] }),
    )
    const stored = async () => (await store.outlets.claim(claim))?.cursor ?? ''
    await expect(store.changes.read({ after: await stored(), limit: 10 })).rejects.toMatchObject({
      code: 'cursor_foreign',
    })
    await write(store, 'e')
    const { records } = await drain(store, await stored())
    expect(keys({ records }).sort()).toEqual(['c', 'd', 'e'])
    expect(keys({ records }).at(-1)).toBe('e')
    expect(keys(await drain(store, FROM_START))).toHaveLength(6)
  })

  it('asks a standby again for its cluster, which it tells when it has taken over', async () => {
    const address = await server.createDatabase()
    const store = await open(address)
    const pg = await openPg(parsePostgres(address))
    toEnd.push(() => pg.close())
    let inRecovery = true
    const failing: Pg = {
      ...pg,
      async query(statement, values) {
        if (statement.name === 'cluster' && inRecovery)
          throw Object.assign(new DatabaseError('recovery is in progress', 0, 'error'), { code: '55000' })
        return pg.query(statement, values)
      },
    }
    const changes = new PostgresChanges(failing)
    const mark = (cursor: string) => cursor.split('-')[1]
    const fine = mark(await store.changes.end())
    expect(mark(await changes.end())).not.toBe(fine)
    inRecovery = false
    expect(mark(await changes.end())).toBe(fine)
  })

  it('works for a user who may not look at the cluster', async () => {
    const address = await server.createDatabase()
    await (await open(address)).close()
    const sql = await connect(address)
    await sql.query(`CREATE ROLE plain LOGIN; GRANT USAGE ON SCHEMA shoal TO plain; GRANT ALL ON ALL TABLES IN SCHEMA shoal TO plain;
      GRANT ALL ON ALL SEQUENCES IN SCHEMA shoal TO plain; REVOKE EXECUTE ON FUNCTION pg_control_system() FROM public;
      REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM public`)
    const store = await open(address.replace('postgres@', 'plain@'))
    await write(store, 'a')
    const { records, cursor } = await drain(store, FROM_START)
    expect(keys({ records })).toEqual(['a'])
    await write(store, 'b')
    expect(keys(await drain(store, cursor))).toEqual(['b'])
  })
})
