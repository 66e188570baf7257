import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { SqliteDb, type SqlValue } from '../../src/sqlite/db.js'
import { tempDir } from '../support/cli.js'

const dir = tempDir('sqlite-db')
afterAll(() => dir.remove())

describe('a connection', () => {
  it('reads back what it wrote', () => {
    const db = new SqliteDb(':memory:')
    const values: SqlValue[] = ['', 'ü€😀', 0, -1, 1.5, 2 ** 31, 2 ** 53 - 1, null, new Uint8Array([0, 255])]
    const echo = db.prepare('SELECT ?')
    for (const value of values) expect(echo.get(value)).toEqual([value])
    // Sorted into an INTEGER column, a large number is one.
    db.exec('CREATE TABLE t (n INTEGER, b BLOB)')
    db.prepare('INSERT INTO t VALUES (?, ?)').run(1_700_000_000_000, new Uint8Array(0))
    expect(db.prepare('SELECT typeof(n), n, typeof(b), length(b) FROM t').all()).toEqual([
      ['integer', 1_700_000_000_000, 'blob', 0],
    ])
    expect(db.prepare('SELECT CAST(? AS TEXT)').get(2n ** 62n)).toEqual([String(2n ** 62n)])
    expect(db.prepare('UPDATE t SET n = 1').run()).toBe(1)
    expect(db.prepare('UPDATE t SET n = 2 RETURNING n').all()).toEqual([[2]])
    expect(db.prepare('UPDATE t SET n = 2 WHERE n = 9 RETURNING n').get()).toBeUndefined()
    db.close()
  })

  it('refuses an integer of more than 53 bits instead of rounding it', () => {
    const db = new SqliteDb(':memory:')
    const large = db.prepare('SELECT 9007199254740993')
    for (const read of [() => large.get(), () => large.all()])
      expect(read).toThrow(expect.objectContaining({ code: 'db_corrupt' }))
    db.close()
  })
})

describe('text that is not UTF-8', () => {
  const file = join(dir.path, 'text.db')
  const open = () => {
    const db = new SqliteDb(file)
    db.exec('CREATE TABLE IF NOT EXISTS pages (num INTEGER PRIMARY KEY, url TEXT, title TEXT)')
    db.exec('DELETE FROM pages')
    const insert = db.prepare('INSERT INTO pages (url, title) VALUES (?, ?)')
    insert.run('https://a.example/', 'sound')
    insert.run('https://b.example/', 'replaced by the page itself: \ufffd')
    return db
  }

  it('is damage, named by its table and row, and never read as replacement characters', () => {
    const db = open()
    const all = db.prepare('SELECT num, url, title FROM pages')
    expect(all.all()).toHaveLength(2)
    db.exec("UPDATE pages SET title = CAST(x'61ff62' AS TEXT) WHERE num = 1")
    const damage = expect.objectContaining({
      code: 'db_corrupt',
      message: `${file}: the text in pages.title is not UTF-8, where num is 1`,
    })
    expect(() => all.all()).toThrow(damage)
    expect(() => db.prepare('SELECT num, title FROM pages WHERE num = ?').get(1)).toThrow(damage)
    expect(() => db.prepare('SELECT json_group_array(title) FROM pages').get()).toThrow(
      expect.objectContaining({ code: 'db_corrupt' }),
    )
    expect(db.prepare('SELECT title FROM pages WHERE num = ?').get(2)).toEqual(['replaced by the page itself: \ufffd'])
    db.close()
  })
})

describe('errors', () => {
  it('say that another process holds the lock, in every kind of statement', () => {
    const file = join(dir.path, 'busy.db')
    new SqliteDb(file).exec('CREATE TABLE t (n INTEGER)')
    // Without the waits of SqliteDb, which take 15 s.
    const [holder, other] = [new DatabaseSync(file), new DatabaseSync(file)]
    holder.exec('BEGIN IMMEDIATE')
    const insert = other.prepare('INSERT INTO t VALUES (1) RETURNING n')
    for (const write of [
      () => insert.run(),
      () => insert.get(),
      () => insert.all(),
      () => other.exec('BEGIN IMMEDIATE'),
    ])
      expect(write).toThrow('database is locked')
    holder.close()
    other.close()
  })
})
