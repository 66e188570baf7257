import type { SqliteDb, SqlValue } from '../../sqlite/db.js'
import { type EngineCall, forward, type SqliteEngine } from '../../sqlite/engine.js'
import type { Fingerprint, Link } from '../../url/link.js'
import type { Fetches, FetchRow, KnownPage } from '../record-store.js'
import { rowReader } from '../row-reader.js'
import { fpNumber } from './hashes.js'
import { IndexRuns, indexedUpTo } from './index-runs.js'
import type { InternedNames } from './names.js'

export interface KnownPagePart {
  readonly pages: KnownPage[]
  /** Where the scan continues; null at the end. */
  readonly next: number | null
}

export class SqliteFetches implements SqliteEngine {
  readonly reads: ReadonlySet<string> = new Set(['of', 'knownPages'])
  readonly index: IndexRuns
  readonly #sql: ReturnType<typeof statements>

  constructor(db: SqliteDb) {
    this.index = new IndexRuns(db, 'fetches', 'fetch_fps', 'fp')
    this.#sql = statements(db)
  }

  add(row: FetchRow, names: InternedNames): void {
    const { fp, at, url, host, status, bytes, ms, attempt, error, page, depth } = row
    this.#sql.add.run(
      fpNumber(fp),
      at,
      names.number(row.crawl),
      names.number(row.worker),
      url,
      host,
      status,
      bytes,
      ms,
      attempt,
      error,
      page,
      names.number(row.route),
      depth,
      row.link === null ? null : JSON.stringify(row.link),
      names.number(row.spider),
      row.gen,
      BigInt(row.epoch),
      row.headers === null ? null : JSON.stringify(row.headers),
      row.pool,
    )
  }

  of(query: { fp: Fingerprint; crawl?: string; limit: number }): FetchRow[] {
    return this.#sql.of.all(fpNumber(query.fp), query.crawl ?? null, query.limit).map((row) => {
      const { headers, link, ...fetch } = toFetch(row)
      return { fp: query.fp, ...fetch, link: linkOf(link), headers: headersOf(headers) }
    })
  }

  /** Those of the crawl among the next `limit` fetches after `after`. */
  knownPages(crawl: string, succeeded: boolean, after: number, limit: number): KnownPagePart {
    const pages = this.#sql.knownPages
      .all(after, limit, crawl, succeeded ? 1 : 0)
      .map(([fp, url, host, route, depth, link]) => ({
        ...{ fp: String(fp), url: String(url), host: String(host), route: String(route ?? '') },
        ...{ depth: Number(depth), link: linkOf(link) },
      }))
    return { pages, next: this.#lastOf(after, limit) }
  }

  /** Deletes those of the crawl among the next `limit` fetches after `after`; returns where to continue, or null at the end. */
  remove(crawl: string, after: number, limit: number): number | null {
    const sql = this.#sql
    const crawlId = sql.findName.get(crawl)?.[0]
    const last = this.#lastOf(after, limit)
    if (crawlId === undefined || last === null) return null
    sql.unindex.run(after, last, crawlId)
    sql.remove.run(after, last, crawlId)
    this.index.takeBack()
    return last
  }

  #lastOf(after: number, limit: number): number | null {
    const last = this.#sql.last.get(after, limit)?.[0]
    return last === undefined || last === null ? null : Number(last)
  }
}

const toFetch = rowReader<
  Omit<FetchRow, 'fp' | 'link' | 'headers'> & { readonly link: string | null; readonly headers: string | null }
>(
  ...(['crawl', 'worker', 'url', 'host', 'status', 'bytes', 'ms', 'attempt', 'error', 'page', 'at'] as const),
  ...(['route', 'depth', 'link', 'spider', 'gen', 'epoch', 'headers', 'pool'] as const),
)

export function fetchesOver(call: EngineCall<SqliteFetches>): Fetches {
  return forward(call, 'of')
}

function headersOf(text: string | null): FetchRow['headers'] {
  return text === null ? null : (JSON.parse(text) as FetchRow['headers'])
}

function linkOf(text: SqlValue | undefined): Link | null {
  return typeof text === 'string' ? (JSON.parse(text) as Link) : null
}

function statements(db: SqliteDb) {
  return {
    add: db.prepare(
      `INSERT INTO fetches (fp, at, crawl_id, worker_id, url, host, status, bytes, ms, attempt, error, page, route_id, depth, link,
         spider_id, gen, epoch, headers, pool)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    // Grouped, because a repeated write logs its fetches again: removing doubles here is cheaper than a search before each insert.
    of: db.prepare(
      `SELECT c.name, w.name, f.url, f.host, f.status, f.bytes, f.ms, f.attempt, f.error, f.page, f.at, r.name, f.depth, f.link,
         s.name, f.gen, CAST(f.epoch AS TEXT), f.headers, f.pool
       FROM fetches f CROSS JOIN names c ON c.id = f.crawl_id CROSS JOIN names w ON w.id = f.worker_id
       CROSS JOIN names r ON r.id = f.route_id CROSS JOIN names s ON s.id = f.spider_id
       WHERE f.id IN (SELECT id FROM fetch_fps WHERE fp = ?1
         UNION ALL SELECT id FROM fetches WHERE id > ${indexedUpTo('fetches')} AND fp = ?1)
         AND (?2 IS NULL OR c.name = ?2)
       GROUP BY f.at, f.crawl_id, f.worker_id, f.url, f.host, f.status, f.bytes, f.ms, f.attempt, f.error, f.page
       ORDER BY f.at DESC, min(f.id) DESC LIMIT ?3`,
    ),
    // The subquery is a page of the table by its key: rows of other crawls are read and skipped, and no index is needed.
    knownPages: db.prepare(
      `SELECT printf('%016x', f.fp), f.url, f.host, r.name, f.depth, f.link
       FROM (SELECT * FROM fetches WHERE id > ?1 ORDER BY id LIMIT ?2) f CROSS JOIN names r ON r.id = f.route_id
       WHERE f.crawl_id = (SELECT id FROM names WHERE name = ?3) AND (f.error IS NULL AND (f.status < 300 OR f.status = 304)) = ?4 ORDER BY f.id`,
    ),
    last: db.prepare('SELECT max(id) FROM (SELECT id FROM fetches WHERE id > ? ORDER BY id LIMIT ?)'),
    findName: db.prepare('SELECT id FROM names WHERE name = ?'),
    unindex: db.prepare(
      `DELETE FROM fetch_fps WHERE (fp, id) IN (SELECT fp, id FROM fetches WHERE id > ?1 AND id <= ?2 AND crawl_id = ?3)`,
    ),
    remove: db.prepare('DELETE FROM fetches WHERE id > ?1 AND id <= ?2 AND crawl_id = ?3'),
  }
}
