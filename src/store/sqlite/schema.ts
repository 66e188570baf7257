import type { SqliteDb } from '../../sqlite/db.js'

/**
 * Rows that grow with the crawl have an integer key and name their spider, site, kind, crawl and worker by number.
 *
 * An index with random keys dirties a page for nearly every row, which cost 10 µs a row, more than the row itself. Only the one that
 * the upsert needs is kept at once; `record_urls` and `fetch_fps` are filled in sorted runs (see IndexRuns), and a reader
 * scans the few rows that came after `index_runs.upto` itself.
 */
const MIGRATIONS = [
  `
  CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
  CREATE TABLE record_sets (
    id INTEGER PRIMARY KEY, spider TEXT NOT NULL, site TEXT NOT NULL, kind TEXT NOT NULL,
    UNIQUE (spider, site, kind)
  );

  CREATE TABLE records (
    id INTEGER PRIMARY KEY,
    set_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    url TEXT NOT NULL,
    url_hash INTEGER NOT NULL,
    data TEXT NOT NULL,
    crawl_id INTEGER NOT NULL,
    gen INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    first_seen_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    change INTEGER NOT NULL,
    identity TEXT,
    UNIQUE (set_id, key)
  );
  CREATE INDEX records_updated ON records (updated_at);
  CREATE INDEX records_change ON records (change);
  CREATE INDEX records_identity ON records (identity) WHERE identity IS NOT NULL;
  CREATE TABLE record_urls (url_hash INTEGER NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (url_hash, id)) WITHOUT ROWID;
  CREATE TABLE record_versions (
    id INTEGER PRIMARY KEY, record_id INTEGER NOT NULL, url TEXT NOT NULL, data TEXT NOT NULL, crawl_id INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, replaced_at INTEGER NOT NULL
  );
  CREATE INDEX record_versions_record ON record_versions (record_id);
  CREATE TABLE record_counts (
    spider TEXT NOT NULL, kind TEXT NOT NULL, crawl_id INTEGER NOT NULL,
    records INTEGER NOT NULL, rejected INTEGER NOT NULL, fresh INTEGER NOT NULL, unchanged INTEGER NOT NULL,
    PRIMARY KEY (spider, kind, crawl_id)
  );
  CREATE TABLE rejected (
    id INTEGER PRIMARY KEY,
    set_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    url TEXT NOT NULL,
    data TEXT NOT NULL,
    issues TEXT NOT NULL,
    reason TEXT NOT NULL,
    crawl_id INTEGER NOT NULL,
    scraped_at INTEGER NOT NULL
  );
  CREATE INDEX rejected_set ON rejected (set_id, key, scraped_at);
  CREATE INDEX rejected_crawl ON rejected (crawl_id);
  CREATE TABLE field_stats (
    spider TEXT NOT NULL, kind TEXT NOT NULL, site TEXT NOT NULL, field TEXT NOT NULL, hour INTEGER NOT NULL,
    filled INTEGER NOT NULL, failed INTEGER NOT NULL, texts INTEGER NOT NULL, numbers INTEGER NOT NULL, booleans INTEGER NOT NULL,
    lists INTEGER NOT NULL, objects INTEGER NOT NULL, sketch BLOB NOT NULL,
    PRIMARY KEY (spider, kind, site, field, hour)
  ) WITHOUT ROWID;

  CREATE TABLE change_counter (last INTEGER NOT NULL);
  INSERT INTO change_counter (last) VALUES (0);
  CREATE TABLE change_marks (mark TEXT PRIMARY KEY, change INTEGER NOT NULL);
  INSERT INTO change_marks (mark, change) VALUES (lower(hex(randomblob(8))), 0);
  CREATE INDEX change_marks_change ON change_marks (change);
  CREATE TABLE outlets (
    name TEXT PRIMARY KEY, id TEXT NOT NULL, spider TEXT NOT NULL, kinds TEXT, cursor TEXT NOT NULL, epoch INTEGER NOT NULL,
    holder TEXT, held_until INTEGER NOT NULL, sent INTEGER NOT NULL, sent_at INTEGER, trimmed INTEGER NOT NULL, error TEXT,
    stopped INTEGER NOT NULL
  );

  CREATE TABLE fetches (
    id INTEGER PRIMARY KEY,
    fp INTEGER NOT NULL,
    at INTEGER NOT NULL,
    crawl_id INTEGER NOT NULL,
    worker_id INTEGER NOT NULL,
    url TEXT NOT NULL,
    host TEXT NOT NULL,
    status INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    ms REAL NOT NULL,
    attempt INTEGER NOT NULL,
    error TEXT,
    page TEXT,
    route_id INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    link TEXT,
    spider_id INTEGER NOT NULL,
    gen INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    headers TEXT,
    pool TEXT
  );
  CREATE TABLE fetch_fps (fp INTEGER NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (fp, id)) WITHOUT ROWID;
  CREATE TABLE visits (
    id INTEGER PRIMARY KEY, spider_id INTEGER NOT NULL, fp INTEGER NOT NULL, gen INTEGER NOT NULL, epoch INTEGER NOT NULL,
    at INTEGER NOT NULL, url TEXT NOT NULL, etag TEXT, last_modified TEXT, body_hash TEXT NOT NULL, read_as TEXT NOT NULL, page TEXT,
    memo BLOB NOT NULL,
    UNIQUE (spider_id, fp)
  );
  CREATE TABLE visit_counts (
    crawl_id INTEGER PRIMARY KEY, first_time INTEGER NOT NULL, changed INTEGER NOT NULL, not_modified INTEGER NOT NULL,
    same_body INTEGER NOT NULL
  );
  CREATE TABLE blobs (
    place TEXT NOT NULL, hash BLOB NOT NULL, pack TEXT NOT NULL, start INTEGER NOT NULL, length INTEGER NOT NULL,
    codec TEXT NOT NULL, bytes INTEGER NOT NULL,
    PRIMARY KEY (place, hash)
  ) WITHOUT ROWID;
  CREATE TABLE index_runs (name TEXT PRIMARY KEY, upto INTEGER NOT NULL);
  INSERT INTO index_runs (name, upto) VALUES ('records', 0), ('fetches', 0);

  CREATE TABLE generations (queue_id TEXT PRIMARY KEY, gen INTEGER NOT NULL UNIQUE, mark INTEGER NOT NULL DEFAULT 0);
  CREATE TABLE crawl_notes (
    crawl TEXT PRIMARY KEY, spider TEXT NOT NULL, queue TEXT NOT NULL, queue_id TEXT NOT NULL, state TEXT NOT NULL,
    spec TEXT NOT NULL, opened_at INTEGER NOT NULL, changes_from TEXT NOT NULL
  );
  CREATE TABLE seed_cursors (crawl TEXT NOT NULL, source TEXT NOT NULL, entries INTEGER NOT NULL, PRIMARY KEY (crawl, source));
  CREATE TABLE audit (
    id INTEGER PRIMARY KEY, at INTEGER NOT NULL, by TEXT NOT NULL, action TEXT NOT NULL, target TEXT NOT NULL, details TEXT NOT NULL,
    result TEXT NOT NULL
  );
  `,
  `
  CREATE TABLE match_stats (
    crawl TEXT NOT NULL, part TEXT NOT NULL, part_of TEXT NOT NULL, name TEXT NOT NULL, selector TEXT NOT NULL,
    seen INTEGER NOT NULL, matched INTEGER NOT NULL, example TEXT NOT NULL,
    PRIMARY KEY (crawl, part, part_of, name, selector)
  ) WITHOUT ROWID;
  `,
]

export function migrateStore(db: SqliteDb): void {
  db.migrate('store', MIGRATIONS)
}
