import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SqliteDb } from '../../src/sqlite/db.js'
import { exportChanges } from '../../src/store/export/incremental.js'
import { memoryRecordStore } from '../../src/store/memory/memory-record-store.js'
import type { RecordRow, RecordStore } from '../../src/store/record-store.js'
import { migrateStore } from '../../src/store/sqlite/schema.js'
import { batch, record } from '../contract/record-store-contract.js'
import { type PostgresServer, startPostgres } from '../support/postgres-server.js'
import { sqliteStoreOn } from '../support/sqlite-store.js'
import { emptyPostgresStore } from './postgres/opened.js'

function sqlite(): RecordStore {
  const db = new SqliteDb(':memory:')
  migrateStore(db)
  return sqliteStoreOn(db)
}

let postgres: PostgresServer
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.end())

let holders = 0

const STORES: [string, () => Promise<RecordStore>][] = [
  ['memory', async () => memoryRecordStore()],
  ['sqlite', async () => sqlite()],
  ['postgres', () => emptyPostgresStore(postgres.address())],
]

describe.each(STORES)('%s: an incremental export', (_name, open) => {
  const write = (store: RecordStore, ...rows: Partial<RecordRow>[]) =>
    store.records.write(batch({ records: rows.map((row) => record(row)) }))
  /** The keys that an export of this name has; read twice, as formats with columns do. */
  const exported = (store: RecordStore, name: string, asked: { spider?: string; kind?: string } = {}) => {
    const work = { ...asked, name, holder: `h${holders++}` }
    return exportChanges(store, work, async ({ scan }) => {
      const passes: string[][] = [[], []]
      for (const pass of passes) for await (const { key } of scan({})) pass.push(key)
      expect(passes[1]).toEqual(passes[0])
      return passes[0]
    })
  }

  it('has everything the first time, then what is new or changed, each name by itself', async () => {
    const store = await open()
    await write(store, { key: 'a' }, { key: 'b' })
    expect(await exported(store, 'nightly')).toEqual(['a', 'b'])
    expect(await exported(store, 'nightly')).toEqual([])
    await write(store, { key: 'c' }, { key: 'a', data: 'changed', epoch: '1001' }, { key: 'b', epoch: '1001' })
    expect((await exported(store, 'nightly'))?.sort()).toEqual(['a', 'c'])
    expect((await exported(store, 'weekly'))?.sort()).toEqual(['a', 'b', 'c'])
    expect(await store.outlets.list()).toMatchObject([
      { name: 'export/nightly', sent: 4, holder: null },
      { name: 'export/weekly', sent: 3 },
    ])
    await store.outlets.reset('export/nightly', '', '')
    expect(await exported(store, 'nightly')).toHaveLength(3)
    await store.close()
  })

  it('of one spider and kind passes over the others, and refuses to be another one later', async () => {
    const store = await open()
    await write(store, { key: 'a' }, { key: 'b', kind: 'author' }, { key: 'c', spider: 'shop' })
    const books = { spider: 'books', kind: 'book' }
    expect(await exported(store, 'books', books)).toEqual(['a'])
    await write(store, { key: 'd' }, { key: 'e', kind: 'author' })
    await expect(exported(store, 'books')).rejects.toMatchObject({ code: 'usage' })
    await expect(exported(store, 'books', { ...books, kind: 'author' })).rejects.toMatchObject({ code: 'usage' })
    expect(await exported(store, 'books', books)).toEqual(['d'])
    await store.close()
  })

  it('that fails is repeated by the next one', async () => {
    const store = await open()
    await write(store, { key: 'a' })
    const failing = exportChanges(store, { name: 'n', holder: 'x' }, async ({ scan }) => {
      for await (const _ of scan({})) throw new Error('the disk is full')
    })
    await expect(failing).rejects.toThrow('the disk is full')
    expect(await exported(store, 'n')).toEqual(['a'])
    await store.close()
  })

  it('goes on with many records, and one is under way at a time', async () => {
    const store = await open()
    await write(store, ...Array.from({ length: 1300 }, (_, n) => ({ key: `k${n}` })))
    const during = exportChanges(store, { name: 'n', holder: 'first' }, async ({ scan }) => {
      await expect(exported(store, 'n')).rejects.toMatchObject({ code: 'usage' })
      await write(store, { key: 'late' })
      let rows = 0
      for await (const _ of scan({})) rows += 1
      return rows
    })
    expect(await during).toBeGreaterThanOrEqual(1300)
    const rest = await exported(store, 'n')
    expect((await during) + (rest?.length ?? 0)).toBeGreaterThanOrEqual(1301)
    await store.close()
  })
})
