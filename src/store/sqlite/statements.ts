import type { SqliteDb } from '../../sqlite/db.js'
import { indexedUpTo } from './index-runs.js'
import { RECORD_COLUMNS } from './record-rows.js'

export function writeStatements(db: SqliteDb) {
  return {
    addGeneration: db.prepare(
      `INSERT INTO generations (queue_id, gen) SELECT ?, coalesce(max(gen), 0) + 1 FROM generations WHERE true
       ON CONFLICT (queue_id) DO NOTHING`,
    ),
    findGeneration: db.prepare('SELECT gen FROM generations WHERE queue_id = ?'),
    noteMark: db.prepare('UPDATE generations SET mark = max(mark, ?2) WHERE queue_id = ?1'),
    renewGeneration: db.prepare(
      'UPDATE generations SET mark = 0, gen = (SELECT max(gen) FROM generations) + 1 WHERE queue_id = ?1 AND mark = ?2',
    ),
    noteCrawl: db.prepare(
      `INSERT INTO crawl_notes (crawl, spider, queue, queue_id, state, spec, opened_at, changes_from)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (crawl) DO UPDATE SET spider = excluded.spider, queue = excluded.queue, queue_id = excluded.queue_id,
         state = excluded.state, spec = excluded.spec, opened_at = excluded.opened_at`,
    ),
    noteSeedCursor: db.prepare(
      `INSERT INTO seed_cursors (crawl, source, entries) VALUES (?, ?, ?)
       ON CONFLICT (crawl, source) DO UPDATE SET entries = excluded.entries`,
    ),
    removeNote: db.prepare('DELETE FROM crawl_notes WHERE crawl = ?'),
    removeCursors: db.prepare('DELETE FROM seed_cursors WHERE crawl = ?'),
    addName: db.prepare('INSERT INTO names (name) VALUES (?)'),
    findName: db.prepare('SELECT id FROM names WHERE name = ?'),
    addSet: db.prepare('INSERT INTO record_sets (spider, site, kind) VALUES (?, ?, ?)'),
    findSet: db.prepare('SELECT id FROM record_sets WHERE spider = ? AND site = ? AND kind = ?'),
    insertRecord: db.prepare(
      `INSERT INTO records (set_id, key, url, url_hash, data, crawl_id, gen, epoch, first_seen_at, updated_at, seen_at,
         change, identity)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?9, ?11, ?12) ON CONFLICT (set_id, key) DO NOTHING`,
    ),
    findRecord: db.prepare(
      `SELECT id, url, data, crawl_id, gen, CAST(epoch AS TEXT), updated_at, seen_at, identity
       FROM records WHERE set_id = ? AND key = ?`,
    ),
    confirmRecord: db.prepare('UPDATE records SET crawl_id = ?2, gen = ?3, epoch = ?4, seen_at = ?5 WHERE id = ?1'),
    updateRecord: db.prepare(
      `UPDATE records SET crawl_id = ?2, gen = ?3, epoch = ?4, seen_at = ?5, updated_at = ?9, url = ?6, url_hash = ?7, data = ?8,
         change = ?10, identity = ?11
       WHERE id = ?1`,
    ),
    indexUrl: db.prepare('INSERT OR IGNORE INTO record_urls (url_hash, id) VALUES (?, ?)'),
    count: db.prepare(
      `INSERT INTO record_counts (spider, kind, crawl_id, records, rejected, fresh, unchanged) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (spider, kind, crawl_id) DO UPDATE SET records = records + excluded.records,
         rejected = rejected + excluded.rejected, fresh = fresh + excluded.fresh, unchanged = unchanged + excluded.unchanged`,
    ),
    // A repeated write must not keep its rejected records twice.
    insertRejected: db.prepare(
      `INSERT INTO rejected (set_id, key, url, data, issues, reason, crawl_id, scraped_at)
       SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE NOT EXISTS (
         SELECT 1 FROM rejected WHERE set_id = ?1 AND key = ?2 AND scraped_at = ?8
           AND url = ?3 AND data = ?4 AND issues = ?5 AND reason = ?6 AND crawl_id = ?7)`,
    ),
    insertFetch: db.prepare(
      `INSERT INTO fetches (fp, at, crawl_id, worker_id, url, host, status, bytes, ms, attempt, error, page, route_id, depth, link,
         spider_id, gen, epoch, headers, pool)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    fetchAfter: db.prepare('SELECT max(id) FROM (SELECT id FROM fetches WHERE id > ? ORDER BY id LIMIT ?)'),
    unindexFetches: db.prepare(
      `DELETE FROM fetch_fps WHERE (fp, id) IN (SELECT fp, id FROM fetches WHERE id > ?1 AND id <= ?2 AND crawl_id = ?3)`,
    ),
    deleteFetches: db.prepare('DELETE FROM fetches WHERE id > ?1 AND id <= ?2 AND crawl_id = ?3'),
  }
}

export function readStatements(db: SqliteDb) {
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
    recordsById: recordsWhere('r.id > ?7', 'r.id'),
    recordsSince: recordsWhere('(r.updated_at, r.id) > (?8, ?7)', 'r.updated_at, r.id'),
    recordsByKey: recordsWhere(
      `r.key = ?4 AND r.id > ?7 AND r.set_id IN (SELECT id FROM record_sets
         WHERE (?1 IS NULL OR spider = ?1) AND (?2 IS NULL OR kind = ?2) AND (?3 IS NULL OR site = ?3))`,
      'r.id',
    ),
    recordsByUrl: recordsWhere(
      `r.id > ?7 AND r.id IN (SELECT id FROM record_urls WHERE url_hash = ?9
         UNION ALL SELECT id FROM records WHERE id > ${indexedUpTo('records')} AND url_hash = ?9)`,
      'r.id',
    ),
    highestMark: db.prepare('SELECT mark FROM generations WHERE queue_id = ?'),
    crawlNotes: db.prepare(
      'SELECT crawl, spider, queue, queue_id, state, spec, opened_at FROM crawl_notes ORDER BY opened_at, crawl',
    ),
    seedCursor: db.prepare('SELECT entries FROM seed_cursors WHERE crawl = ? AND source = ?'),
    // The subquery is a page of the table by its key: rows of other crawls cost a look, and no index is needed.
    knownPages: db.prepare(
      `SELECT printf('%016x', f.fp), f.url, f.host, r.name, f.depth, f.link
       FROM (SELECT * FROM fetches WHERE id > ?1 ORDER BY id LIMIT ?2) f LEFT JOIN names r ON r.id = f.route_id
       WHERE f.crawl_id = (SELECT id FROM names WHERE name = ?3) AND (f.error IS NULL AND (f.status < 300 OR f.status = 304)) = ?4 ORDER BY f.id`,
    ),
    lastOfPage: db.prepare('SELECT max(id) FROM (SELECT id FROM fetches WHERE id > ? ORDER BY id LIMIT ?)'),
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
    // Grouped, because a repeated write logs its fetches again: looking twice here is cheaper than looking before each insert.
    fetches: db.prepare(
      `SELECT c.name, w.name, f.url, f.host, f.status, f.bytes, f.ms, f.attempt, f.error, f.page, f.at, r.name, f.depth, f.link,
         s.name, f.gen, CAST(f.epoch AS TEXT), f.headers, f.pool
       FROM fetches f CROSS JOIN names c ON c.id = f.crawl_id CROSS JOIN names w ON w.id = f.worker_id
       LEFT JOIN names r ON r.id = f.route_id LEFT JOIN names s ON s.id = f.spider_id
       WHERE f.id IN (SELECT id FROM fetch_fps WHERE fp = ?1
         UNION ALL SELECT id FROM fetches WHERE id > ${indexedUpTo('fetches')} AND fp = ?1)
         AND (?2 IS NULL OR c.name = ?2)
       GROUP BY f.at, f.crawl_id, f.worker_id, f.url, f.host, f.status, f.bytes, f.ms, f.attempt, f.error, f.page
       ORDER BY f.at DESC, min(f.id) DESC LIMIT ?3`,
    ),
  }
}
