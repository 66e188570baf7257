import type { BlobEntry, BlobIndex, BlobMove, Codec } from '../blob-index.js'
import type { Pg, SqlStatement } from './pg.js'

const COLUMNS = `encode(hash, 'hex'), pack, start, length, codec, bytes`

const FIND: SqlStatement = {
  name: 'find_blobs',
  text: `SELECT ${COLUMNS} FROM shoal.blobs WHERE place = $1 AND hash = ANY ($2::bytea[])`,
}

/** Sorted, so that two writers of the same pages wait for each other and never in a circle. */
const ADD: SqlStatement = {
  name: 'add_blobs',
  text: `INSERT INTO shoal.blobs (place, hash, pack, start, length, codec, bytes)
    SELECT $1, hash, pack, start, length, codec, bytes
    FROM unnest($2::bytea[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[])
      WITH ORDINALITY AS given (hash, pack, start, length, codec, bytes, at)
    ORDER BY hash, at
    ON CONFLICT (place, hash) DO NOTHING`,
}

const MOVE: SqlStatement = {
  name: 'move_blobs',
  text: `UPDATE shoal.blobs b SET pack = m.to_pack, start = m.to_start, length = m.length, codec = m.codec
    FROM unnest($2::bytea[], $3::text[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[], $8::text[])
      AS m (hash, pack, start, to_pack, to_start, length, codec)
    WHERE b.place = $1 AND b.hash = m.hash AND b.pack = m.pack AND b.start = m.start`,
}

const REMOVE: SqlStatement = {
  name: 'remove_blobs',
  text: `DELETE FROM shoal.blobs b USING unnest($2::bytea[], $3::text[], $4::bigint[]) AS r (hash, pack, start)
    WHERE b.place = $1 AND b.hash = r.hash AND b.pack = r.pack AND b.start = r.start`,
}

const AFTER: SqlStatement = {
  name: 'blobs_after',
  text: `SELECT ${COLUMNS} FROM shoal.blobs WHERE place = $1 AND hash > $2 ORDER BY hash LIMIT $3`,
}

/** The server sends its bigints as text. */
type Row = readonly [hash: string, pack: string, start: string, length: string, codec: Codec, bytes: string]

export class PostgresBlobs implements BlobIndex {
  readonly #pg: Pg

  constructor(pg: Pg) {
    this.#pg = pg
  }

  async find(place: string, hashes: readonly string[]): Promise<Map<string, BlobEntry>> {
    const rows = await this.#pg.query<Row>(FIND, [place, hashes.map(toBytes)])
    return new Map(rows.map((row) => [row[0], toEntry(row)]))
  }

  async add(place: string, entries: readonly BlobEntry[]): Promise<void> {
    await this.#pg.query(ADD, [
      ...[place, entries.map(({ hash }) => toBytes(hash)), entries.map(({ pack }) => pack)],
      ...[entries.map(({ start }) => start), entries.map(({ length }) => length)],
      ...[entries.map(({ codec }) => codec), entries.map(({ bytes }) => bytes)],
    ])
  }

  async move(place: string, moves: readonly BlobMove[]): Promise<void> {
    const sorted = moves.toSorted((a, b) => (a.from.hash < b.from.hash ? -1 : 1))
    await this.#pg.query(MOVE, [
      ...[place, sorted.map(({ from }) => toBytes(from.hash))],
      ...[sorted.map(({ from }) => from.pack), sorted.map(({ from }) => from.start)],
      ...[sorted.map(({ to }) => to.pack), sorted.map(({ to }) => to.start)],
      ...[sorted.map(({ to }) => to.length), sorted.map(({ to }) => to.codec)],
    ])
  }

  async remove(place: string, entries: readonly BlobEntry[]): Promise<void> {
    await this.#pg.query(REMOVE, [
      ...[place, entries.map(({ hash }) => toBytes(hash))],
      ...[entries.map(({ pack }) => pack), entries.map(({ start }) => start)],
    ])
  }

  async after(place: string, hash: string, limit: number): Promise<BlobEntry[]> {
    return (await this.#pg.query<Row>(AFTER, [place, toBytes(hash), limit])).map(toEntry)
  }
}

function toBytes(hash: string): Buffer {
  return Buffer.from(hash, 'hex')
}

function toEntry([hash, pack, start, length, codec, bytes]: Row): BlobEntry {
  return { hash, pack, start: Number(start), length: Number(length), codec, bytes: Number(bytes) }
}
