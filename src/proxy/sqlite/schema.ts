/** See ExitHealth, ExitPace and Hold. Days stand beside times where rows are forgotten by age: an index on a time would change with every request. */
export const LEDGER_MIGRATIONS = [
  `
  -- counts: good, neutral, banned, broken, bytes, cost, then the buckets of latency, as JSON.
  CREATE TABLE exit_health (
    pool TEXT NOT NULL, exit TEXT NOT NULL, site TEXT NOT NULL,
    proved INTEGER NOT NULL, strikes INTEGER NOT NULL, rests INTEGER NOT NULL, rested_at REAL NOT NULL, rests_until REAL NOT NULL,
    in_flight INTEGER NOT NULL, used_at REAL NOT NULL, counts TEXT NOT NULL, used_day INTEGER NOT NULL,
    PRIMARY KEY (pool, exit, site)
  ) WITHOUT ROWID;
  CREATE INDEX exit_health_site ON exit_health (pool, site);
  CREATE INDEX exit_health_day ON exit_health (used_day);

  CREATE TABLE exit_pace (
    pool TEXT NOT NULL, host TEXT NOT NULL, exit TEXT NOT NULL,
    started_at REAL NOT NULL, arrival_at REAL NOT NULL, in_flight INTEGER NOT NULL, used_at REAL NOT NULL, used_day INTEGER NOT NULL,
    PRIMARY KEY (pool, host, exit)
  ) WITHOUT ROWID;
  CREATE INDEX exit_pace_day ON exit_pace (used_day);

  CREATE TABLE exit_holds (
    ask TEXT PRIMARY KEY, pool TEXT NOT NULL, exit TEXT NOT NULL, host TEXT NOT NULL, site TEXT NOT NULL,
    granted_at REAL NOT NULL, ends_at REAL NOT NULL, permit_ms REAL NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX exit_holds_end ON exit_holds (ends_at);
  `,
] as const
