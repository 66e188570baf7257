/**
 * See ProxyHealth, ProxyCounts, ProxyPace and Hold; states and counts are JSON, because a column costs as much to read as a row. Days stand beside times where
 * rows are forgotten by age: an index on a time would change with every request.
 */
export const LEDGER_MIGRATIONS = [
  `
  CREATE TABLE proxy_health (
    pool TEXT NOT NULL, proxy TEXT NOT NULL, site TEXT NOT NULL, state TEXT NOT NULL, counts TEXT, used_at REAL NOT NULL, used_day INTEGER NOT NULL,
    PRIMARY KEY (pool, proxy, site)
  ) WITHOUT ROWID;
  CREATE INDEX proxy_health_site ON proxy_health (pool, site);
  CREATE INDEX proxy_health_day ON proxy_health (used_day);

  CREATE TABLE proxy_pace (
    pool TEXT NOT NULL, host TEXT NOT NULL, proxy TEXT NOT NULL, state TEXT NOT NULL, used_day INTEGER NOT NULL,
    PRIMARY KEY (pool, host, proxy)
  ) WITHOUT ROWID;
  CREATE INDEX proxy_pace_day ON proxy_pace (used_day);

  CREATE TABLE proxy_holds (
    ask TEXT PRIMARY KEY, pool TEXT NOT NULL, proxy TEXT NOT NULL, host TEXT NOT NULL, site TEXT NOT NULL,
    granted_at REAL NOT NULL, ends_at REAL NOT NULL, permit_ms REAL NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX proxy_holds_end ON proxy_holds (ends_at);
  `,
  // There are only as many holds as requests under way: an index costs every request, and spares a look at a few hundred rows now and then.
  `
  CREATE TABLE holds (ask TEXT PRIMARY KEY, ends_at REAL NOT NULL, hold TEXT NOT NULL) WITHOUT ROWID;
  INSERT INTO holds SELECT ask, ends_at, json_array(pool, proxy, host, site, granted_at, permit_ms) FROM proxy_holds;
  DROP TABLE proxy_holds;
  ALTER TABLE holds RENAME TO proxy_holds;
  `,
] as const
