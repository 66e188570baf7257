import type { SqlStatement } from './pg.js'

/** Milliseconds, as everywhere outside Postgres. */
export const millis = (column: string) => `(extract(epoch FROM ${column}) * 1000)::float8`

export const RECORD_COLUMNS = `spider, site, kind, key, url, data, crawl, ${millis('scraped_at')}, ${millis('first_seen_at')}, ${millis('updated_at')}`

/** Where a scan of records goes on: after this row. */
export interface RecordPlace {
  readonly kind: string
  readonly key: string
  readonly site: string
  readonly updatedAt: number
}

/**
 * One page of a spider's records. Only what is asked for stands in the statement: with `$2 IS NULL OR kind = $2` the server would plan for
 * both and read the whole table.
 */
export function recordsPage(
  spider: string,
  query: { kind?: string; site?: string; key?: string; url?: string; since?: number },
  after: RecordPlace,
  limit: number,
): { statement: SqlStatement; values: unknown[] } {
  const values: unknown[] = []
  const place = (value: unknown) => `$${values.push(value)}`
  const filters = [`spider = ${place(spider)}`]
  const asked = Object.entries(query).filter(([, value]) => value !== undefined)
  for (const [column, value] of asked) {
    filters.push(column === 'since' ? `updated_at >= ${moment(place(value))}` : `${column} = ${place(value)}`)
  }
  const byTime = query.since !== undefined && query.url === undefined && query.key === undefined
  const order = `${byTime ? 'updated_at, ' : ''}kind, key, site`
  const from = [byTime ? [moment(place(after.updatedAt))] : [], [after.kind, after.key, after.site].map(place)].flat()
  const text = `SELECT ${RECORD_COLUMNS} FROM ${sourceOf(filters, query)} WHERE (${order}) > (${from.join(', ')}) ORDER BY ${order} LIMIT ${place(limit)}`
  return { statement: { name: `records ${asked.map(([column]) => column).join(' ')}`, text }, values }
}

/** The few rows of one URL are found first: before a LIMIT the planner would rather walk the primary key until it meets one. */
function sourceOf(filters: readonly string[], { url }: { url?: string }): string {
  const rows = `SELECT * FROM shoal.records WHERE ${filters.join(' AND ')}`
  return `(${rows}${url === undefined ? '' : ' OFFSET 0'}) AS asked`
}

const moment = (value: string) => `to_timestamp(${value}::float8 / 1000)`

export const SPIDERS: SqlStatement = {
  name: 'spiders',
  text: 'SELECT DISTINCT spider FROM shoal.record_counts ORDER BY spider',
}

export const KINDS: SqlStatement = {
  name: 'kinds',
  text: 'SELECT DISTINCT kind FROM shoal.record_counts WHERE spider = $1 ORDER BY kind',
}

export const COUNTS: SqlStatement = {
  name: 'counts',
  text: `SELECT spider, kind, sum(records)::float8, sum(rejected)::float8, sum(fresh)::float8, sum(unchanged)::float8 FROM shoal.record_counts
    WHERE ($1::text IS NULL OR spider = $1) AND ($2::text IS NULL OR crawl = $2)
    GROUP BY spider, kind HAVING sum(records) + sum(rejected) + sum(fresh) + sum(unchanged) > 0 ORDER BY spider, kind`,
}

export const REJECTED: SqlStatement = {
  name: 'rejected',
  text: `SELECT id::float8, spider, site, kind, key, url, data, issues, reason, crawl, ${millis('scraped_at')} FROM shoal.rejected
    WHERE ($1::text IS NULL OR spider = $1) AND ($2::text IS NULL OR kind = $2) AND id < $3 ORDER BY id DESC LIMIT $4`,
}

const rejectedByField = (rows: string) =>
  `SELECT r.kind, issue ->> 'field' COLLATE "C" AS field, count(*)::float8 FROM shoal.rejected r, jsonb_array_elements(r.issues) issue
    WHERE ${rows} AND r.reason = 'invalid' GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2`

export const REJECTED_BY_FIELD: SqlStatement = { name: 'rejected-by-field', text: rejectedByField('r.spider = $1') }

export const REJECTED_OF_CRAWL: SqlStatement = {
  name: 'rejected-of-crawl',
  text: rejectedByField('r.spider = $1 AND r.crawl = $2'),
}

const FETCH_COLUMNS = `spider, crawl, gen, epoch, url, host, route, depth, link, status, bytes, ms, attempt, worker, error, page, headers, pool, at`
/** Without the fingerprint, which whoever asks knows. */
export const FETCH_VALUES = `spider, crawl, gen::float8, epoch, url, host, route, depth, link, status, bytes::float8, ms, attempt, worker, error, page,
  headers, pool, ${millis('at')}`

/** Grouped, because a repeated write logs its fetches again: looking twice here is cheaper than looking before each insert. */
export const FETCHES: SqlStatement = {
  name: 'fetches',
  text: `SELECT ${FETCH_VALUES} FROM shoal.fetches WHERE fp = $1 AND ($2::text IS NULL OR crawl = $2)
    GROUP BY ${FETCH_COLUMNS} ORDER BY at DESC, min(id) DESC LIMIT $3`,
}

/** Fetches looked at in one call, those of other crawls among them: a call takes some ten milliseconds however few are found. */
const LOOKED_AT = 5_000
/**
 * The next fetches of the log by their time, of whichever crawl: no index leads to the fetches of one crawl, and a statement that looked for
 * so many of its own would read years of others. $2 and $3: the row the scan saw last.
 */
const LOOKED = `looked AS MATERIALIZED (
      SELECT * FROM shoal.fetches WHERE (at, id) > (to_timestamp($2::float8 / 1000), $3::bigint) ORDER BY at, id LIMIT ${LOOKED_AT}
    ), last AS (SELECT at, id FROM looked ORDER BY at DESC, id DESC LIMIT 1)`

/** Each row with where the look ended; one without a page where there is none. $4: whether it went well. */
export const KNOWN_PAGES: SqlStatement = {
  name: 'known-pages',
  text: `WITH ${LOOKED}
    SELECT ${millis('last.at')}, last.id, lpad(to_hex(f.fp), 16, '0'), f.url, f.host, f.route, f.depth, f.link FROM last
    LEFT JOIN looked f ON f.crawl = $1 AND (f.error IS NULL AND (f.status < 300 OR f.status = 304)) = $4 ORDER BY f.at, f.id`,
}

/** Gives where the look ended. */
export const REMOVE_FETCHES: SqlStatement = {
  name: 'remove-fetches',
  text: `WITH ${LOOKED}, gone AS (
      DELETE FROM shoal.fetches f USING looked l WHERE l.crawl = $1 AND f.at = l.at AND f.id = l.id
    ) SELECT ${millis('at')}, id FROM last`,
}
