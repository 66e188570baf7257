/**
 * See ExitHealth, ExitCounts, ExitPace and Hold; states and counts are JSON, because a column costs as much to read as a row. Days stand beside times where
 * rows are forgotten by age: an index on a time would change with every request.
 */
export const LEDGER_MIGRATIONS = [
  `
  CREATE TABLE exit_health (
    pool TEXT NOT NULL, exit TEXT NOT NULL, site TEXT NOT NULL, state TEXT NOT NULL, counts TEXT, used_at REAL NOT NULL, used_day INTEGER NOT NULL,
    PRIMARY KEY (pool, exit, site)
  ) WITHOUT ROWID;
  CREATE INDEX exit_health_site ON exit_health (pool, site);
  CREATE INDEX exit_health_day ON exit_health (used_day);

  CREATE TABLE exit_pace (
    pool TEXT NOT NULL, host TEXT NOT NULL, exit TEXT NOT NULL, state TEXT NOT NULL, used_day INTEGER NOT NULL,
    PRIMARY KEY (pool, host, exit)
  ) WITHOUT ROWID;
  CREATE INDEX exit_pace_day ON exit_pace (used_day);

  CREATE TABLE exit_holds (
    ask TEXT PRIMARY KEY, pool TEXT NOT NULL, exit TEXT NOT NULL, host TEXT NOT NULL, site TEXT NOT NULL,
    granted_at REAL NOT NULL, ends_at REAL NOT NULL, permit_ms REAL NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX exit_holds_end ON exit_holds (ends_at);
  `,
  // There are only as many holds as requests under way: an index costs every request, and spares a look at a few hundred rows now and then.
  `
  CREATE TABLE holds (ask TEXT PRIMARY KEY, ends_at REAL NOT NULL, hold TEXT NOT NULL) WITHOUT ROWID;
  INSERT INTO holds SELECT ask, ends_at, json_array(pool, exit, host, site, granted_at, permit_ms) FROM exit_holds;
  DROP TABLE exit_holds;
  ALTER TABLE holds RENAME TO exit_holds;
  `,
] as const
