import type { SqliteDb, SqlValue } from '../../sqlite/db.js'
import { type EngineCall, forward, type SqliteEngine } from '../../sqlite/engine.js'
import type { BlobEntry, BlobIndex, BlobMove, Codec } from '../blob-index.js'

export class SqliteBlobs implements SqliteEngine {
  readonly reads: ReadonlySet<string> = new Set(['find', 'after'])
  readonly #sql: ReturnType<typeof statements>

  constructor(db: SqliteDb) {
    this.#sql = statements(db)
  }

  find(place: string, hashes: readonly string[]): Map<string, BlobEntry> {
    const found = new Map<string, BlobEntry>()
    for (const hash of hashes) {
      const row = this.#sql.find.get(place, Buffer.from(hash, 'hex'))
      if (row !== undefined) found.set(hash, entryOf(row))
    }
    return found
  }

  add(place: string, entries: readonly BlobEntry[]): void {
    for (const { hash, pack, start, length, codec, bytes } of entries) {
      this.#sql.add.run(place, Buffer.from(hash, 'hex'), pack, start, length, codec, bytes)
    }
  }

  move(place: string, moves: readonly BlobMove[]): void {
    for (const { from, to } of moves) {
      const hash = Buffer.from(from.hash, 'hex')
      this.#sql.move.run(place, hash, from.pack, from.start, to.pack, to.start, to.length, to.codec)
    }
  }

  remove(place: string, entries: readonly BlobEntry[]): void {
    for (const { hash, pack, start } of entries) this.#sql.remove.run(place, Buffer.from(hash, 'hex'), pack, start)
  }

  after(place: string, hash: string, limit: number): BlobEntry[] {
    return this.#sql.after.all(place, Buffer.from(hash, 'hex'), limit).map(entryOf)
  }
}

export function blobsOver(call: EngineCall<SqliteBlobs>): BlobIndex {
  return forward(call, 'find', 'add', 'move', 'remove', 'after')
}

function statements(db: SqliteDb) {
  const columns = 'hex(hash), pack, start, length, codec, bytes'
  return {
    find: db.prepare(`SELECT ${columns} FROM blobs WHERE place = ? AND hash = ?`),
    add: db.prepare(
      `INSERT INTO blobs (place, hash, pack, start, length, codec, bytes) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (place, hash) DO NOTHING`,
    ),
    move: db.prepare(
      `UPDATE blobs SET pack = ?5, start = ?6, length = ?7, codec = ?8
       WHERE place = ?1 AND hash = ?2 AND pack = ?3 AND start = ?4`,
    ),
    remove: db.prepare('DELETE FROM blobs WHERE place = ? AND hash = ? AND pack = ? AND start = ?'),
    after: db.prepare(`SELECT ${columns} FROM blobs WHERE place = ? AND hash > ? ORDER BY hash LIMIT ?`),
  }
}

function entryOf(row: SqlValue[]): BlobEntry {
  const [hash, pack, start, length, codec, bytes] = row as [string, string, number, number, Codec, number]
  return { hash: hash.toLowerCase(), pack, start, length, codec, bytes }
}
