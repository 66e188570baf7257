import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parquetReadObjects } from 'hyparquet'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.js'
import { applyRetention, type Retired } from '../../../src/store/export/apply-retention.js'
import { fileArchive } from '../../../src/store/files/file-archive.js'
import { parsePostgres } from '../../../src/store/postgres/address.js'
import { openPostgresMaintenance } from '../../../src/store/postgres/maintenance.js'
import { knownMigrations, migrate, pendingMigrations } from '../../../src/store/postgres/migrate.js'
import { openPostgresStore } from '../../../src/store/postgres/open-postgres.js'
import { openPg } from '../../../src/store/postgres/pg.js'
import { batch, fetchRow, record } from '../../contract/record-store-contract.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'

let server: PostgresServer
let schemas = 0
const clock = systemClock
const emptySchema = () => `${server.address()}?schema=maintenance_${++schemas}`
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.end())

describe('migrations', () => {
  it('are made once by many at the same time', async () => {
    const address = emptySchema()
    const stores = await Promise.all(
      Array.from({ length: 4 }, () => openPostgresStore(address, { clock, create: true })),
    )
    const maintenance = await openPostgresMaintenance(address)
    expect(await maintenance.pending()).toEqual([])
    expect(await maintenance.migrate()).toEqual([])
    await Promise.all([...stores.map((store) => store.close()), maintenance.close()])
  })

  it('are not made by a command that only looks', async () => {
    const address = emptySchema()
    await expect(openPostgresStore(address, { clock, create: false })).rejects.toMatchObject({ code: 'not_found' })
    const maintenance = await openPostgresMaintenance(address)
    expect((await maintenance.pending()).map(({ number }) => number)).toEqual(
      knownMigrations().map(({ number }) => number),
    )
    await maintenance.close()
  })

  it('happen whole or not at all, and wait for a word where older workers could not live with them', async () => {
    const address = emptySchema()
    await (await openPostgresStore(address, { clock, create: true })).close()
    const parsed = parsePostgres(address)
    const pg = await openPg(parsed)
    const known = knownMigrations()
    const next = { number: 9001, name: 'next', breaking: true, sql: 'CREATE TABLE shoal.next (n integer);' }
    const broken = {
      ...next,
      number: 9002,
      name: 'broken',
      sql: 'CREATE TABLE shoal.broken (n integer); SELECT 1 / 0;',
    }
    await expect(migrate(pg, parsed.schema, [...known, next, broken])).rejects.toThrow('division by zero')
    expect((await pendingMigrations(pg, [...known, next])).pending).toEqual([next])
    expect(await migrate(pg, parsed.schema, [...known, next])).toEqual([next])
    // This version does not know 9001.
    await expect(openPostgresStore(address, { clock, create: true })).rejects.toMatchObject({ code: 'store_newer' })
    await pg.query({ name: 'harmless', text: 'UPDATE shoal.migrations SET breaking = false' }, [])
    await (await openPostgresStore(address, { clock, create: true })).close()
    await pg.close()
  })

  it('give the schema that is written down', async () => {
    await (await openPostgresStore(server.address(), { clock, create: true })).close()
    const file = new URL('../../../docs/postgres-schema.sql', import.meta.url)
    expect(server.dumpSchema('shoal'), 'after a migration run `npm run schema`').toBe(await readFile(file, 'utf8'))
  })
})

