import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SqliteDb } from '../../src/sqlite/db.js'
import { prepareBatch } from '../../src/store/prepare.js'
import type { WriteBatch } from '../../src/store/record-store.js'
import { migrateStore } from '../../src/store/sqlite/schema.js'
import { storeEngines } from '../../src/store/sqlite/store-engines.js'
import { batch, fetchRow, record, rejectedRow } from '../contract/record-store-contract.js'

describe('sqlite: record store', () => {
  let dir: string
  let opened: SqliteDb[]
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'shoal-store-'))
    opened = []
  })
  afterEach(async () => {
    for (const db of opened) db.close()
    await rm(dir, { recursive: true })
  })

  function open() {
    const db = new SqliteDb(join(dir, 'shoal.db'))
    opened.push(db)
    migrateStore(db)
    const { writer, records, generations } = storeEngines(db)
    const write = (work: WriteBatch) => writer.write(prepareBatch(work).prepared)
    return { db, records, generations, write, rows: () => records.page({}, null, 1000) }
  }

  it('leaves nothing of a write that was rolled back, and takes it again', () => {
    const { db, records, write, rows } = open()
    const work = batch({ records: [record()], rejected: [rejectedRow()], fetches: [fetchRow()] })
    const failing = () => {
      write(work)
      throw new Error('a neighbour failed')
    }
    expect(() => db.transaction(failing)).toThrow('a neighbour failed')
    expect(rows()).toEqual([])
    expect(records.counts({})).toEqual([])
    expect(db.transaction(() => write(work))).toEqual(['written'])
    expect(rows()).toMatchObject([{ spider: 'books', crawl: 'crawl-1' }])
    expect(records.counts({})).toMatchObject([{ records: 1, rejected: 1 }])
  })

  it('is shared by two connections and found again later', () => {
    const first = open()
    const second = open()
    first.db.transaction(() => first.write(batch({ records: [record()] })))
    const stale = record({ epoch: '999', data: 'stale' })
    expect(second.db.transaction(() => second.write(batch({ records: [stale] })))).toEqual(['fenced'])
    expect(second.db.transaction(() => second.generations.of('queue'))).toBe(1)
    expect(open().rows()).toEqual(first.rows())
  })

  it('counts what a scan would count', () => {
    const { db, records, write } = open()
    for (let i = 0; i < 40; i++) {
      const given = Array.from({ length: 30 }, (_, j) =>
        record({
          key: `k${(i * 7 + j * 3) % 50}`,
          epoch: String(1000 + ((i * 13) % 17)),
          data: (i * j) % 3,
          crawl: `c${i % 3}`,
        }),
      )
      db.transaction(() => write(batch({ records: given })))
    }
    for (const crawl of ['c0', 'c1', 'c2']) {
      const scanned = records.page({}, null, 1000).filter((row) => row.crawl === crawl).length
      expect(records.counts({ crawl })[0]?.records ?? 0).toBe(scanned)
    }
  })
})
