import { ShoalError } from '../../errors.js'
import type { CrawlId } from '../../frontier/frontier.js'
import {
  type ChangePage,
  type ChangeQuery,
  type ChangesLag,
  type Cursor,
  FROM_START,
  foreignCursor,
  type LagQuery,
  makeCursor,
  type OutletClaim,
  type OutletHold,
  type OutletInfo,
  type OutletNote,
  readCursor,
} from '../changes.js'
import type { Pg } from './pg.js'
import { sqlState } from './pg-errors.js'
import { millis, RECORD_COLUMNS } from './read-statements.js'
import { type RecordColumns, toRecord } from './record-rows.js'

/**
 * The place of a change is the number of its transaction, and only numbers below every transaction that is still under way are read: one that
 * commits late comes after the cursor of everybody. So a transaction that writes for an hour, anywhere in the cluster, holds the feed back for an
 * hour.
 *
 * The mark of a cursor is made of what changes when numbers may be given out again: the database, the cluster, and its timeline, which ends with
 * each failover and each recovery to a point in time. Positions of outlets are kept without it: they went back together with the records.
 */
const OFFSET = `(SELECT value::bigint FROM shoal.settings WHERE name = 'change_offset')`

/** Rows looked at in one call, wanted or not. */
const LOOK_AT = 2_000

/** `fine` asks for things that some managed servers do not tell. */
type Detail = 'fine' | 'plain'

const CLUSTER = '(SELECT system_identifier::text FROM pg_control_system())'
const TIMELINE = 'substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)'

/** mark, the end of what may be read, and a number that no change has reached. */
function feed(detail: Detail): string {
  const parts = [
    `(SELECT value FROM shoal.settings WHERE name = 'identity')`,
    '(SELECT oid::text FROM pg_database WHERE datname = current_database())',
    ...(detail === 'fine' ? [CLUSTER, TIMELINE] : []),
  ]
  return `feed AS MATERIALIZED (
    SELECT left(md5(concat_ws('/', ${parts.join(', ')})), 16) AS mark, shoal.changes_end() AS upto,
      pg_snapshot_xmax(pg_current_snapshot())::text::bigint + ${OFFSET} AS beyond)`
}

/**
 * The rows that follow position $1, in order. The filters come after it, and the end of what may be read too: with any of them inside, the planner
 * takes another index, or this one in the order of the table, and sorts all that is left for each page.
 */
const NEXT = `(SELECT * FROM shoal.records WHERE change > $1 ORDER BY change FETCH FIRST ${LOOK_AT} ROWS WITH TIES) AS next`

const statement = (name: string, detail: Detail, text: string) => ({
  name: `${name} ${detail}`,
  text: `WITH ${feed(detail)}${text}`,
})

/** Only what is asked for stands in the statement, so that the plan is for that. $1 is the position. */
function wanted({ spider, kinds }: Pick<ChangeQuery, 'spider' | 'kinds'>, from: number) {
  const values: unknown[] = []
  const place = (value: unknown) => `$${from + values.push(value)}`
  const filters = [
    ...(spider === undefined ? [] : [`spider = ${place(spider)}`]),
    ...(kinds === undefined ? [] : [`kind = ANY (${place(kinds)}::text[])`]),
  ]
  const name = `${spider === undefined ? '' : ' spider'}${kinds === undefined ? '' : ' kinds'}`
  return { text: filters.map((filter) => ` AND ${filter}`).join(''), values, name }
}

interface Feed {
  readonly mark: string
  readonly beyond: bigint
}

export class PostgresChanges {
  readonly #pg: Pg
  #detail: Promise<Detail> | null = null

  constructor(pg: Pg) {
    this.#pg = pg
  }

