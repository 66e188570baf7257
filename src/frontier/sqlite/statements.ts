import type { SqliteDb, Statement } from '../../sqlite/db.js'
import { MAX_COUNT_NAMES, OTHER_COUNTS } from '../counts.js'
import type { Counters } from './counters.js'
import { PHASE } from './schema.js'

const LINK_JSON =
  "json_array(links.num, printf('%016x', fp), url, route, depth, priority, attempts, throttles, reclaims, bypass_fresh, json(request), json(data))"

const LEASE_COLUMNS = 'link, crawl, lane, host, worker, epoch, granted_at, deadline, slot_at, held, solo'

/** Nothing used up. That its last lease was settled stays known when the next one takes the place of its epoch. */
const BACK_FROM_THE_END = `attempts = 0, throttles = 0, reclaims = 0, bypass_fresh = 1, ended_at = NULL, code = NULL,
  settled_epoch = iif(epoch > 0, epoch, settled_epoch)`

const DEAD_LINKS = `SELECT links.num, links.lane FROM links WHERE crawl = ?1 AND state = 4 AND (?2 IS NULL OR code = ?2)
  AND (?3 IS NULL OR lane IN (SELECT l.num FROM lanes l JOIN hosts h ON h.num = l.host WHERE h.host = ?3)) AND links.num > ?4`

export type EngineSql = ReturnType<typeof prepareEngine>

/** What the steps of one transaction work with; `counters.now` is its time. */
export interface Transaction {
  readonly sql: EngineSql
  readonly counters: Counters
}

