import type { EngineCall } from '../../sqlite/engine.js'
import type { Board } from '../notes.js'
import type { SqliteBoardEngine } from './sqlite-notes-engine.js'

/** The embedded board: each method is a call of the engine, which runs elsewhere. */
export function sqliteBoard(call: EngineCall<SqliteBoardEngine>): Board {
  return {
    claim: (key, holder, freshMs, forMs) => call('claim', key, holder, freshMs, forMs),
    post: (key, holder, text, keepMs) => call('post', key, holder, text, keepMs),
    drop: (key, holder) => call('drop', key, holder),
    read: (key) => call('read', key),
  }
}
