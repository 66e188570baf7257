import type { SqlStatement } from './pg.js'
import { confirmSql, countVisitsSql, visitSql } from './visits.js'

/**
 * One statement for a whole batch: records, rejected records, fetches and counts, in one round trip and one commit.
 *
 * Records come as one JSON array, because their data is JSON text already: nothing is escaped twice. 200 rows of 1 KB on this table,
 * rows per second and CPU of the client per row: jsonb_to_recordset 22,000 and 8 µs, unnest of arrays 15,000 and 25 µs,
 * json_to_recordset 14,000 and 12 µs. COPY into a staging table needs a session of its own and was no faster in the end.
 *
 * `last_write` holds the status of each row, because RETURNING sees the new row alone: its place in the batch × 4, plus 0 for a new row,
 * 1 changed, 2 confirmed, 3 confirmed by the very lease that wrote it. A row that is not returned was fenced or fresh.
 */
const LAST_WRITE = { changed: 1, confirmed: 2, repeated: 3 } as const

export function readLastWrite(value: number): { readonly n: number; readonly status: 'written' | 'unchanged' } {
  const outcome = value % 4
  return {
    n: (value - outcome) / 4,
    status: outcome === LAST_WRITE.confirmed || outcome === LAST_WRITE.repeated ? 'unchanged' : 'written',
  }
}

const SAME_CONTENT = 'r.content_hash = excluded.content_hash'
const SAME_LEASE = '(r.gen, r.epoch) = (excluded.gen, excluded.epoch)'
const kept = (column: string) => `${column} = CASE WHEN ${SAME_CONTENT} THEN r.${column} ELSE excluded.${column} END`

/** The null of JSON comes out of the set as that of SQL. */
const DATA = `coalesce(data, 'null')`

/**
 * What many records share is sent once, before its rows: a field of a row costs the server about 0.7 µs. Rows leave out what is null or follows from
 * the others.
 */
const INPUT = `(
    SELECT (g.start + i.nth - 1)::integer AS n, g.spider, i.site, g.kind, i.key, i.url, coalesce(i.domain, i.site) AS domain, i.data, i.hash, i.identity,
      g.crawl, g.gen, i.epoch, i.scraped_at, coalesce(i.changed_at, i.scraped_at) AS changed_at, g.fresh_ms, g.history
    FROM jsonb_to_recordset($1) AS g (start integer, spider text, kind text, crawl text, gen bigint, fresh_ms bigint, history boolean, rows jsonb)
    CROSS JOIN LATERAL ROWS FROM (jsonb_to_recordset(g.rows) AS (site text, key text, url text, domain text, data jsonb, hash text, identity text,
      epoch bigint, scraped_at float8, changed_at float8)) WITH ORDINALITY
      AS i (site, key, url, domain, data, hash, identity, epoch, scraped_at, changed_at, nth)
  ) AS i`

/** What judge.ts says, in SQL: see there for the order of the questions. */
const UPSERT = `
  INSERT INTO shoal.records AS r (spider, site, kind, key, url, domain, data, content_hash, identity, crawl, gen, epoch,
    first_seen_at, updated_at, scraped_at, change, last_write, last_crawl, fresh_ms, keep_history)
  SELECT spider, site, kind, key, url, domain, ${DATA}, decode(hash, 'hex'), identity, crawl, gen, epoch,
    to_timestamp(scraped_at / 1000), to_timestamp(changed_at / 1000), to_timestamp(scraped_at / 1000),
    pg_current_xact_id()::text::bigint + (SELECT value::bigint FROM shoal.settings WHERE name = 'change_offset'), n * 4, crawl, fresh_ms, history
  FROM ${INPUT}
  ON CONFLICT (spider, kind, key, site) DO UPDATE SET
    ${['url', 'domain', 'data', 'updated_at', 'change'].map(kept).join(', ')},
    content_hash = excluded.content_hash, identity = excluded.identity, crawl = excluded.crawl, last_crawl = r.crawl,
    gen = excluded.gen, epoch = excluded.epoch, scraped_at = excluded.scraped_at,
    fresh_ms = excluded.fresh_ms, keep_history = excluded.keep_history,
    last_write = excluded.last_write + CASE WHEN NOT ${SAME_CONTENT} THEN ${LAST_WRITE.changed}
      WHEN ${SAME_LEASE} THEN ${LAST_WRITE.repeated} ELSE ${LAST_WRITE.confirmed} END
  WHERE (excluded.gen, excluded.epoch) >= (r.gen, r.epoch)
    AND (${SAME_CONTENT} OR ${SAME_LEASE} OR excluded.fresh_ms = 0 OR excluded.scraped_at - least(r.updated_at, r.scraped_at) >= excluded.fresh_ms * interval '1 millisecond')
  RETURNING spider, kind, crawl, last_crawl, last_write`

const REJECT = `
  INSERT INTO shoal.rejected (spider, site, kind, key, url, data, issues, reason, crawl, scraped_at, row_hash)
  SELECT spider, site, kind, key, url, ${DATA}, issues, reason, crawl, to_timestamp(scraped_at / 1000), decode(hash, 'hex')
  FROM jsonb_to_recordset($2) AS i (spider text, site text, kind text, key text, url text, data jsonb, issues jsonb, reason text,
    crawl text, scraped_at float8, hash text)
  ON CONFLICT (row_hash) DO NOTHING
  RETURNING spider, kind, crawl`

