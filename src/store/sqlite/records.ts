import type { SqliteDb } from '../../sqlite/db.js'
import { type EngineCall, forward, type SqliteEngine } from '../../sqlite/engine.js'
import { type PreparedRejected, prepareBatch, storedKey } from '../prepare.js'
import type { FieldFailures, KindCount, RecordQuery, Records } from '../record-store.js'
import { rowReader } from '../row-reader.js'
import { urlHash } from './hashes.js'
import { indexedUpTo } from './index-runs.js'
import {
  PAGE,
  RECORD_COLUMNS,
  type RecordCursor,
  type RecordPageRow,
  type RecordPages,
  toPageRow,
} from './record-rows.js'
import type { SqliteWriter } from './writer.js'

export type RejectedPageRow = PreparedRejected & { readonly id: number }

/** Reads of records; see SqliteWriter for writes. */
export class SqliteRecords implements RecordPages, SqliteEngine {
  readonly reads: ReadonlySet<string> = new Set(['page', 'rejectedPage', 'counts', 'rejectedByField'])
  readonly #sql: ReturnType<typeof statements>

  constructor(db: SqliteDb) {
    this.#sql = statements(db)
  }

  page(query: RecordQuery, after: RecordCursor | null, limit: number): RecordPageRow[] {
    const sql = this.#sql
    let statement = sql.byId
    if (query.since !== undefined) statement = sql.since
    if (query.key !== undefined) statement = sql.byKey
    if (query.url !== undefined) statement = sql.byUrl
    const key = query.key === undefined ? null : storedKey(query.key)
    const { spider = null, kind = null, site = null, url = null, since = null } = query
    const from = after ?? { id: 0, updatedAt: since ?? 0 }
    const hash = url === null ? null : urlHash(url)
    const rows = statement.all(spider, kind, site, key, url, since, from.id, from.updatedAt, hash, limit)
    return rows.map(toPageRow)
  }

  rejectedPage(query: { spider?: string; kind?: string }, before: number | null, limit: number): RejectedPageRow[] {
    return this.#sql.rejected.all(query.spider ?? null, query.kind ?? null, before, limit).map(toRejected)
  }

  counts(query: { spider?: string; crawl?: string }): KindCount[] {
    return this.#sql.counts.all(query.spider ?? null, query.crawl ?? null).map(toCount)
  }

  rejectedByField({ spider, crawl }: { spider: string; crawl?: string }): FieldFailures[] {
    const { rejectedByField, rejectedOfCrawl } = this.#sql
    const rows = crawl === undefined ? rejectedByField.all(spider) : rejectedOfCrawl.all(spider, crawl)
    return rows.map(toFailures)
  }
}

const toRejected = rowReader<RejectedPageRow>(
  ...(['id', 'spider', 'site', 'kind', 'key', 'url', 'data'] as const),
  ...(['issues', 'reason', 'crawl', 'scrapedAt'] as const),
)
const toCount = rowReader<KindCount>('spider', 'kind', 'records', 'rejected', 'fresh', 'unchanged')
const toFailures = rowReader<FieldFailures>('kind', 'field', 'count')

export function recordsOver(call: EngineCall<SqliteRecords>, writer: EngineCall<SqliteWriter>): Records {
  return {
    ...forward(call, 'counts', 'rejectedByField'),
    async write(batch) {
      const { prepared, answer } = prepareBatch(batch)
      return answer(await writer('write', prepared))
    },
    async *scan(query) {
      let left = query.limit ?? Number.POSITIVE_INFINITY
      let after: RecordCursor | null = null
      while (left > 0) {
        const want = Math.min(PAGE, left)
        const rows: RecordPageRow[] = await call('page', query, after, want)
        for (const { id, data, ...row } of rows) {
          yield { ...row, data: JSON.parse(data) }
          after = { id, updatedAt: row.updatedAt }
        }
        if (rows.length < want) return
        left -= rows.length
      }
    },
    async *rejected(query) {
      let left = query.limit
      let before: number | null = null
      while (left > 0) {
        const want = Math.min(PAGE, left)
        const rows: RejectedPageRow[] = await call('rejectedPage', query, before, want)
        for (const { id, data, issues, ...row } of rows) {
          yield { ...row, data: JSON.parse(data), issues: JSON.parse(issues) }
          before = id
        }
        if (rows.length < want) return
        left -= rows.length
      }
    },
  }
}