  async changes(query: ChangeQuery): Promise<ChangePage> {
    const { after, limit } = query
    const detail = await this.#known()
    const { text, values, name } = wanted(query, 2)
    const rows = await this.#pg.query<[string, string, string, string | null, string | null, ...RecordColumns]>(
      statement(
        `changes${name}`,
        detail,
        `, looked AS MATERIALIZED (
          SELECT max(change) FILTER (WHERE change <= upto) AS last, count(*) FILTER (WHERE change <= upto) >= ${LOOK_AT} AS more
          FROM ${NEXT}, feed
        ), page AS MATERIALIZED (
          SELECT * FROM ${NEXT} WHERE change <= (SELECT upto FROM feed)${text} ORDER BY change FETCH FIRST $2 ROWS WITH TIES)
        SELECT mark, beyond::text, upto::text, CASE WHEN more THEN last END::text, change::text, ${RECORD_COLUMNS}
        FROM feed CROSS JOIN looked LEFT JOIN page ON true ORDER BY page.change`,
      ),
      [positionIn(after), limit, ...values],
    )
    const [[mark, beyond, upto, lookedAt] = ['', '0', '0', null]] = rows
    await this.#refuseForeign(after, { mark, beyond: BigInt(beyond) })
    const records: ChangePage['records'] = []
    let last: string | null = null
    for (const [, , , , change, ...columns] of rows) {
      if (change === null) continue
      records.push(toRecord(columns))
      last = change
    }
    const full = records.length >= limit
    const position = full ? (last ?? upto) : (lookedAt ?? upto)
    // While a transaction is under way the end stands still, and may stand behind a cursor that was given before.
    const moved = BigInt(position) > BigInt(positionIn(after))
    return { records, cursor: moved ? makeCursor(position, mark) : after, more: full || lookedAt !== null }
  }

  async changesEnd(): Promise<Cursor> {
    const detail = await this.#known()
    const [[mark, upto] = ['', '0']] = await this.#pg.query<[string, string]>(
      statement('changes-end', detail, ' SELECT mark, upto::text FROM feed'),
      [],
    )
    return makeCursor(upto, mark)
  }

  async changesOfCrawl(crawl: CrawlId): Promise<Cursor> {
    const detail = await this.#known()
    const [row] = await this.#pg.query<[string, string]>(
      statement(
        'changes-of-crawl',
        detail,
        ' SELECT mark, changes_from::text FROM feed, shoal.crawl_notes WHERE crawl = $1',
      ),
      [crawl],
    )
    return row === undefined ? FROM_START : makeCursor(row[1], row[0])
  }

  async changesLag(query: LagQuery): Promise<ChangesLag> {
    const detail = await this.#known()
    const { text, values, name } = wanted(query, 2)
    const waiting = `FROM (SELECT * FROM shoal.records WHERE change > $1 ORDER BY change OFFSET 0) AS waiting WHERE true${text}`
    const [row] = await this.#pg.query<[string, string, number, number | null]>(
      statement(
        `changes-lag${name}`,
        detail,
        ` SELECT mark, beyond::text, (SELECT count(*)::float8 FROM (SELECT 1 ${waiting} LIMIT $2) AS counted),
          (SELECT ${millis('updated_at')} ${waiting} ORDER BY change LIMIT 1) FROM feed`,
      ),
      [positionIn(query.after), query.most, ...values],
    )
    const [mark, beyond, records, oldestAt] = row ?? ['', '0', 0, null]
    await this.#refuseForeign(query.after, { mark, beyond: BigInt(beyond) })
    return { records, oldestAt }
  }

  async claimOutlet({ name, spider, kinds, holder, forMs, epoch: renewed }: OutletClaim): Promise<OutletHold | null> {
    const detail = await this.#known()
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
        SELECT id, epoch::float8, position::text, mark FROM claimed, feed`,
      ),
      [name, spider, kinds, holder, forMs, renewed ?? null],
    )
    if (row === undefined) return null
    const [id, epoch, position, mark] = row
    return { id, epoch, cursor: cursorOf(position, mark) }
  }

  async releaseOutlet(name: string, holder: string): Promise<void> {
    const text = 'UPDATE shoal.outlets SET holder = NULL WHERE name = $1 AND holder = $2'
    await this.#pg.query({ name: 'release-outlet', text }, [name, holder])
  }

  async noteOutlet(name: string, holder: string, note: OutletNote): Promise<boolean> {
    const detail = await this.#known()
    const { cursor, sent, trimmed, error, stop } = note
    const [row] = await this.#pg.query<[string, string, number]>(
      statement(
        'note-outlet',
        detail,
        `, noted AS (
          UPDATE shoal.outlets SET position = $3, sent = sent + $4, sent_at = CASE WHEN $4 > 0 THEN clock_timestamp() ELSE sent_at END,
            trimmed = trimmed + $5, error = $6, stopped = $7
          FROM feed WHERE name = $1 AND holder = $2 AND ($8::text IS NULL OR (mark = $8 AND $3 < beyond)) RETURNING 1)
        SELECT mark, beyond::text, (SELECT count(*)::int FROM noted) FROM feed`,
      ),
      [name, holder, positionIn(cursor), sent, trimmed, error, stop, readCursor(cursor)?.mark ?? null],
    )
    const [mark, beyond, noted] = row ?? ['', '0', 0]
    await this.#refuseForeign(cursor, { mark, beyond: BigInt(beyond) })
    return noted === 1
  }

  async outlets(): Promise<OutletInfo[]> {
    const detail = await this.#known()
    const rows = await this.#pg.query<OutletColumns>(
      statement(
        'outlets',
        detail,
        ` SELECT mark, name, spider, kinds, position::text, CASE WHEN held_until > clock_timestamp() THEN holder END, sent::float8,
          ${millis('sent_at')}, trimmed::float8, error, stopped FROM feed, shoal.outlets ORDER BY name`,
      ),
      [],
    )
    return rows.map(([mark, name, spider, kinds, position, holder, sent, sentAt, trimmed, error, stopped]) => ({
      ...{ name, spider, kinds, cursor: cursorOf(position, mark), holder, sent, sentAt, trimmed, error, stopped },
    }))
  }

  async resetOutlet(name: string, spider: string, cursor: Cursor | null): Promise<void> {
    if (cursor !== null) await this.changesLag({ after: cursor, most: 0 })
    await this.#pg.query(
      {
        name: 'reset-outlet',
        text: `INSERT INTO shoal.outlets AS o (name, spider, position) VALUES ($1, $2, coalesce($3, -1))
          ON CONFLICT (name) DO UPDATE SET position = coalesce($3, o.position), error = NULL, stopped = false, holder = NULL`,
      },
      [name, spider, cursor === null ? null : positionIn(cursor)],
    )
  }

  /** It may be foreign because this is a restored dump, and nobody has opened it yet. Whether it could be followed shows at the next call. */
  async #refuseForeign(cursor: Cursor, { mark, beyond }: Feed): Promise<void> {
    const read = readCursor(cursor)
    if (read === null || (read.mark === mark && BigInt(read.position) < beyond)) return
    await followRestore(this.#pg).catch(() => {})
    throw foreignCursor()
  }

  /** Asked until it is answered for good. */
  #known(): Promise<Detail> {
    if (this.#detail !== null) return this.#detail
    const asked = tellsCluster(this.#pg).then(
      (tells): Detail => {
        if (tells === 'not yet') this.#detail = null
        return tells === 'yes' ? 'fine' : 'plain'
      },
      (error: unknown) => {
        this.#detail = null
        throw error
      },
    )
    this.#detail = asked
    return asked
  }
}

type OutletColumns = [
  ...[mark: string, name: string, spider: string, kinds: string[] | null, position: string, holder: string | null],
  ...[sent: number, sentAt: number | null, trimmed: number, error: string | null, stopped: boolean],
]

/**
 * A dump that was restored into another cluster has changes of larger numbers than the transactions there will have for a long time: those that
 * come are counted from behind the largest. So are those that were written there before this: whoever was at work goes on writing when its
 * database is replaced under it.
 */
export async function followRestore(pg: Pg): Promise<void> {
  const [known] = await pg.query<[boolean]>(IS_IN_PLACE, [])
  if (known?.[0] === true) return
  await pg.transaction(async (tx) => {
    await tx.query({ name: 'place-lock', text: `SELECT pg_advisory_xact_lock(hashtext('shoal place'))` }, [])
    const [found] = await tx.query<[boolean]>(IS_IN_PLACE, [])
    if (found?.[0] === true) return
    if (found !== undefined) {
      // Whoever writes now is waited for, and who comes next reads the new offset.
      await tx.query({ name: 'count-on-lock', text: 'LOCK TABLE shoal.records IN SHARE ROW EXCLUSIVE MODE' }, [])
      await tx.query(COUNT_ON, [])
    }
    await tx.query(NOTE_PLACE, [])
  })
}

/**
 * A row that holds the number of the transaction that wrote it, and of its table: both stay through an upgrade and on a standby, where numbers
 * go on, and become others in a dump, which is written anew. Every server tells it, and to everybody.
 */
const TABLE = `'shoal.settings'::regclass::oid`
const IS_IN_PLACE = {
  name: 'is-in-place',
  text: `SELECT value = concat_ws('/', xmin, ${TABLE}) FROM shoal.settings WHERE name = 'place'`,
}
const NOTE_PLACE = {
  name: 'note-place',
  text: `INSERT INTO shoal.settings (name, value) VALUES ('place', concat_ws('/', pg_current_xact_id()::xid, ${TABLE}))
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
}

