import { describe, expect, it } from 'vitest'
import { SqliteDb } from '../../src/sqlite/db.js'
import { cellDamage, firstReadable, type RowRules, storedRows } from '../../src/sqlite/stored-rows.js'

const RULES: RowRules = { json: new Set(['t.data']), large: new Set(['t.fp']), check: () => null }

describe('the damage of a value', () => {
  const text = (...bytes: number[]) => new Uint8Array(bytes)
  const plain = { json: false, large: false }
  it.each([
    ['text', text(0x61), 'TEXT', plain, null],
    ['text', text(0x61, 0xff), 'TEXT', plain, 'is not UTF-8'],
    ['text', text(0x61, 0), 'TEXT', plain, 'contains a NUL'],
    ['text', text(0x7b), 'TEXT', { json: true, large: false }, 'is not JSON'],
    ['text', text(0x61), 'INTEGER', plain, 'holds text instead of integer'],
    ['blob', text(0xff), 'TEXT', plain, 'holds blob instead of text'],
    ['blob', text(0xff), 'BLOB', plain, null],
    ['integer', '9007199254740993', 'INTEGER', plain, 'is out of range: 9007199254740993'],
    ['integer', '9007199254740993', 'INTEGER', { json: false, large: true }, null],
    ['null', null, 'TEXT', plain, null],
    ['integer', '1', '', plain, null],
  ] as const)('%s %s in a column of %s', (stored, cell, declared, rule, damage) => {
    expect(cellDamage(stored, cell, declared, rule)).toBe(damage)
  })
})

describe('the rows of a table', () => {
  it('come with all digits, and with what is wrong with them', () => {
    const db = new SqliteDb(':memory:')
    db.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, fp INTEGER, data TEXT)')
    db.exec("INSERT INTO t VALUES (1, 9007199254740993, '{}'), (7, 0, '{'), (9, 0, CAST(x'22ff22' AS TEXT))")
    const rows = [...storedRows(db, 't', RULES, () => {})]
    expect(rows.map(({ key, damage }) => [key, damage])).toEqual([
      ['1', null],
      ['7', 't.data is not JSON'],
      ['9', 't.data is not UTF-8'],
    ])
    expect(rows[0]?.values.get('fp')).toBe(9007199254740993n)
    db.close()
  })

  it('are read again behind a broken part, however long it is', () => {
    for (const [from, upto] of [
      [5, 6],
      [5, 9],
      [100, 5_000],
      [1, 1_000_000],
    ] as const)
      expect(firstReadable(from, (row) => row < from || row >= upto)).toBe(upto)
    expect(firstReadable(5, () => false)).toBeNull()
  })
})