function statements(db: SqliteDb) {
  // ?1–?6 are the query's fields, ?7 and ?8 the cursor, ?9 the hash of the URL, ?10 the length of the page. Which way in is taken
  // depends on the query; what a way in does not use still filters. CROSS JOIN keeps the planner from starting at the sets.
  const recordsWhere = (wayIn: string, order: string) =>
    db.prepare(
      `SELECT ${RECORD_COLUMNS}
       FROM records r CROSS JOIN record_sets s ON s.id = r.set_id CROSS JOIN names c ON c.id = r.crawl_id
       WHERE ${wayIn}
         AND (?1 IS NULL OR s.spider = ?1) AND (?2 IS NULL OR s.kind = ?2) AND (?3 IS NULL OR s.site = ?3)
         AND (?4 IS NULL OR r.key = ?4) AND (?5 IS NULL OR r.url = ?5) AND (?6 IS NULL OR r.updated_at >= ?6)
       ORDER BY ${order} LIMIT ?10`,
    )
  return {
    byId: recordsWhere('r.id > ?7', 'r.id'),
    since: recordsWhere('(r.updated_at, r.id) > (?8, ?7)', 'r.updated_at, r.id'),
    byKey: recordsWhere(
      `r.key = ?4 AND r.id > ?7 AND r.set_id IN (SELECT id FROM record_sets
         WHERE (?1 IS NULL OR spider = ?1) AND (?2 IS NULL OR kind = ?2) AND (?3 IS NULL OR site = ?3))`,
      'r.id',
    ),
    byUrl: recordsWhere(
      `r.id > ?7 AND r.id IN (SELECT id FROM record_urls WHERE url_hash = ?9
         UNION ALL SELECT id FROM records WHERE id > ${indexedUpTo('records')} AND url_hash = ?9)`,
      'r.id',
    ),
    rejected: db.prepare(
      `SELECT r.id, s.spider, s.site, s.kind, r.key, r.url, r.data, r.issues, r.reason, c.name, r.scraped_at
       FROM rejected r CROSS JOIN record_sets s ON s.id = r.set_id CROSS JOIN names c ON c.id = r.crawl_id
       WHERE (?1 IS NULL OR s.spider = ?1) AND (?2 IS NULL OR s.kind = ?2) AND r.id < coalesce(?3, 9223372036854775807)
       ORDER BY r.id DESC LIMIT ?4`,
    ),
    counts: db.prepare(
      `SELECT spider, kind, sum(records), sum(rejected), sum(fresh), sum(unchanged) FROM record_counts
       WHERE (?1 IS NULL OR spider = ?1) AND (?2 IS NULL OR crawl_id = (SELECT id FROM names WHERE name = ?2))
       GROUP BY spider, kind HAVING sum(records) + sum(rejected) + sum(fresh) + sum(unchanged) > 0 ORDER BY spider, kind`,
    ),
    rejectedByField: db.prepare(
      `SELECT s.kind, i.value ->> 'field' AS field, count(*) FROM record_sets s JOIN rejected r ON r.set_id = s.id, json_each(r.issues) i
       WHERE s.spider = ? AND r.reason = 'invalid' GROUP BY s.kind, field ORDER BY count(*) DESC, s.kind, field`,
    ),
    rejectedOfCrawl: db.prepare(
      `SELECT s.kind, i.value ->> 'field' AS field, count(*)
       FROM rejected r INDEXED BY rejected_crawl CROSS JOIN record_sets s ON s.id = r.set_id, json_each(r.issues) i
       WHERE s.spider = ?1 AND r.crawl_id = (SELECT id FROM names WHERE name = ?2) AND r.reason = 'invalid'
       GROUP BY s.kind, field ORDER BY count(*) DESC, s.kind, field`,
    ),
  }
}
