import { type Cursor, FROM_START, makeCursor, readCursor } from '../changes.js'
import type { OutletClaim, OutletHold, OutletInfo, OutletNote, Outlets } from '../outlets.js'
import { type PostgresChanges, positionIn, statement } from './changes.js'
import type { Pg } from './pg.js'
import { millis } from './read-statements.js'

export class PostgresOutlets implements Outlets {
  readonly #pg: Pg
  readonly #changes: PostgresChanges

  constructor(pg: Pg, changes: PostgresChanges) {
    this.#pg = pg
    this.#changes = changes
  }

  async claim({ name, spider, kinds, holder, forMs, epoch: renewed }: OutletClaim): Promise<OutletHold | null> {
    const detail = await this.#changes.detail()
    const [row] = await this.#pg.query<[string, number, string, string]>(
      statement(
        'claim-outlet',
        detail,
        `, claimed AS (
          INSERT INTO shoal.outlets AS o (name, spider, kinds, epoch, holder, held_until)
          SELECT $1, $2, $3, 1, $4, clock_timestamp() + $5 * interval '1 millisecond'
          WHERE $6::bigint IS NULL OR EXISTS (SELECT FROM shoal.outlets WHERE name = $1 AND holder = $4 AND epoch = $6)
          ON CONFLICT (name) DO UPDATE SET spider = excluded.spider, kinds = excluded.kinds, holder = excluded.holder,
            held_until = excluded.held_until, epoch = o.epoch + (o.holder IS DISTINCT FROM excluded.holder)::int
          WHERE NOT o.stopped AND (o.holder IS NULL OR o.holder = excluded.holder OR o.held_until <= clock_timestamp())
            AND ($6 IS NULL OR (o.holder = $4 AND o.epoch = $6))
          RETURNING id, epoch, position)
        SELECT id, epoch::float8, position::text, mark FROM claimed, stream`,
      ),
      [name, spider, kinds, holder, forMs, renewed ?? null],
    )
    if (row === undefined) return null
    const [id, epoch, position, mark] = row
    return { id, epoch, cursor: cursorOf(position, mark) }
  }

  async release(name: string, holder: string): Promise<void> {
    const text = 'UPDATE shoal.outlets SET holder = NULL WHERE name = $1 AND holder = $2'
    await this.#pg.query({ name: 'release-outlet', text }, [name, holder])
  }

  async note(name: string, holder: string, note: OutletNote): Promise<boolean> {
    const detail = await this.#changes.detail()
    const { cursor, sent, trimmed, error, stop } = note
    const [row] = await this.#pg.query<[string, string, number]>(
      statement(
        'note-outlet',
        detail,
        `, noted AS (
          UPDATE shoal.outlets SET position = $3, sent = sent + $4, sent_at = CASE WHEN $4 > 0 THEN clock_timestamp() ELSE sent_at END,
            trimmed = trimmed + $5, error = $6, stopped = $7
          FROM stream WHERE name = $1 AND holder = $2 AND ($8::text IS NULL OR (mark = $8 AND $3 < unused)) RETURNING 1)
        SELECT mark, unused::text, (SELECT count(*)::int FROM noted) FROM stream`,
      ),
      [name, holder, positionIn(cursor), sent, trimmed, error, stop, readCursor(cursor)?.mark ?? null],
    )
    const [mark, unused, noted] = row ?? ['', '0', 0]
    await this.#changes.refuseForeign(cursor, { mark, unused: BigInt(unused) })
    return noted === 1
  }

  async list(): Promise<OutletInfo[]> {
    const detail = await this.#changes.detail()
    const rows = await this.#pg.query<OutletColumns>(
      statement(
        'outlets',
        detail,
        ` SELECT mark, name, spider, kinds, position::text, CASE WHEN held_until > clock_timestamp() THEN holder END, sent::float8,
          ${millis('sent_at')}, trimmed::float8, error, stopped FROM stream, shoal.outlets ORDER BY name`,
      ),
      [],
    )
    return rows.map(([mark, name, spider, kinds, position, holder, sent, sentAt, trimmed, error, stopped]) => ({
      ...{ name, spider, kinds, cursor: cursorOf(position, mark), holder, sent, sentAt, trimmed, error, stopped },
    }))
  }

  async reset(name: string, spider: string, cursor: Cursor | null): Promise<void> {
    if (cursor !== null) await this.#changes.lag({ after: cursor, most: 0 })
    await this.#pg.query(
      {
        name: 'reset-outlet',
        text: `INSERT INTO shoal.outlets AS o (name, spider, position) VALUES ($1, $2, coalesce($3, -1))
          ON CONFLICT (name) DO UPDATE SET position = coalesce($3, o.position), error = NULL, stopped = false, holder = NULL`,
      },
      [name, spider, cursor === null ? null : positionIn(cursor)],
    )
  }
}

type OutletColumns = [
  ...[mark: string, name: string, spider: string, kinds: string[] | null, position: string, holder: string | null],
  ...[sent: number, sentAt: number | null, trimmed: number, error: string | null, stopped: boolean],
]

function cursorOf(position: string, mark: string): Cursor {
  return position === '-1' ? FROM_START : makeCursor(position, mark)
}
