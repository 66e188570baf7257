import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SqliteDb } from '../../src/sqlite/db.js'
import { prepareBatch } from '../../src/store/prepare.js'
import type { WriteBatch } from '../../src/store/record-store.js'
import { migrateStore } from '../../src/store/sqlite/schema.js'
import { SqliteStoreEngine } from '../../src/store/sqlite/sqlite-store-engine.js'
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
    const engine = new SqliteStoreEngine(db)
    const write = (work: WriteBatch) => engine.write(prepareBatch(work).prepared)
    return { db, engine, write, rows: () => engine.recordPage({}, null, 1000) }
  }

  it('leaves nothing of a write that was rolled back, and takes it again', () => {
    const { db, engine, write, rows } = open()
    const work = batch({ records: [record()], rejected: [rejectedRow()], fetches: [fetchRow()] })
    const failing = () => {
      write(work)
      throw new Error('a neighbour failed')
    }
    expect(() => db.transaction(failing)).toThrow('a neighbour failed')
    expect(rows()).toEqual([])
    expect(engine.counts({})).toEqual([])
    expect(db.transaction(() => write(work))).toEqual(['written'])
    expect(rows()).toMatchObject([{ spider: 'books', crawl: 'crawl-1' }])
    expect(engine.counts({})).toMatchObject([{ records: 1, rejected: 1 }])
  })

  it('is shared by two connections and found again later', () => {
    const first = open()
    const second = open()
    first.db.transaction(() => first.write(batch({ records: [record()] })))
    const stale = record({ epoch: '999', data: 'stale' })
    expect(second.db.transaction(() => second.write(batch({ records: [stale] })))).toEqual(['fenced'])
    expect(second.db.transaction(() => second.engine.generation('queue'))).toBe(1)
    expect(open().rows()).toEqual(first.rows())
  })

  it('counts what a scan would count', () => {
    const { db, engine, write } = open()
    for (let i = 0; i < 40; i++) {
      const rows = Array.from({ length: 30 }, (_, j) =>
        record({
          key: `k${(i * 7 + j * 3) % 50}`,
          epoch: String(1000 + ((i * 13) % 17)),
          data: (i * j) % 3,
          crawl: `c${i % 3}`,
        }),
      )
      db.transaction(() => write(batch({ records: rows })))
    }
    for (const crawl of ['c0', 'c1', 'c2']) {
      const scanned = engine.recordPage({}, null, 1000).filter((row) => row.crawl === crawl).length
      expect(engine.counts({ crawl })[0]?.records ?? 0).toBe(scanned)
    }
  })
})
