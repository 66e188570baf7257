import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { SqliteDb } from '../../src/sqlite/db.js'

const dir = mkdtempSync(join(tmpdir(), 'shoal-migrate-'))
afterAll(() => rmSync(dir, { recursive: true }))

const FIRST = 'CREATE TABLE a (n INTEGER); INSERT INTO a VALUES (1);'
const SECOND = 'ALTER TABLE a ADD COLUMN m INTEGER; UPDATE a SET m = n + 1;'
const rows = (db: SqliteDb) => db.prepare('SELECT * FROM a').all()

it('applies what a file lacks, in order and once', () => {
  const file = join(dir, 'order.db')
  const older = new SqliteDb(file)
  older.migrate('part', [FIRST])
  older.migrate('part', [FIRST])
  expect(rows(older)).toEqual([[1]])
  const newer = new SqliteDb(file)
  newer.migrate('part', [FIRST, SECOND])
  newer.migrate('part', [FIRST, SECOND])
  expect(rows(newer)).toEqual([[1, 2]])
  for (const db of [older, newer]) db.close()
})

it('refuses a file that a newer version has changed, and leaves it alone', () => {
  const db = new SqliteDb(join(dir, 'newer.db'))
  db.migrate('part', [FIRST, SECOND])
  expect(() => db.migrate('part', [FIRST])).toThrow(expect.objectContaining({ code: 'db_newer' }))
  expect(rows(db)).toEqual([[1, 2]])
  db.close()
})

it('changes nothing when one of them fails, and counts each part on its own', () => {
  const db = new SqliteDb(join(dir, 'failing.db'))
  expect(() => db.migrate('part', [FIRST, 'CREATE TABLE'])).toThrow()
  db.migrate('other', [FIRST])
  expect(rows(db)).toEqual([[1]])
  db.close()
})
