import type { Clock } from '../../clock.js'
import type { RedisConnection, RedisReply } from '../../redis/connection.js'
import { scriptLoader } from '../../redis/load-script.js'
import { list, number, text } from '../../redis/replies.js'
import type { Note, Notes } from '../notes.js'

export interface RedisNotesOptions {
  readonly namespace?: string
  /** For tests: in place of the server's time. */
  readonly clock?: Clock
}

/** The notes of a fleet: one key for each note, `{<namespace>.notes:<key>}`, a hash (lua/note.lua) that expires with it. In a cluster they spread over the nodes. */
export function redisNotes(connection: RedisConnection, options: RedisNotesOptions = {}): Notes {
  const { namespace = 'shoal', clock } = options
  const loadScript = scriptLoader()
  const load = (name: string) =>
    loadScript(name, ['redis/lua/server-time', 'notes/redis/lua/note', `notes/redis/lua/${name}`])
  const scripts = { claim: load('claim'), post: load('post'), drop: load('drop'), read: load('read') }
  const run = (operation: keyof typeof scripts, key: string, args: readonly string[]): Promise<RedisReply> =>
    connection.run(
      scripts[operation],
      [`{${namespace}.notes:${key}}`],
      [clock === undefined ? '' : String(clock.now()), ...args],
    )

  return {
    async claim(key, holder, freshMs, forMs) {
      const [kind, age, body, waitMs] = list(await run('claim', key, [holder, String(freshMs), String(forMs)]))
      const note = toNote(age, body)
      if (text(kind) === 'taken') return { kind: 'taken', waitMs: number(waitMs), old: note }
      return text(kind) === 'note' && note !== null ? { kind: 'note', note } : { kind: 'yours', old: note }
    },
    async post(key, holder, body, keepMs) {
      return number(await run('post', key, [holder, body, String(keepMs)])) === 1
    },
    async drop(key, holder) {
      await run('drop', key, [holder])
    },
    async read(key) {
      const [age, body] = list(await run('read', key, []))
      return toNote(age, body)
    },
  }
}

function toNote(age: RedisReply | undefined, body: RedisReply | undefined): Note | null {
  const ageMs = number(age)
  return ageMs < 0 ? null : { text: text(body), ageMs }
}
