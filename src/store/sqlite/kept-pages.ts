import type { SqliteDb, SqlValue } from '../../sqlite/db.js'
import type { EngineCall, SqliteEngine } from '../../sqlite/engine.js'
import type { Link } from '../../url/link.js'
import { compareLease } from '../judge.js'
import type { KeptPage, KeptPageQuery, KeptPages } from '../kept-pages.js'
import type { FetchRow } from '../record-store.js'
import { rowReader } from '../row-reader.js'
import { indexedUpTo } from './index-runs.js'
import type { SqliteWriter } from './writer.js'

/** Fetches read in one call: other callers wait a few milliseconds. */
const READ_AT_ONCE = 5000

/** Places of a row that hold names. */
const CRAWL = 5
const WORKER = 6
const ROUTE = 9

/** Rows for `toKept`; the scan continues after the id `next`, or is at its end (null). */
interface KeptPageRows {
  readonly rows: SqlValue[][]
  readonly next: number | null
}

interface KeptPageCount {
  readonly count: number
  readonly next: number | null
}

/** The scan goes through the table by its key, so that rows without a page are read and skipped, and no index is needed. */
export class SqliteKeptPages implements SqliteEngine {
  readonly reads: ReadonlySet<string> = new Set(['page', 'count'])
  readonly #sql: ReturnType<typeof statements>

  constructor(db: SqliteDb) {
    this.#sql = statements(db)
  }

  page(query: KeptPageQuery, after: number, limit: number): KeptPageRows {
    const rows = this.#sql.pages.all(...asParams(query), after, READ_AT_ONCE, limit)
    const next = rows.length === limit ? Number(rows.at(-1)?.[0]) : this.#lastRead(after)
    const newest = this.#newest(query, rows)
    const names = new Map<SqlValue | undefined, string>()
    for (const row of newest) for (const place of [CRAWL, WORKER, ROUTE]) row[place] = this.#name(names, row[place])
    return { rows: newest, next }
  }

  #name(known: Map<SqlValue | undefined, string>, id: SqlValue | undefined): string {
    let name = known.get(id)
    if (name === undefined) {
      name = String(this.#sql.name.get(id ?? null)?.[0] ?? '')
      known.set(id, name)
    }
    return name
  }