describe('retention', () => {
  it('archives and drops what is old while rows are written', async () => {
    const address = emptySchema()
    const store = await openPostgresStore(address, { clock, create: true })
    const maintenance = await openPostgresMaintenance(address)
    const dir = await mkdtemp(join(tmpdir(), 'shoal-archive-'))
    const now = clock.now()
    const old = Date.parse('2026-01-15T00:00:00Z')
    const fetches = Array.from({ length: 5000 }, (_, i) =>
      fetchRow({
        at: old + i,
        fp: (i + 1).toString(16).padStart(16, 'f'),
        link: null,
        headers: { 'content-type': 'text/html' },
      }),
    )
    await store.records.write(batch({ fetches, records: [record({ history: true, scrapedAt: old })] }))
    await store.records.write(
      batch({ records: [record({ history: true, scrapedAt: old + 1, epoch: '1001', data: 'new' })] }),
    )
    await maintenance.setRetention({ unit: 'week', fetchesMs: 86_400_000, versionsMs: null, archive: `files:${dir}` })

    let writing = true
    let written = 0
    const writer = (async () => {
      while (writing) {
        await store.records.write(batch({ fetches: [fetchRow({ at: clock.now() })] }))
        written += 1
      }
    })()
    const retired: Retired[] = []
    expect(await applyRetention(maintenance, fileArchive(dir), now, (one) => retired.push(one))).toBe(true)
    writing = false
    await writer
    expect(written).toBeGreaterThan(0)
    expect(retired).toMatchObject([{ name: 'fetches_20260101' }])
    expect(await store.fetches.of({ fp: fetches[7].fp, limit: 1 })).toEqual([])
    expect(await store.fetches.of({ fp: fetchRow().fp, limit: 1 })).toHaveLength(1)

    const [name = ''] = await readdir(dir)
    expect(name).toMatch(/^fetches_20260101-[0-9a-f]{8}-\d+\.parquet$/)
    expect(retired[0]?.archived).toBe(join(dir, name))
    const bytes = await readFile(join(dir, name))
    const rows = await parquetReadObjects({
      file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
    })
    expect(rows).toHaveLength(fetches.length)
    expect(rows[7]).toMatchObject({
      fp: fetches[7].fp,
      url: fetches[7].url,
      status: 200n,
      headers: { 'content-type': 'text/html' },
    })
    expect(rows[7].at).toEqual(new Date(old + 7))

    const names = (await maintenance.partitions()).map((one) => one.name)
    expect(names).not.toContain('fetches_20260101')
    expect(names).toContain('record_versions_20260101')
    await Promise.all([store.close(), maintenance.close(), rm(dir, { recursive: true })])
  })

  it('goes on where it was interrupted', async () => {
    const address = emptySchema()
    const store = await openPostgresStore(address, { clock, create: true })
    const maintenance = await openPostgresMaintenance(address)
    await store.records.write(batch({ fetches: [fetchRow({ at: Date.parse('2026-01-15T00:00:00Z') })] }))
    await maintenance.setRetention({ unit: 'month', fetchesMs: 86_400_000, versionsMs: null, archive: null })
    const failing = { write: () => Promise.reject(new Error('the disk is gone')), close: async () => {} }
    await expect(applyRetention(maintenance, failing, clock.now(), () => {})).rejects.toThrow('the disk is gone')
    const left = (await maintenance.partitions()).filter(({ name }) => name === 'fetches_20260101')
    expect(left).toMatchObject([{ range: null }])
    const again: Retired[] = []
    await applyRetention(maintenance, null, clock.now(), (one) => again.push(one))
    expect(again).toMatchObject([{ name: 'fetches_20260101', archived: null }])
    // What somebody takes out by hand stays his.
    await store.records.write(batch({ fetches: [fetchRow({ at: Date.parse('2026-02-15T00:00:00Z') })] }))
    const schema = new URL(address).searchParams.get('schema')
    await server.query(`ALTER TABLE ${schema}.fetches DETACH PARTITION ${schema}.fetches_20260201`)
    await applyRetention(maintenance, null, clock.now(), (one) => again.push(one))
    expect(again).toHaveLength(1)
    expect((await maintenance.partitions()).map(({ name }) => name)).toContain('fetches_20260201')
    // Late rows of those days find another place.
    const late = fetchRow({ at: Date.parse('2026-02-16T00:00:00Z'), fp: '00000000000000bb' })
    await store.records.write(batch({ fetches: [late] }))
    expect(await store.fetches.of({ fp: late.fp, limit: 1 })).toHaveLength(1)
    expect((await maintenance.partitions()).map(({ name }) => name)).toContain('fetches_20260201_2')
    await Promise.all([store.close(), maintenance.close()])
  })
})
