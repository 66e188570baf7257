import { ShoalError } from '../../errors.js'
import type { CrawlId } from '../../frontier/frontier.js'
import {
  type ChangePage,
  type ChangeQuery,
  type Changes,
  type ChangesLag,
  type Cursor,
  FROM_START,
  foreignCursor,
  type LagQuery,
  makeCursor,
  readCursor,
} from '../changes.js'
import { followRestore } from './follow-restore.js'
import type { Pg } from './pg.js'
import { sqlState } from './pg-errors.js'
import { millis, RECORD_COLUMNS, type RecordColumns, toRecord } from './read-statements.js'

/**
 * The place of a change is the number of its transaction, and only numbers below every transaction still in progress are read: one that
 * commits late comes after every cursor. So a transaction that writes for an hour, anywhere in the cluster, holds the stream back for an
 * hour.
 *
 * The mark of a cursor is a hash of what changes when numbers may be given out again: the database, the cluster, and its timeline, which ends with
 * each failover and each recovery to a point in time. Positions of outlets are kept without it: they went back together with the records.
 */
const OFFSET = `(SELECT value::bigint FROM shoal.settings WHERE name = 'change_offset')`

/** Rows read in one call, whether they match or not. */
const READ_AT_ONCE = 2_000

/** `fine` uses functions that some managed servers do not allow. */
type Detail = 'fine' | 'plain'

const CLUSTER = '(SELECT system_identifier::text FROM pg_control_system())'
const TIMELINE = 'substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)'

/** mark, the end of what may be read, and the first number that no change has reached. */
function stream(detail: Detail): string {
  const parts = [
    `(SELECT value FROM shoal.settings WHERE name = 'identity')`,
    '(SELECT oid::text FROM pg_database WHERE datname = current_database())',
    ...(detail === 'fine' ? [CLUSTER, TIMELINE] : []),
  ]
  return `stream AS MATERIALIZED (
    SELECT left(md5(concat_ws('/', ${parts.join(', ')})), 16) AS mark, shoal.changes_end() AS upto,
      pg_snapshot_xmax(pg_current_snapshot())::text::bigint + ${OFFSET} AS unused)`
}

/**
 * The rows that follow position $1, in order. The filters come after it, and the end of what may be read too: with any of them inside, the planner
 * takes another index, or this one in the order of the table, and sorts all that is left for each page.
 */
const NEXT = `(SELECT * FROM shoal.records WHERE change > $1 ORDER BY change FETCH FIRST ${READ_AT_ONCE} ROWS WITH TIES) AS next`

export const statement = (name: string, detail: Detail, text: string) => ({
  name: `${name} ${detail}`,
  text: `WITH ${stream(detail)}${text}`,
})

/** Only what is asked for is in the statement, so that the server plans for that alone. $1 is the position. */
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

interface Stream {
  readonly mark: string
  readonly unused: bigint
}

export class PostgresChanges implements Changes {
  readonly #pg: Pg
  #detail: Promise<Detail> | null = null

  constructor(pg: Pg) {
    this.#pg = pg
  }

