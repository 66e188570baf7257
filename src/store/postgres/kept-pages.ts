import type { KeptPage, KeptPageCursor, KeptPagePart, KeptPageQuery, KeptPages } from '../kept-pages.js'
import { FETCH_VALUES, toFetch } from './fetches.js'
import type { Pg, SqlStatement } from './pg.js'
import { millis } from './read-statements.js'

/** Fetches read in one call, those without a page among them: a call takes some ten milliseconds however few match. */
const READ_AT_ONCE = 5000
const BEFORE_ALL = -62_000_000_000_000
const LAST_ID = '9223372036854775807'

interface Place {
  readonly at: number
  readonly id: string
}

export class PostgresKeptPages implements KeptPages {
  readonly #pg: Pg

  constructor(pg: Pg) {
    this.#pg = pg
  }

  async part(query: KeptPageQuery, after: KeptPageCursor | null, limit: number): Promise<KeptPagePart> {
    const { statement, values } = scan('pages', query, after === null ? firstPlace(query) : placeIn(after), limit)
    const rows = await this.#pg.query<unknown[]>(statement, values)
    const pages: KeptPage[] = []
    let next: Place | null = null
    for (const row of rows) {
      next = { at: row[0] as number, id: row[1] as string }
      const id = row[2] as string | null
      // A part of the scan that has no page gives one row without any.
      if (id === null) continue
      const fetch = toFetch(row, row[3] as string, 4) as KeptPage
      pages.push(fetch)
      if (pages.length === limit) next = { at: fetch.at, id }
    }
    return { pages, next: next === null ? null : cursorOf(next) }
  }

  async count(query: KeptPageQuery): Promise<number> {
    let total = 0
    for (let after: Place | null = firstPlace(query); after !== null; ) {
      const { statement, values } = scan('count', query, after, 0)
      const [row]: [number, string, number][] = await this.#pg.query(statement, values)
      total += row?.[2] ?? 0
      after = row === undefined ? null : { at: row[0], id: row[1] }
    }
    return total
  }
}

/**
 * The next fetches by their time, and what they give: where they end, and the pages among them or how many these are. Only what is asked
 * for is in the statement, so that the server plans for nothing else.
 */
function scan(
  what: 'pages' | 'count',
  { spider, crawl, route, before, newestOnly }: KeptPageQuery,
  after: Place,
  limit: number,
): { statement: SqlStatement; values: unknown[] } {
  const values: unknown[] = []
  const place = (value: unknown) => `$${values.push(value)}`
  const moment = (value: number) => `to_timestamp(${place(value)}::float8 / 1000)`
  const name: string[] = ['kept', what]
  const competing = [`spider = ${place(spider)}`, 'page IS NOT NULL']
  const asked: string[] = []
  const given = (word: string, filters: string[], filter: string) => {
    name.push(word)
    filters.push(filter)
  }
  if (crawl !== undefined) given('crawl', competing, `crawl = ${place(crawl)}`)
  if (before !== undefined) given('before', competing, `at < ${moment(before)}`)
  if (route !== undefined) given('route', asked, `f.route = ${place(route)}`)
  if (newestOnly) {
    const newer = `g.fp = f.fp AND (g.gen, g.epoch, g.at, g.id) > (f.gen, f.epoch, f.at, f.id)`
    given('newest', asked, `NOT EXISTS (SELECT 1 FROM shoal.fetches g WHERE ${newer} AND ${of('g', competing)})`)
  }
  // This bound and no other: with a second one the server expects a few rows in between, reads all of them and sorts.
  const range = `(at, id) > (${moment(after.at)}, ${place(after.id)}::bigint)`
  const fetches = `SELECT * FROM shoal.fetches WHERE ${range} ORDER BY at, id LIMIT ${READ_AT_ONCE}`
  const found = `FROM next f WHERE ${[of('f', competing), ...asked].join(' AND ')}`
  const part =
    what === 'count'
      ? `SELECT count(*)::float8 AS pages ${found}`
      : `SELECT id, lpad(to_hex(fp), 16, '0'), ${FETCH_VALUES} ${found} ORDER BY f.at, f.id LIMIT ${place(limit)}`
  const text = `WITH next AS MATERIALIZED (${fetches}), last AS (SELECT at, id FROM next ORDER BY at DESC, id DESC LIMIT 1)
    SELECT ${millis('last.at')}, last.id, given.* FROM last LEFT JOIN LATERAL (${part}) AS given ON true`
  return { statement: { name: name.join(' '), text }, values }
}

function of(row: string, filters: readonly string[]): string {
  return filters.map((filter) => `${row}.${filter}`).join(' AND ')
}

function cursorOf({ at, id }: Place): KeptPageCursor {
  return `${at} ${id}`
}

/** Pages before `since` are left out of the scan, and still newer than what they are newer than. */
function firstPlace({ since = BEFORE_ALL }: KeptPageQuery): Place {
  return { at: since - 1, id: LAST_ID }
}

function placeIn(cursor: KeptPageCursor): Place {
  const [at = '', id = ''] = cursor.split(' ')
  return { at: Number(at), id }
}