/** Every statement of the engine; links and leases are changed in sets over JSON arrays where that is cheaper than row by row. */
export function prepareEngine(db: SqliteDb) {
  const statement = (sql: string): Statement => db.prepare(sql)
  return {
    dataVersion: statement('PRAGMA data_version'),
    crawlHash: statement('SELECT spider_hash, state, num FROM crawls WHERE id = ?'),
    addCrawl: statement(
      "INSERT INTO crawls (id, spider, spider_hash, spec, state, created_at) VALUES (?, ?, ?, ?, 'running', ?)",
    ),
    changeCrawl: statement(
      'UPDATE crawls SET spider_hash = ?, spider_changes = spider_changes + ?, spec = ? WHERE id = ?',
    ),
    lanesOfCrawl: statement('SELECT num FROM lanes WHERE crawl = ? AND queued + delayed + leased > 0'),
    sharedHosts: statement(
      `SELECT DISTINCT mine.host FROM lanes mine WHERE mine.crawl = ?1 AND mine.queued + mine.delayed + mine.leased > 0
       AND EXISTS (SELECT 1 FROM lanes other WHERE other.host = mine.host AND other.crawl <> ?1 AND other.queued > 0)`,
    ),
    runningCrawls: statement("SELECT num, spider FROM crawls WHERE state = 'running' ORDER BY num"),

    nextMark: statement(
      `INSERT INTO frontier_meta (name, value) VALUES ('mark', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value`,
    ),

    known: statement('SELECT 1 FROM links WHERE crawl = ? AND fp = CAST(? AS INTEGER)'),
    addLink: statement(
      `INSERT OR IGNORE INTO links (crawl, fp, lane, state, rank, seq, route, depth, priority, added_at, due_at, url, request, data)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    endedLink: statement(
      'SELECT num, lane, state FROM links WHERE crawl = ? AND fp = CAST(? AS INTEGER) AND state IN (3, 4, 5)',
    ),
    visitAgain: statement(
      `UPDATE links SET lane = ?, state = ?, rank = ?, seq = ?, route = ?, depth = ?, priority = ?, due_at = ?, url = ?, request = ?,
       data = ?, ${BACK_FROM_THE_END} WHERE num = ?`,
    ),
    setHistory: statement(
      `UPDATE links SET state = ?, attempts = ?, throttles = ?, reclaims = ?, ended_at = ?, code = ?, failures = ?
       WHERE crawl = ? AND fp = CAST(? AS INTEGER)`,
    ),

    workerSeq: statement('SELECT last_seq FROM workers WHERE worker = ?'),
    seenWorker: statement(
      `INSERT INTO workers (worker, last_seq, started_at, seen_at, about) VALUES (?1, ?2, ?3, ?3, ?4)
       ON CONFLICT (worker) DO UPDATE SET last_seq = max(last_seq, excluded.last_seq), seen_at = excluded.seen_at,
       about = coalesce(excluded.about, about)`,
    ),
    forgetWorker: statement('DELETE FROM workers WHERE worker = ?'),
    forgetUsage: statement('DELETE FROM usage WHERE worker = ?'),
    contest: statement(
      `SELECT turns.lead, turns.next, own.slot_ms, own.busy, own.asked_at, lead.slot_ms, lead.busy, lead.asked_at,
       next.slot_ms, next.busy, next.asked_at
       FROM (SELECT ?1 AS worker, ?2 AS spiders) AS asks LEFT JOIN turns USING (spiders) LEFT JOIN usage AS own USING (worker)
       LEFT JOIN usage AS lead ON lead.worker = turns.lead LEFT JOIN usage AS next ON next.worker = turns.next`,
    ),
    saveUsage: statement(
      `INSERT INTO usage (worker, slot_ms, busy, asked_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (worker) DO UPDATE SET slot_ms = excluded.slot_ms, busy = excluded.busy, asked_at = excluded.asked_at`,
    ),
    saveTurns: statement('INSERT OR REPLACE INTO turns (spiders, lead, next) VALUES (?, ?, ?)'),
    touchWorker: statement('UPDATE workers SET seen_at = ? WHERE worker = ?'),
    isBeating: statement('SELECT 1 FROM beats WHERE worker = ?'),
    beat: statement('INSERT OR REPLACE INTO beats (worker, beat_at, lost_after, lost_at) VALUES (?, ?, ?, ?)'),
    watchedAt: statement("SELECT value FROM frontier_meta WHERE name = 'watched'"),
    watchedFromNow: statement("INSERT OR REPLACE INTO frontier_meta (name, value) VALUES ('watched_since', ?)"),
    watchedNow: statement("INSERT OR REPLACE INTO frontier_meta (name, value) VALUES ('watched', ?)"),
    startBeatsAgain: statement('UPDATE beats SET lost_at = ? + lost_after'),
    lostWorkers: statement('SELECT worker FROM beats WHERE lost_at <= ? ORDER BY lost_at, worker LIMIT ?'),
    forgetBeat: statement('DELETE FROM beats WHERE worker = ?'),
    tallyWorker: statement(
      `UPDATE workers SET done = done + ?1, failed = failed + ?2, seen_at = ?3, progress_at = iif(?4, ?3, progress_at)
       WHERE worker = ?5`,
    ),

    dueLinks: statement(
      'SELECT num, lane FROM links WHERE crawl = ? AND state = 1 AND due_at <= ? ORDER BY due_at LIMIT ?',
    ),
    setQueued: statement('UPDATE links SET state = 0 WHERE num IN (SELECT value FROM json_each(?))'),
    wokenLanes: statement(
      `SELECT num FROM lanes WHERE crawl = ? AND phase = ${PHASE.waiting} AND wake_at <= ? ORDER BY wake_at LIMIT ?`,
    ),
    readyLanes: statement(
      `SELECT num, score FROM lanes WHERE crawl = ? AND phase = ${PHASE.ready} AND (score, num) > (?, ?) ORDER BY score, num LIMIT ?`,
    ),
    headLinks: statement(
      `SELECT json_group_array(json(link)) FROM (SELECT ${LINK_JSON} AS link FROM links WHERE lane = ? AND state = 0 ORDER BY rank, seq LIMIT ? OFFSET ?)`,
    ),
    wakeAll: statement(`UPDATE lanes SET wake_at = ?1 WHERE phase = ${PHASE.waiting} AND wake_at > ?1`),
    anyReady: statement(`SELECT 1 FROM lanes WHERE crawl = ? AND phase = ${PHASE.ready} LIMIT 1`),
    nextWake: statement(`SELECT min(wake_at) FROM lanes WHERE crawl = ? AND phase = ${PHASE.waiting}`),
    nextDue: statement('SELECT min(due_at) FROM links WHERE crawl = ? AND state = 1'),
    nextDeadline: statement('SELECT min(deadline) FROM leases WHERE deadline > ?'),
    lastEpoch: statement("SELECT value FROM frontier_meta WHERE name = 'epoch'"),
    saveEpoch: statement("UPDATE frontier_meta SET value = ? WHERE name = 'epoch'"),
    setLeased: statement(
      'UPDATE links SET state = 2, epoch = ? + j.key FROM json_each(?) AS j WHERE links.num = j.value',
    ),
    addLease: statement(
      `INSERT INTO leases (link, crawl, lane, host, worker, seq, epoch, granted_at, deadline, permit_ms, slot_at, held, solo)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    heldBatch: statement(
      `SELECT ${LINK_JSON}, leases.crawl, hosts.host, leases.epoch, leases.permit_ms, leases.granted_at, leases.deadline
       FROM leases JOIN links ON links.num = leases.link JOIN hosts ON hosts.num = leases.host
       WHERE leases.worker = ? AND leases.seq = ? AND leases.deadline > ? ORDER BY leases.epoch`,
    ),
    heldByWorker: statement('SELECT max(solo) FROM leases WHERE worker = ? GROUP BY worker'),

    lease: statement(`SELECT ${LEASE_COLUMNS} FROM leases WHERE link = ? AND epoch = ?`),
    leasesOf: statement(
      `SELECT json_group_array(json_array(${LEASE_COLUMNS})) FROM json_each(?) AS j CROSS JOIN leases
       WHERE leases.link = j.value->>0 AND leases.epoch = j.value->>1`,
    ),
    leasesOfWorker: statement(`SELECT ${LEASE_COLUMNS} FROM leases WHERE worker = ? ORDER BY epoch`),
    leasesOfCrawl: statement(`SELECT ${LEASE_COLUMNS} FROM leases WHERE crawl = ?`),
    expiredLeases: statement(
      `SELECT ${LEASE_COLUMNS} FROM leases WHERE deadline <= ? ORDER BY deadline, epoch LIMIT ?`,
    ),
    extendLeases: statement(
      'UPDATE leases SET deadline = j.value->>1 FROM json_each(?) AS j WHERE leases.link = j.value->>0',
    ),
    unhold: statement('UPDATE leases SET held = 0 WHERE link IN (SELECT value FROM json_each(?))'),
    removeLeases: statement('DELETE FROM leases WHERE link IN (SELECT value FROM json_each(?))'),
    slot: statement('SELECT granted_at FROM slots WHERE link = ? AND host = ?'),
    slotsOf: statement('SELECT host FROM slots WHERE link IN (SELECT value FROM json_each(?))'),
    holdOwn: statement('UPDATE leases SET held = 1, slot_at = ? WHERE link = ?'),
    holdSlot: statement(
      'INSERT INTO slots (link, host, granted_at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET granted_at = excluded.granted_at',
    ),
    removeSlot: statement('DELETE FROM slots WHERE link = ? AND host = ?'),
    removeSlots: statement('DELETE FROM slots WHERE link IN (SELECT value FROM json_each(?))'),

    setDone: statement(
      `UPDATE links SET state = 3, ended_at = ?, attempts = attempts + 1, bypass_fresh = 0
       WHERE num IN (SELECT value FROM json_each(?))`,
    ),
    settledAs: statement(
      `SELECT 1 FROM links JOIN crawls ON crawls.num = links.crawl
       WHERE links.num = ?1 AND ((links.epoch = ?2 AND links.state <> 2) OR links.settled_epoch = ?2) AND crawls.id = ?3`,
    ),
    linkForSettle: statement('SELECT priority, rank, seq, failures FROM links WHERE num = ?'),
    setBack: statement(
      `UPDATE links SET state = ?, due_at = ?, priority = ?, rank = ?, seq = ?, attempts = attempts + ?, throttles = throttles + ?,
       failures = ?, code = ?, settled_epoch = ? WHERE num = ?`,
    ),
    setEnded: statement(
      `UPDATE links SET state = ?, ended_at = ?, attempts = attempts + ?, code = ?, failures = ?, bypass_fresh = 0 WHERE num = ?`,
    ),
    countEnding: statement(
      'INSERT INTO endings (crawl, second, count) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count',
    ),
    countFiltered: statement(
      `INSERT INTO filtered (crawl, reason, count, example) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET count = count + excluded.count, example = coalesce(example, excluded.example)`,
    ),
    // A new name that is one too many counts as OTHER_COUNTS.
    addCount: statement(
      `INSERT INTO counts (crawl, name, count) SELECT ?1, CASE
         WHEN EXISTS (SELECT 1 FROM counts WHERE crawl = ?1 AND name = ?2) THEN ?2
         WHEN (SELECT count(*) FROM counts WHERE crawl = ?1 AND name <> '${OTHER_COUNTS}') < ${MAX_COUNT_NAMES} THEN ?2
         ELSE '${OTHER_COUNTS}' END, ?3
       WHERE true ON CONFLICT DO UPDATE SET count = count + excluded.count`,
    ),
    markResume: statement('INSERT OR REPLACE INTO endings (crawl, second, count) VALUES (?, ?, ?)'),
    forgetEndings: statement('DELETE FROM endings WHERE crawl = ? AND second < ?'),

    // epoch 0: a settle of the lost lease must not be taken for a repeated one.
    reclaimed: statement(
      'UPDATE links SET state = 0, epoch = 0, due_at = ?, reclaims = reclaims + 1 WHERE num = ? RETURNING reclaims, failures',
    ),
    deadLinks: statement(`${DEAD_LINKS} ORDER BY links.num LIMIT ?5`),
    deadLink: statement(`${DEAD_LINKS} AND fp = CAST(?5 AS INTEGER)`),
    revive: statement(`UPDATE links SET state = 0, due_at = ?, ${BACK_FROM_THE_END} WHERE num = ?`),
    linkToSteer: statement(
      `SELECT links.num, links.lane, links.state, links.due_at, links.priority, links.failures FROM links
       JOIN lanes ON lanes.num = links.lane JOIN hosts ON hosts.num = lanes.host
       WHERE links.crawl = ? AND links.fp = CAST(? AS INTEGER) AND hosts.host = ?`,
    ),
    promote: statement('UPDATE links SET state = 0, due_at = ?, priority = ?, rank = ?, seq = ? WHERE num = ?'),
    dueNow: statement('UPDATE links SET state = 0, due_at = ? WHERE num = ?'),
    removeDead: statement('UPDATE links SET state = 5, code = ?, failures = ? WHERE num = ?'),
    giveUp: statement('UPDATE links SET state = 5 WHERE num = ?'),
  }
}
