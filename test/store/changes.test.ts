import { existsSync } from 'node:fs'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SqliteDb } from '../../src/sqlite/db.js'
import { FROM_START } from '../../src/store/changes.js'
import { memoryRecordStore } from '../../src/store/memory/memory-record-store.js'
import type { RecordStore } from '../../src/store/record-store.js'
import { migrateStore } from '../../src/store/sqlite/schema.js'
import { changesContract, drain } from '../contract/changes-contract.js'
import { batch, record } from '../contract/record-store-contract.js'
import { sqliteStoreOn } from '../support/sqlite-store.js'

function openFile(file: string, onClose = async () => {}): RecordStore {
  const db = new SqliteDb(file)
  migrateStore(db)
  return sqliteStoreOn(db, async () => {
    db.close()
    await onClose()
  })
}

changesContract('memory', async () => memoryRecordStore())

changesContract('sqlite', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'shoal-changes-'))
  return openFile(join(dir, 'shoal.db'), () => rm(dir, { recursive: true }))
})

describe('a file that is restored from a copy', () => {
  let dir: string
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'shoal-restore-'))
  })
  afterEach(() => rm(dir, { recursive: true }))

  const file = () => join(dir, 'shoal.db')
  /** With its log, which a closed file may still have beside it. */
  const copy = async (from: string, to: string) => {
    for (const part of ['', '-wal', '-shm']) {
      await rm(join(dir, `${to}${part}`), { force: true })
      if (existsSync(join(dir, `${from}${part}`)))
        await copyFile(join(dir, `${from}${part}`), join(dir, `${to}${part}`))
    }
  }
  const write = async (...keys: string[]) => {
    const store = openFile(file())
    await store.records.write(batch({ records: keys.map((key) => record({ key })) }))
    const { cursor } = await drain(store, FROM_START)
    await store.close()
    return cursor
  }

  it('refuses cursors of the time that is gone, also after it has moved on past them, and takes those from before', async () => {
    const before = await write('a', 'b')
    await copy('shoal.db', 'copy.db')
    const lost = await write('c', 'd')
    const alsoLost = await write('e')
    await copy('copy.db', 'shoal.db')

    const restored = openFile(file())
    for (const cursor of [lost, alsoLost])
      await expect(restored.changes.read({ after: cursor, limit: 1 })).rejects.toMatchObject({ code: 'cursor_foreign' })
    await restored.close()
    await write('other-c', 'other-d', 'other-e', 'other-f')

    const later = openFile(file())
    for (const cursor of [lost, alsoLost])
      await expect(later.changes.read({ after: cursor, limit: 1 })).rejects.toMatchObject({ code: 'cursor_foreign' })
    expect((await drain(later, before)).records.map(({ key }) => key)).toEqual([
      ...['other-c', 'other-d', 'other-e', 'other-f'],
    ])
    await later.close()
  })

  it('keeps the cursors of its outlets, which went back with it', async () => {
    const before = await write('a')
    const store = openFile(file())
    const claim = { name: 'books/list', spider: 'books', kinds: null, holder: 'p1', forMs: 1 }
    await store.outlets.claim(claim)
    await store.outlets.note('books/list', 'p1', { cursor: before, sent: 1, trimmed: 0, error: null, stop: false })
    await store.close()
    await copy('shoal.db', 'copy.db')
    const lost = await write('b')
    const ahead = openFile(file())
    await ahead.outlets.claim(claim)
    await ahead.outlets.note('books/list', 'p1', { cursor: lost, sent: 1, trimmed: 0, error: null, stop: false })
    await ahead.close()
    await copy('copy.db', 'shoal.db')
    await write('c')
    const restored = openFile(file())
    const hold = await restored.outlets.claim({ ...claim, holder: 'p2' })
    expect((await drain(restored, hold?.cursor ?? '')).records.map(({ key }) => key)).toEqual(['c'])
    await restored.close()
  })
})