/**
 * A row that was changed in this cluster has the number of a transaction after the restore (that of the settings), and was written by that
 * transaction or a later one; a row of the dump was written by the restore. Behind the largest number that anybody knows: places in the stream
 * may be far behind the last change. Tables of `shoal views` keep theirs in their comment.
 */
const COUNT_ON = {
  name: 'count-on',
  text: `WITH known AS MATERIALIZED (
      SELECT now, value::bigint AS past, age(xmin) AS restored,
        greatest(0, (SELECT max(change) FROM shoal.records), (SELECT max(position) FROM shoal.outlets),
          (SELECT max(changes_from) FROM shoal.crawl_notes),
          (SELECT max(substring(obj_description(oid, 'pg_class') FROM '"upTo":(\\d+)}$')::bigint) FROM pg_class
            WHERE relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'shoal.records'::regclass))) AS last
      FROM (SELECT pg_current_xact_id()::text::bigint AS now OFFSET 0) AS at, shoal.settings WHERE name = 'change_offset'
    ), counted AS (UPDATE shoal.settings SET value = last::text FROM known WHERE name = 'change_offset')
    UPDATE shoal.records AS r SET change = now + last FROM known
    WHERE change > past + now - restored AND change <= past + now AND age(r.xmin) <= past + now - change`,
}

/** Not allowed to ask, and nothing to ask. */
const NEVER_TOLD: ReadonlySet<string> = new Set(['42501', '42883'])
/** A standby has no timeline of its own until it takes over. */
const IN_RECOVERY = '55000'

/** Some managed servers never tell which cluster they are. */
async function tellsCluster(pg: Pg): Promise<'yes' | 'never' | 'not yet'> {
  try {
    await pg.query({ name: 'cluster', text: `SELECT ${CLUSTER}, ${TIMELINE}` }, [])
    return 'yes'
  } catch (error) {
    const state = sqlState(error instanceof ShoalError ? error.cause : error) ?? ''
    if (NEVER_TOLD.has(state)) return 'never'
    if (state === IN_RECOVERY) return 'not yet'
    throw error
  }
}

function positionIn(cursor: Cursor): string {
  return readCursor(cursor)?.position ?? '-1'
}

function cursorOf(position: string, mark: string): Cursor {
  return position === '-1' ? FROM_START : makeCursor(position, mark)
}
