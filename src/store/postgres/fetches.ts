import type { CrawlId } from '../../frontier/frontier.js'
import type { Fingerprint, Link } from '../../url/link.js'
import type { Fetches, FetchRow } from '../record-store.js'
import { signed } from './array-text.js'
import type { Pg, SqlStatement } from './pg.js'
import { millis } from './read-statements.js'

const FETCH_COLUMNS = `spider, crawl, gen, epoch, url, host, route, depth, link, status, bytes, ms, attempt, worker, error, page, headers, pool, at`
/** Without the fingerprint, which the caller knows. */
export const FETCH_VALUES = `spider, crawl, gen::float8, epoch, url, host, route, depth, link, status, bytes::float8, ms, attempt, worker, error, page,
  headers, pool, ${millis('at')}`

/** Grouped, because a repeated write logs its fetches again: removing doubles here is cheaper than a search before each insert. */
const OF_URL: SqlStatement = {
  name: 'fetches',
  text: `SELECT ${FETCH_VALUES} FROM shoal.fetches WHERE fp = $1 AND ($2::text IS NULL OR crawl = $2)
    GROUP BY ${FETCH_COLUMNS} ORDER BY at DESC, min(id) DESC LIMIT $3`,
}

export class PostgresFetches implements Fetches {
  readonly #pg: Pg

  constructor(pg: Pg) {
    this.#pg = pg
  }

  async of(query: { fp: Fingerprint; crawl?: CrawlId; limit: number }): Promise<FetchRow[]> {
    const rows = await this.#pg.query<unknown[]>(OF_URL, [signed(query.fp), query.crawl ?? null, query.limit])
    return rows.map((row) => toFetch(row, query.fp))
  }
}

/** A row of FETCH_VALUES, which begin at `from`. By place: taking a row of twenty apart by a pattern costs 20 µs. */
export function toFetch(row: readonly unknown[], fp: Fingerprint, from = 0): FetchRow {
  return {
    spider: row[from] as string,
    crawl: row[from + 1] as string,
    gen: row[from + 2] as number,
    epoch: row[from + 3] as string,
    fp,
    url: row[from + 4] as string,
    host: row[from + 5] as string,
    route: row[from + 6] as string,
    depth: row[from + 7] as number,
    link: row[from + 8] as Link | null,
    status: row[from + 9] as number,
    bytes: row[from + 10] as number,
    ms: row[from + 11] as number,
    attempt: row[from + 12] as number,
    worker: row[from + 13] as string,
    error: row[from + 14] as string | null,
    page: row[from + 15] as string | null,
    headers: row[from + 16] as FetchRow['headers'],
    pool: row[from + 17] as string | null,
    at: row[from + 18] as number,
  }
}
