/**
 * See ProxyHealth, ProxyCounts, ProxyPace and Hold; states and counts are JSON, because a column costs as much to read as a row. Rows that are forgotten
 * by age have a day in addition to the time: an index on the time would change with every request.
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

  -- There are only as many holds as requests in flight: an index would cost every request, to spare a scan of a few hundred rows now and then.
  CREATE TABLE proxy_holds (ask TEXT PRIMARY KEY, ends_at REAL NOT NULL, hold TEXT NOT NULL) WITHOUT ROWID;
  `,
] as const