/** The columns of a fetch as arrays come, in order. */
const FETCH_TYPES = {
  ...{
    at: 'float8',
    spider: 'text',
    crawl: 'text',
    fp: 'bigint',
    url: 'text',
    host: 'text',
    route: 'text',
    depth: 'integer',
  },
  ...{
    link: 'jsonb',
    status: 'smallint',
    bytes: 'bigint',
    ms: 'float8',
    attempt: 'integer',
    worker: 'text',
    pool: 'text',
  },
  ...{ error: 'text', page: 'text', headers: 'jsonb', gen: 'bigint', epoch: 'bigint' },
} as const
export const FETCH_COLUMNS = Object.keys(FETCH_TYPES).length

/** Arrays, because a fetch is twenty short columns: as JSON they took the server 7 µs a row more. */
const FETCHED = `
  INSERT INTO shoal.fetches (${Object.keys(FETCH_TYPES).join(', ')})
  SELECT ${Object.keys(FETCH_TYPES)
    .map((name) => (name === 'at' ? 'to_timestamp(at / 1000)' : name))
    .join(', ')}
  FROM unnest(${Object.values(FETCH_TYPES)
    .map((type, nth) => `$${nth + 3}::${type}[]`)
    .join(', ')}) AS i (${Object.keys(FETCH_TYPES).join(', ')})`

/** Sorted, so that two writers never wait for each other crosswise; in a slot of this connection, so that they seldom wait at all. */
const countSql = (written: string) => `
  INSERT INTO shoal.record_counts AS c (spider, kind, crawl, slot, records, rejected, fresh, unchanged)
  SELECT spider, kind, crawl, pg_backend_pid() % 64, sum(records), sum(rejected), 0, sum(unchanged)
  FROM (
    SELECT spider, kind, crawl, CASE WHEN last_write % 4 = 0 OR crawl <> last_crawl THEN 1 ELSE 0 END AS records, 0 AS rejected,
      CASE WHEN last_write % 4 = ${LAST_WRITE.confirmed} THEN 1 ELSE 0 END AS unchanged FROM ${written} AS w
    UNION ALL SELECT spider, kind, last_crawl, -1, 0, 0 FROM ${written} AS w WHERE last_write % 4 <> 0 AND crawl <> last_crawl
    UNION ALL SELECT spider, kind, crawl, 0, 1, 0 FROM refused
  ) AS counted
  GROUP BY spider, kind, crawl HAVING sum(records) <> 0 OR sum(rejected) <> 0 OR sum(unchanged) <> 0 ORDER BY spider, kind, crawl
  ON CONFLICT (spider, kind, crawl, slot) DO UPDATE SET records = c.records + excluded.records,
    rejected = c.rejected + excluded.rejected, unchanged = c.unchanged + excluded.unchanged`

/**
 * $1 records (each key once, sorted) and $2 rejected: JSON arrays, or null; from $3 on the columns of fetches. Answers `last_write` of each record
 * that was not skipped.
 */
export const WRITE: SqlStatement = {
  name: 'write',
  text: `WITH upserted AS (${UPSERT}), refused AS (${REJECT}), fetched AS (${FETCHED}), counted AS (${countSql('upserted')})
    SELECT last_write FROM upserted`,
}

const VISITS_FROM = FETCH_COLUMNS + 3

/** The same with what pages that are visited again give: $23 the records they confirm, from $24 on the columns of visits. */
export const WRITE_WITH_VISITS: SqlStatement = {
  name: 'write-with-visits',
  text: `WITH upserted AS (${UPSERT}), refused AS (${REJECT}), fetched AS (${FETCHED}), confirmed AS (${confirmSql(VISITS_FROM)}),
    visited AS (${visitSql(VISITS_FROM + 1)}), counted AS (${countSql('(SELECT * FROM upserted UNION ALL SELECT * FROM confirmed)')}),
    counted_visits AS (${countVisitsSql('visited')})
    SELECT last_write FROM upserted`,
}

/** Of skipped rows ($1 as above): which were fenced. */
export const SKIPPED: SqlStatement = {
  name: 'skipped',
  text: `SELECT i.n FROM ${INPUT} JOIN shoal.records r USING (spider, kind, key, site) WHERE (r.gen, r.epoch) > (i.gen, i.epoch)`,
}

export const COUNT_FRESH: SqlStatement = {
  name: 'count-fresh',
  text: `INSERT INTO shoal.record_counts AS c (spider, kind, crawl, slot, records, rejected, fresh, unchanged)
    SELECT spider, kind, crawl, pg_backend_pid() % 64, 0, 0, count(*), 0 FROM ${INPUT} GROUP BY spider, kind, crawl ORDER BY spider, kind, crawl
    ON CONFLICT (spider, kind, crawl, slot) DO UPDATE SET fresh = c.fresh + excluded.fresh`,
}
