import { expect, it } from 'vitest'
import { sqliteBoard } from '../../src/notes/sqlite/sqlite-notes.js'
import { SqliteBoardEngine } from '../../src/notes/sqlite/sqlite-notes-engine.js'
import { ManualClock } from '../../src/clock.js'
import { SqliteDb } from '../../src/sqlite/db.js'
import { callDirectly } from '../../src/sqlite/direct.js'
import { boardContract, type MakeBoard } from '../contract/notes-contract.js'
import { boardProperties } from './properties.js'

const onSqlite =
  (db: SqliteDb): MakeBoard =>
  async (clock) => {
    SqliteBoardEngine.migrate(db)
    return { board: sqliteBoard(callDirectly(db, new SqliteBoardEngine(db, clock))), close: async () => db.close() }
  }

boardContract('sqlite', (clock) => onSqlite(new SqliteDb(':memory:'))(clock))
boardProperties('sqlite', (clock) => onSqlite(new SqliteDb(':memory:'))(clock), 20)

it('keeps no row of a note that is gone', async () => {
  const clock = new ManualClock()
  const db = new SqliteDb(':memory:')
  const { board, close } = await onSqlite(db)(clock)
  for (let i = 0; i < 150; i++) await board.claim(`k${i}`, 'a', 1000, 1000)
  for (let i = 0; i < 150; i++) await board.post(`k${i}`, 'a', 'text', 1000)
  clock.advance(2000)
  await board.claim('one', 'a', 1000, 1000)
  await board.claim('two', 'a', 1000, 1000)
  expect(db.prepare('SELECT count(*) FROM board').get()).toEqual([2])
  await close()
})
