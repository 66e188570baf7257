import type { SqliteDb, SqlValue, Statement } from '../../sqlite/db.js'

const FORGOTTEN_AT_ONCE = 500
const HOLD = 'ask, ends_at, hold'

/** Up to this many wide rows cost less one by one than in one statement over JSON; with twenty rows, each costs half as much in that one. */
const FEW = 3

/** A list is stored as JSON. */
export type Column = SqlValue | readonly (number | string)[]

function writer(columns: number, prepare: (rows: string) => Statement): (rows: readonly Column[][]) => void {
  const one = prepare(`VALUES (${Array.from({ length: columns }, () => '?').join(', ')})`)
  const elements = Array.from({ length: columns }, (_, at) => `value ->> ${at}`).join(', ')
  const many = prepare(`SELECT ${elements} FROM json_each(?) WHERE true`)
  return (rows) => {
    if (rows.length > FEW) many.run(JSON.stringify(rows))
    else for (const row of rows) one.run(...row.map(toValue))
  }
}

function toValue(column: Column): SqlValue {
  return Array.isArray(column) ? JSON.stringify(column) : (column as SqlValue)
}

export type LedgerSql = ReturnType<typeof prepareLedger>

export function prepareLedger(db: SqliteDb) {
  const forget = (table: string, key: string) =>
    db.prepare(
      `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE used_day < ? LIMIT ${FORGOTTEN_AT_ONCE})`,
    )
  return {
    dataVersion: db.prepare('PRAGMA data_version'),
    read: db.prepare(
      `SELECT e.value, w.state, s.state, p.state FROM json_each(?1) e
       LEFT JOIN proxy_health w ON w.pool = ?2 AND w.proxy = e.value AND w.site = ''
       LEFT JOIN proxy_health s ON s.pool = ?2 AND s.proxy = e.value AND s.site = ?3
       LEFT JOIN proxy_pace p ON p.pool = ?2 AND p.proxy = e.value AND p.host = ?4`,
    ),
    health: db.prepare('SELECT state FROM proxy_health WHERE pool = ? AND proxy = ? AND site = ?'),
    counts: db.prepare('SELECT counts FROM proxy_health WHERE pool = ? AND proxy = ? AND site = ?'),
    putHealths: writer(7, (rows) =>
      db.prepare(
        `INSERT INTO proxy_health (pool, proxy, site, state, counts, used_at, used_day) ${rows}
         ON CONFLICT DO UPDATE SET state = excluded.state, counts = coalesce(excluded.counts, counts),
           used_at = excluded.used_at, used_day = excluded.used_day`,
      ),
    ),
    pace: db.prepare('SELECT state FROM proxy_pace WHERE pool = ? AND proxy = ? AND host = ?'),
    putPaces: writer(5, (rows) =>
      db.prepare(
        `INSERT INTO proxy_pace (pool, proxy, host, state, used_day) ${rows}
         ON CONFLICT DO UPDATE SET state = excluded.state, used_day = excluded.used_day`,
      ),
    ),
    holds: db.prepare(`SELECT ${HOLD} FROM proxy_holds WHERE ask IN (SELECT value FROM json_each(?))`),
    allHolds: db.prepare(`SELECT ${HOLD} FROM proxy_holds`),
    endedHolds: db.prepare(`SELECT ${HOLD} FROM proxy_holds WHERE ends_at <= ? ORDER BY ends_at LIMIT ?`),
    addHolds: writer(3, (rows) => db.prepare(`INSERT INTO proxy_holds (${HOLD}) ${rows}`)),
    removeHolds: db.prepare('DELETE FROM proxy_holds WHERE ask IN (SELECT value FROM json_each(?))'),
    scores: db.prepare(
      `SELECT proxy, site, state, counts FROM proxy_health
       WHERE pool = ? AND (proxy, site) > (?, ?) AND used_at > ? ORDER BY proxy, site LIMIT ?`,
    ),
    scoresOn: db.prepare(
      'SELECT proxy, site, state, counts FROM proxy_health WHERE pool = ? AND site = ? AND used_at > ? ORDER BY proxy',
    ),
    sites: db.prepare('SELECT site FROM proxy_health WHERE pool = ? AND proxy = ?'),
    forgetHealth: forget('proxy_health', 'pool, proxy, site'),
    forgetPace: forget('proxy_pace', 'pool, proxy, host'),
  }
}
