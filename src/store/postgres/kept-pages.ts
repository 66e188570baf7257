import type { KeptPage, KeptPageCursor, KeptPagePart, KeptPageQuery } from '../kept-pages.js'
import { type FetchColumns, toFetch } from './fetch-rows.js'
import type { Pg, SqlStatement } from './pg.js'
import { FETCH_VALUES, millis } from './read-statements.js'

/** Fetches looked at in one call, those without a page among them: a call takes some ten milliseconds however few there are. */
const LOOKED_AT = 5000
const BEFORE_ALL = { at: -62_000_000_000_000, id: '0' }

interface Place {
  readonly at: number
  readonly id: string
}

export async function keptPages(
  pg: Pg,
  query: KeptPageQuery,
  after: KeptPageCursor | null,
  limit: number,
): Promise<KeptPagePart> {
  type Row = [lastAt: number, lastId: string, id: string | null, fp: string, ...fetch: FetchColumns]
  const { statement, values } = scan('pages', query, placeIn(after), limit)
  const rows = await pg.query<Row>(statement, values)
  const pages: KeptPage[] = []
  let next: Place | null = null
  for (const [lastAt, lastId, id, fp, ...columns] of rows) {
    next = { at: lastAt, id: lastId }
    // A part of the scan that has no page gives one row without any.
    if (id === null) continue
    const fetch = toFetch(columns as unknown as FetchColumns, fp)
    if (fetch.page !== null) pages.push({ ...fetch, page: fetch.page })
    if (pages.length === limit) next = { at: fetch.at, id }
  }
  return { pages, next: next === null ? null : cursorOf(next) }
}

export async function countKeptPages(pg: Pg, query: KeptPageQuery): Promise<number> {
  let total = 0
  for (let after: Place | null = BEFORE_ALL; after !== null; ) {
    const { statement, values } = scan('count', query, after, 0)
    const [row]: [number, string, number][] = await pg.query(statement, values)
    total += row?.[2] ?? 0
    after = row === undefined ? null : { at: row[0], id: row[1] }
  }
  return total
}

/**
 * The next fetches by their time, and what they give: where they end, and the pages among them or how many these are. Only what is asked
 * for stands in the statement, so that the server plans for nothing else.
 */
function scan(
  what: 'pages' | 'count',
  { spider, crawl, route, since, before, newestOnly }: KeptPageQuery,
  after: Place,
  limit: number,
): { statement: SqlStatement; values: unknown[] } {
  const values: unknown[] = []
  const place = (value: unknown) => `$${values.push(value)}`
  const moment = (value: number) => `to_timestamp(${place(value)}::float8 / 1000)`
  const name: string[] = ['kept', what]
  const competing = [`spider = ${place(spider)}`, 'page IS NOT NULL']
  const asked: string[] = []
  const range: string[] = []
  const given = (word: string, filters: string[], filter: string) => {
    name.push(word)
    filters.push(filter)
  }
  if (crawl !== undefined) given('crawl', competing, `crawl = ${place(crawl)}`)
  if (before !== undefined) given('before', competing, `at < ${moment(before)}`)
  if (route !== undefined) given('route', asked, `f.route = ${place(route)}`)
  // Left out of the scan, and still newer than what they are newer than.
  if (since !== undefined) given('since', range, `at >= ${moment(since)}`)
  if (newestOnly) {
    const newer = `g.fp = f.fp AND (g.gen, g.epoch, g.at, g.id) > (f.gen, f.epoch, f.at, f.id)`
    given('newest', asked, `NOT EXISTS (SELECT 1 FROM shoal.fetches g WHERE ${newer} AND ${of('g', competing)})`)
  }
  const from = moment(after.at)
  // The first of the two leaves out partitions, the second the rows of one moment that were seen.
  range.push(`at >= ${from}`, `(at, id) > (${from}, ${place(after.id)}::bigint)`)
  if (before !== undefined) range.push(`at < ${moment(before)}`)
  const looked = `SELECT * FROM shoal.fetches WHERE ${range.join(' AND ')} ORDER BY at, id LIMIT ${LOOKED_AT}`
  const found = `FROM looked f WHERE ${[of('f', competing), ...asked].join(' AND ')}`
  const part =
    what === 'count'
      ? `SELECT count(*)::float8 AS pages ${found}`
      : `SELECT id, lpad(to_hex(fp), 16, '0'), ${FETCH_VALUES} ${found} ORDER BY f.at, f.id LIMIT ${place(limit)}`
  const text = `WITH looked AS MATERIALIZED (${looked}), last AS (SELECT at, id FROM looked ORDER BY at DESC, id DESC LIMIT 1)
    SELECT ${millis('last.at')}, last.id, given.* FROM last LEFT JOIN LATERAL (${part}) AS given ON true`
  return { statement: { name: name.join(' '), text }, values }
}

function of(row: string, filters: readonly string[]): string {
  return filters.map((filter) => `${row}.${filter}`).join(' AND ')
}

function cursorOf({ at, id }: Place): KeptPageCursor {
  return `${at} ${id}`
}

function placeIn(cursor: KeptPageCursor | null): Place {
  if (cursor === null) return BEFORE_ALL
  const [at = '', id = ''] = cursor.split(' ')
  return { at: Number(at), id }
}