  count(query: KeptPageQuery, after: number): KeptPageCount {
    const next = this.#lastRead(after)
    if (!query.newestOnly)
      return { count: Number(this.#sql.count.get(...asParams(query), after, READ_AT_ONCE, 1)?.[0]), next }
    const rows = this.#sql.leases.all(...asParams(query), after, READ_AT_ONCE, READ_AT_ONCE)
    return { count: this.#newest(query, rows).length, next }
  }

  #lastRead(after: number): number | null {
    const last = this.#sql.last.get(after, READ_AT_ONCE)?.[0]
    return last === undefined || last === null ? null : Number(last)
  }

  /** The statements have compared with all that is in the index of fingerprints; here with the fetches that came after. */
  #newest(query: KeptPageQuery, rows: SqlValue[][]): SqlValue[][] {
    if (!query.newestOnly || rows.length === 0) return rows
    const fps = JSON.stringify(rows.map(([, fp]) => fp))
    const newest = new Map<SqlValue | undefined, Reading>()
    for (const row of this.#sql.late.all(...asParams(query), fps)) {
      const late = toReading(row)
      const known = newest.get(late.fp)
      if (known === undefined || compareReadings(late, known) > 0) newest.set(late.fp, late)
    }
    if (newest.size === 0) return rows
    return rows.filter((row) => {
      const late = newest.get(row[1])
      return late === undefined || compareReadings(late, toReading(row)) <= 0
    })
  }
}

export function keptPagesOver(call: EngineCall<SqliteKeptPages>, writer: EngineCall<SqliteWriter>): KeptPages {
  return {
    async part(query, after, limit) {
      if (after === null) await writer('fillIndexes')
      const { rows, next } = await call('page', query, after === null ? 0 : Number(after), limit)
      return { pages: rows.map((row) => toKept(row, query.spider)), next: next === null ? null : String(next) }
    },
    async count(query) {
      let total = 0
      for (let after: number | null = 0; after !== null; ) {
        const { count, next }: KeptPageCount = await call('count', query, after)
        total += count
        after = next
      }
      return total
    },
  }
}

interface Reading {
  readonly id: number
  readonly fp: string
  readonly gen: number
  readonly epoch: string
  readonly at: number
}

function compareReadings(a: Reading, b: Reading): number {
  return compareLease(a, b) || a.at - b.at || a.id - b.id
}

/** ?1–?6. */
function asParams(query: KeptPageQuery): SqlValue[] {
  const { spider, crawl = null, route = null, since = null, before = null, newestOnly } = query
  return [spider, crawl, before, route, since, newestOnly ? 1 : 0]
}

function statements(db: SqliteDb) {
  const named = (param: string) => `(SELECT id FROM names WHERE name = ${param})`
  const competes = (row: string) =>
    `${row}.page IS NOT NULL AND ${row}.spider_id = ${named('?1')} AND (?2 IS NULL OR ${row}.crawl_id = ${named('?2')})
     AND (?3 IS NULL OR ${row}.at < ?3)`
  const reading = (row: string) =>
    `${row}.id, printf('%016x', ${row}.fp), ${row}.gen, CAST(${row}.epoch AS TEXT), ${row}.at`
  const scan = (columns: string) =>
    db.prepare(
      `SELECT ${columns} FROM (SELECT * FROM fetches WHERE id > ?7 ORDER BY id LIMIT ?8) f
       WHERE ${competes('f')} AND (?4 IS NULL OR f.route_id = ${named('?4')}) AND (?5 IS NULL OR f.at >= ?5)
         AND (?6 = 0 OR NOT EXISTS (
           SELECT 1 FROM fetch_fps i CROSS JOIN fetches g ON g.id = i.id
           WHERE i.fp = f.fp AND i.id <> f.id AND ${competes('g')} AND (g.gen, g.epoch, g.at, g.id) > (f.gen, f.epoch, f.at, f.id)))
       ORDER BY f.id LIMIT ?9`,
    )
  return {
    // Names by number: a few of them serve thousands of rows.
    pages: scan(
      `${reading('f')}, f.crawl_id, f.worker_id, f.url, f.host, f.route_id, f.depth, f.link, f.status, f.bytes, f.ms, f.attempt, f.error,
       f.page, f.headers, f.pool`,
    ),
    name: db.prepare('SELECT name FROM names WHERE id = ?'),
    leases: scan(reading('f')),
    count: scan('count(*)'),
    last: db.prepare('SELECT max(id) FROM (SELECT id FROM fetches WHERE id > ? ORDER BY id LIMIT ?)'),
    // ?4–?6 are for the scans.
    late: db.prepare(
      `SELECT ${reading('g')} FROM fetches g
       WHERE g.id > ${indexedUpTo('fetches')} AND ${competes('g')}
         AND printf('%016x', g.fp) IN (SELECT value FROM json_each(?7))`,
    ),
  }
}

const toReading = rowReader<Reading>('id', 'fp', 'gen', 'epoch', 'at')

/** By place: taking a row of twenty apart by a pattern costs 20 µs. */
function toKept(row: SqlValue[], spider: string): KeptPage {
  return {
    spider,
    crawl: row[CRAWL] as string,
    gen: row[2] as number,
    epoch: row[3] as string,
    fp: row[1] as string,
    url: row[7] as string,
    host: row[8] as string,
    route: row[ROUTE] as string,
    depth: row[10] as number,
    link: parsed<Link>(row[11] as string | null),
    status: row[12] as number,
    bytes: row[13] as number,
    ms: row[14] as number,
    attempt: row[15] as number,
    worker: row[WORKER] as string,
    error: row[16] as string | null,
    page: row[17] as string,
    headers: parsed<FetchRow['headers']>(row[18] as string | null),
    pool: row[19] as string | null,
    at: row[4] as number,
  }
}

function parsed<Value>(text: string | null): Value | null {
  return text === null ? null : (JSON.parse(text) as Value)
}
