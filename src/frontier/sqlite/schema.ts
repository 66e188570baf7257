import type { LinkState } from '../frontier.js'

/** How a link's state is stored. Partial indexes below name these numbers. */
export const STATE = { queued: 0, delayed: 1, leased: 2, done: 3, dead: 4, skipped: 5 } as const
export const STATE_NAMES: readonly LinkState[] = ['queued', 'delayed', 'leased', 'done', 'dead', 'skipped']

/**
 * What a lane is doing. Hosts are scheduled, links are not: `waiting` (by wake time) and `ready` (by score) are the only things
 * searched, so that a lease costs the same with ten blocked hosts or a hundred thousand.
 */
export const PHASE = { idle: 0, waiting: 1, ready: 2, full: 3 } as const

export const MIGRATIONS = [
  `
  CREATE TABLE frontier_meta (name TEXT PRIMARY KEY, value);

  CREATE TABLE crawls (
    num INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    spider TEXT NOT NULL,
    spider_hash TEXT NOT NULL,
    spider_changes INTEGER NOT NULL DEFAULT 0,
    spec TEXT NOT NULL,
    state TEXT NOT NULL,
    ended_by TEXT,
    seeding INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    next_seq INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0,
    queued INTEGER NOT NULL DEFAULT 0,
    delayed INTEGER NOT NULL DEFAULT 0,
    leased INTEGER NOT NULL DEFAULT 0,
    done INTEGER NOT NULL DEFAULT 0,
    dead INTEGER NOT NULL DEFAULT 0,
    skipped INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    retried INTEGER NOT NULL DEFAULT 0,
    throttled INTEGER NOT NULL DEFAULT 0,
    reclaimed INTEGER NOT NULL DEFAULT 0,
    stale INTEGER NOT NULL DEFAULT 0,
    refused INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0
  );
  CREATE INDEX crawls_running ON crawls (num) WHERE state = 'running';

  CREATE TABLE hosts (
    num INTEGER PRIMARY KEY,
    host TEXT NOT NULL UNIQUE,
    started_at REAL NOT NULL DEFAULT 0,
    arrival_at REAL NOT NULL DEFAULT 0,
    in_flight INTEGER NOT NULL DEFAULT 0,
    blocked_until REAL NOT NULL DEFAULT 0,
    blocked_at REAL NOT NULL DEFAULT 0,
    throttle_level INTEGER NOT NULL DEFAULT 0,
    latency REAL,
    set_delay INTEGER,
    set_concurrency INTEGER,
    floor INTEGER,
    closed INTEGER NOT NULL DEFAULT 0
  );

  -- A lane is the queue of one crawl for one host; a route with limits of its own has its own lane there.
  CREATE TABLE lanes (
    num INTEGER PRIMARY KEY,
    crawl INTEGER NOT NULL,
    host INTEGER NOT NULL,
    route TEXT NOT NULL,
    phase INTEGER NOT NULL DEFAULT 0,
    wake_at INTEGER NOT NULL DEFAULT 0,
    score INTEGER NOT NULL DEFAULT 0,
    served_at INTEGER NOT NULL DEFAULT 0,
    queued INTEGER NOT NULL DEFAULT 0,
    delayed INTEGER NOT NULL DEFAULT 0,
    leased INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0,
    done INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    dead INTEGER NOT NULL DEFAULT 0,
    started_at REAL NOT NULL DEFAULT 0,
    arrival_at REAL NOT NULL DEFAULT 0,
    in_flight INTEGER NOT NULL DEFAULT 0,
    UNIQUE (crawl, host, route)
  );
  CREATE INDEX lanes_waiting ON lanes (crawl, wake_at) WHERE phase = 1;
  CREATE INDEX lanes_ready ON lanes (crawl, score, num) WHERE phase = 2;
  CREATE INDEX lanes_host ON lanes (host);

  CREATE TABLE links (
    num INTEGER PRIMARY KEY,
    crawl INTEGER NOT NULL,
    fp INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    state INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    route TEXT NOT NULL,
    depth INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    throttles INTEGER NOT NULL DEFAULT 0,
    reclaims INTEGER NOT NULL DEFAULT 0,
    bypass_fresh INTEGER NOT NULL DEFAULT 0,
    epoch INTEGER NOT NULL DEFAULT 0,
    settled_epoch INTEGER NOT NULL DEFAULT 0,
    added_at INTEGER NOT NULL,
    due_at REAL NOT NULL,
    ended_at INTEGER,
    url TEXT NOT NULL,
    code TEXT,
    request TEXT,
    data TEXT,
    failures TEXT
  );
  CREATE UNIQUE INDEX links_fp ON links (crawl, fp);
  CREATE INDEX links_queue ON links (lane, rank, seq) WHERE state = 0;
  CREATE INDEX links_due ON links (crawl, due_at) WHERE state = 1;
  CREATE INDEX links_dead ON links (crawl, code) WHERE state = 4;
  CREATE INDEX links_skipped ON links (crawl) WHERE state = 5;

  -- One row per lease, so at most workers × concurrency: small enough to be scanned by worker or deadline without an index.
  CREATE TABLE leases (
    link INTEGER PRIMARY KEY,
    crawl INTEGER NOT NULL,
    lane INTEGER NOT NULL,
    host INTEGER NOT NULL,
    worker TEXT NOT NULL,
    seq INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    granted_at INTEGER NOT NULL,
    deadline INTEGER NOT NULL,
    permit_ms REAL NOT NULL,
    -- The slot on the link's own host: held since the last permit there, or released.
    slot_at INTEGER NOT NULL,
    held INTEGER NOT NULL,
    solo INTEGER NOT NULL
  );

  -- Slots a lease holds on hosts other than its own, or on its own again after a release (robots.txt, redirect hops).
  CREATE TABLE slots (
    link INTEGER NOT NULL,
    host INTEGER NOT NULL,
    granted_at INTEGER NOT NULL,
    PRIMARY KEY (link, host)
  );

  CREATE TABLE workers (
    worker TEXT PRIMARY KEY,
    last_seq INTEGER NOT NULL DEFAULT 0,
    started_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    done INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    progress_at INTEGER,
    about TEXT
  );

  -- Links that ended, per second: the rate over the last minute without a scan.
  CREATE TABLE endings (crawl INTEGER NOT NULL, second INTEGER NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (crawl, second));
  `,
  `
  -- Workers that are expected to beat again.
  CREATE TABLE beats (
    worker TEXT PRIMARY KEY,
    beat_at INTEGER NOT NULL,
    lost_after INTEGER NOT NULL,
    lost_at INTEGER NOT NULL
  );
  CREATE INDEX beats_lost ON beats (lost_at, worker);
  `,
  `
  -- Who gets scarce work (../turns.ts): what each worker used lately, and whose turn it is among those that ask for the same spiders.
  CREATE TABLE usage (worker TEXT PRIMARY KEY, slot_ms REAL NOT NULL, busy INTEGER NOT NULL, asked_at REAL NOT NULL) WITHOUT ROWID;
  CREATE TABLE turns (spiders TEXT PRIMARY KEY, lead TEXT, next TEXT) WITHOUT ROWID;
  `,
  `
  -- Links that the filter changed or rejected; the example is JSON.
  CREATE TABLE filtered (
    crawl INTEGER NOT NULL,
    reason TEXT NOT NULL,
    count INTEGER NOT NULL,
    example TEXT,
    PRIMARY KEY (crawl, reason)
  ) WITHOUT ROWID;
  `,
  `
  -- What spiders counted with page.count.
  CREATE TABLE counts (
    crawl INTEGER NOT NULL,
    name TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (crawl, name)
  ) WITHOUT ROWID;
  `,
] as const