  async read(query: ChangeQuery): Promise<ChangePage> {
    const { after, limit } = query
    const detail = await this.detail()
    const { text, values, name } = wanted(query, 2)
    const rows = await this.#pg.query<[string, string, string, string | null, string | null, ...RecordColumns]>(
      statement(
        `changes${name}`,
        detail,
        `, looked AS MATERIALIZED (
          SELECT max(change) FILTER (WHERE change <= upto) AS last, count(*) FILTER (WHERE change <= upto) >= ${READ_AT_ONCE} AS more
          FROM ${NEXT}, stream
        ), page AS MATERIALIZED (
          SELECT * FROM ${NEXT} WHERE change <= (SELECT upto FROM stream)${text} ORDER BY change FETCH FIRST $2 ROWS WITH TIES)
        SELECT mark, unused::text, upto::text, CASE WHEN more THEN last END::text, change::text, ${RECORD_COLUMNS}
        FROM stream CROSS JOIN looked LEFT JOIN page ON true ORDER BY page.change`,
      ),
      [positionIn(after), limit, ...values],
    )
    const [[mark, unused, upto, lookedAt] = ['', '0', '0', null]] = rows
    await this.refuseForeign(after, { mark, unused: BigInt(unused) })
    const records: ChangePage['records'] = []
    let last: string | null = null
    for (const [, , , , change, ...columns] of rows) {
      if (change === null) continue
      records.push(toRecord(columns))
      last = change
    }
    const full = records.length >= limit
    const position = full ? (last ?? upto) : (lookedAt ?? upto)
    // While a transaction is in progress the end does not move, and may be before a cursor that was returned earlier.
    const moved = BigInt(position) > BigInt(positionIn(after))
    return { records, cursor: moved ? makeCursor(position, mark) : after, more: full || lookedAt !== null }
  }

  async end(): Promise<Cursor> {
    const detail = await this.detail()
    const [[mark, upto] = ['', '0']] = await this.#pg.query<[string, string]>(
      statement('changes-end', detail, ' SELECT mark, upto::text FROM stream'),
      [],
    )
    return makeCursor(upto, mark)
  }

  async startOf(crawl: CrawlId): Promise<Cursor> {
    const detail = await this.detail()
    const [row] = await this.#pg.query<[string, string]>(
      statement(
        'changes-of-crawl',
        detail,
        ' SELECT mark, changes_from::text FROM stream, shoal.crawl_notes WHERE crawl = $1',
      ),
      [crawl],
    )
    return row === undefined ? FROM_START : makeCursor(row[1], row[0])
  }

  async lag(query: LagQuery): Promise<ChangesLag> {
    const detail = await this.detail()
    const { text, values, name } = wanted(query, 2)
    const waiting = `FROM (SELECT * FROM shoal.records WHERE change > $1 ORDER BY change OFFSET 0) AS waiting WHERE true${text}`
    const [row] = await this.#pg.query<[string, string, number, number | null]>(
      statement(
        `changes-lag${name}`,
        detail,
        ` SELECT mark, unused::text, (SELECT count(*)::float8 FROM (SELECT 1 ${waiting} LIMIT $2) AS counted),
          (SELECT ${millis('updated_at')} ${waiting} ORDER BY change LIMIT 1) FROM stream`,
      ),
      [positionIn(query.after), query.most, ...values],
    )
    const [mark, unused, records, oldestAt] = row ?? ['', '0', 0, null]
    await this.refuseForeign(query.after, { mark, unused: BigInt(unused) })
    return { records, oldestAt }
  }

  /** It may be foreign because this is a restored dump, and nobody has opened it yet. Whether it could be followed shows at the next call. */
  async refuseForeign(cursor: Cursor, { mark, unused }: Stream): Promise<void> {
    const read = readCursor(cursor)
    if (read === null || (read.mark === mark && BigInt(read.position) < unused)) return
    await followRestore(this.#pg).catch(() => {})
    throw foreignCursor()
  }

  /** Asked until it is answered for good. */
  detail(): Promise<Detail> {
    if (this.#detail !== null) return this.#detail
    const asked = showsCluster(this.#pg).then(
      (shown): Detail => {
        if (shown === 'not yet') this.#detail = null
        return shown === 'yes' ? 'fine' : 'plain'
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

/** Not allowed to ask, and nothing to ask. */
const NEVER_SHOWN: ReadonlySet<string> = new Set(['42501', '42883'])
/** A standby has no timeline of its own until it takes over. */
const IN_RECOVERY = '55000'

/** Some managed servers never reveal which cluster they are. */
async function showsCluster(pg: Pg): Promise<'yes' | 'never' | 'not yet'> {
  try {
    await pg.query({ name: 'cluster', text: `SELECT ${CLUSTER}, ${TIMELINE}` }, [])
    return 'yes'
  } catch (error) {
    const state = sqlState(error instanceof ShoalError ? error.cause : error) ?? ''
    if (NEVER_SHOWN.has(state)) return 'never'
    if (state === IN_RECOVERY) return 'not yet'
    throw error
  }
}

export function positionIn(cursor: Cursor): string {
  return readCursor(cursor)?.position ?? '-1'
}
