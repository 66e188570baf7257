import type { EngineCall } from '../../sqlite/engine.js'
import type { Notes } from '../notes.js'
import type { SqliteNotesEngine } from './sqlite-notes-engine.js'

/** The embedded notes: each method is a call of the engine, which runs elsewhere. */
export function sqliteNotes(call: EngineCall<SqliteNotesEngine>): Notes {
  return {
    claim: (key, holder, freshMs, forMs) => call('claim', key, holder, freshMs, forMs),
    post: (key, holder, text, keepMs) => call('post', key, holder, text, keepMs),
    drop: (key, holder) => call('drop', key, holder),
    read: (key) => call('read', key),
  }
}
