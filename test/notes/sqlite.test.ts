import { expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { sqliteNotes } from '../../src/notes/sqlite/sqlite-notes.js'
import { SqliteNotesEngine } from '../../src/notes/sqlite/sqlite-notes-engine.js'
import { SqliteDb } from '../../src/sqlite/db.js'
import { callDirectly } from '../../src/sqlite/direct.js'
import { type MakeNotes, notesContract } from '../contract/notes-contract.js'
import { notesProperties } from './properties.js'

const onSqlite =
  (db: SqliteDb): MakeNotes =>
  async (clock) => {
    SqliteNotesEngine.migrate(db)
    return { notes: sqliteNotes(callDirectly(db, new SqliteNotesEngine(db, clock))), close: async () => db.close() }
  }

notesContract('sqlite', (clock) => onSqlite(new SqliteDb(':memory:'))(clock))
notesProperties('sqlite', (clock) => onSqlite(new SqliteDb(':memory:'))(clock), 20)

it('keeps no row of a note that is gone', async () => {
  const clock = new ManualClock()
  const db = new SqliteDb(':memory:')
  const { notes, close } = await onSqlite(db)(clock)
  for (let i = 0; i < 150; i++) await notes.claim(`k${i}`, 'a', 1000, 1000)
  for (let i = 0; i < 150; i++) await notes.post(`k${i}`, 'a', 'text', 1000)
  clock.advance(2000)
  await notes.claim('one', 'a', 1000, 1000)
  await notes.claim('two', 'a', 1000, 1000)
  expect(db.prepare('SELECT count(*) FROM notes').get()).toEqual([2])
  await close()
})
