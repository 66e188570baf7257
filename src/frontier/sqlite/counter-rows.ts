import type { SqliteDb, SqlValue } from '../../sqlite/db.js'
import type { HostKey } from '../../url/link.js'
import type { CrawlId, CrawlInfo, CrawlSpec, CrawlState, CrawlStats } from '../frontier.js'
import type { HostPace } from '../pace.js'

/** A crawl's row; numbers are changed here and written back once. */
export interface CrawlRow extends Mutable<Omit<CrawlStats, keyof CrawlInfo | 'rate' | 'filtered' | 'counts'>> {
  readonly num: number
  readonly id: CrawlId
  readonly spec: CrawlSpec
  state: CrawlState
  endedBy: string | null
  seeding: boolean
  startedAt: number | null
  finishedAt: number | null
  nextSeq: number
}

export interface HostRow extends Mutable<HostPace> {
  readonly num: number
  readonly host: HostKey
  latency: number | null
  setDelay: number | null
  setConcurrency: number | null
  floor: number | null
}

export interface LaneRow {
  readonly num: number
  readonly crawl: number
  readonly host: number
  readonly route: string
  phase: number
  wakeAt: number
  score: number
  /** When it last gave a link. */
  servedAt: number
  queued: number
  delayed: number
  leased: number
  total: number
  done: number
  failed: number
  dead: number
  startedAt: number
  arrivalAt: number
  inFlight: number
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/** A lane with limits of its own keeps its pace like a host does; only its host can be blocked. */
export function lanePace(lane: LaneRow): HostPace {
  return {
    startedAt: lane.startedAt,
    arrivalAt: lane.arrivalAt,
    inFlight: lane.inFlight,
    blockedUntil: 0,
    blockedAt: 0,
    throttleLevel: 0,
    closed: false,
  }
}

const CRAWL_COLUMNS =
  'num, id, spec, state, ended_by, seeding, started_at, finished_at, next_seq, total, queued, delayed, leased, done, dead, skipped, failed, retried, throttled, reclaimed, stale, refused, bytes'
const HOST_COLUMNS =
  'num, host, started_at, arrival_at, in_flight, blocked_until, blocked_at, throttle_level, latency, set_delay, set_concurrency, floor, closed'
const LANE_COLUMNS =
  'num, crawl, host, route, phase, wake_at, score, served_at, queued, delayed, leased, total, done, failed, dead, started_at, arrival_at, in_flight'

export type CountersSql = ReturnType<typeof prepareCounters>

export function prepareCounters(db: SqliteDb) {
  return {
    crawl: db.prepare(`SELECT ${CRAWL_COLUMNS} FROM crawls WHERE num = ?`),
    crawlNum: db.prepare('SELECT num FROM crawls WHERE id = ?'),
    runningCrawls: db.prepare("SELECT id FROM crawls WHERE state = 'running'"),
    crawlsOfHost: db.prepare(
      `SELECT DISTINCT c.num, c.spec FROM lanes l JOIN crawls c ON c.num = l.crawl
       WHERE l.host = ? AND l.queued + l.delayed + l.leased > 0 AND c.state = 'running'`,
    ),
    saveCrawl: db.prepare(
      `UPDATE crawls SET state = ?, ended_by = ?, seeding = ?, started_at = ?, finished_at = ?, next_seq = ?, total = ?, queued = ?,
       delayed = ?, leased = ?, done = ?, dead = ?, skipped = ?, failed = ?, retried = ?, throttled = ?, reclaimed = ?, stale = ?,
       refused = ?, bytes = ? WHERE num = ?`,
    ),
    host: db.prepare(`SELECT ${HOST_COLUMNS} FROM hosts WHERE num = ?`),
    hostNum: db.prepare('SELECT num FROM hosts WHERE host = ?'),
    addHost: db.prepare('INSERT INTO hosts (host) VALUES (?) RETURNING num'),
    saveHost: db.prepare(
      `UPDATE hosts SET started_at = ?, arrival_at = ?, in_flight = ?, blocked_until = ?, blocked_at = ?, throttle_level = ?, latency = ?,
       set_delay = ?, set_concurrency = ?, floor = ?, closed = ? WHERE num = ?`,
    ),
    lane: db.prepare(`SELECT ${LANE_COLUMNS} FROM lanes WHERE num = ?`),
    laneNum: db.prepare('SELECT num FROM lanes WHERE crawl = ? AND host = ? AND route = ?'),
    addLane: db.prepare('INSERT INTO lanes (crawl, host, route) VALUES (?, ?, ?) RETURNING num'),
    routeLanes: db.prepare("SELECT 1 FROM lanes WHERE crawl = ? AND route <> '' LIMIT 1"),
    lanesOnHost: db.prepare('SELECT num, total FROM lanes WHERE crawl = ? AND host = ?'),
    lanesOfHost: db.prepare(`SELECT ${LANE_COLUMNS} FROM lanes WHERE host = ? AND queued > 0`),
    head: db.prepare('SELECT priority, due_at FROM links WHERE lane = ? AND state = 0 ORDER BY rank, seq LIMIT 1'),
    saveLane: db.prepare(
      `UPDATE lanes SET phase = ?, wake_at = ?, score = ?, served_at = ?, queued = ?, delayed = ?, leased = ?, total = ?,
       done = ?, failed = ?, dead = ?, started_at = ?, arrival_at = ?, in_flight = ? WHERE num = ?`,
    ),
  }
}

const text = (value: SqlValue | undefined): string => String(value)
const integer = (value: SqlValue | undefined): number => Number(value)
const optional = (value: SqlValue | undefined): number | null =>
  value === null || value === undefined ? null : Number(value)

export function cachedSpec(specs: Map<string, CrawlSpec>, num: number, spec: string): CrawlSpec {
  const key = `${num} ${spec}`
  let parsed = specs.get(key)
  if (parsed === undefined) {
    parsed = JSON.parse(spec) as CrawlSpec
    if (specs.size > 1000) specs.clear()
    specs.set(key, parsed)
  }
  return parsed
}

export function toCrawl(v: SqlValue[], specs: Map<string, CrawlSpec>): CrawlRow {
  return {
    num: integer(v[0]),
    id: text(v[1]),
    spec: cachedSpec(specs, integer(v[0]), text(v[2])),
    state: text(v[3]) as CrawlState,
    endedBy: v[4] === null ? null : text(v[4]),
    seeding: v[5] === 1,
    startedAt: optional(v[6]),
    finishedAt: optional(v[7]),
    nextSeq: integer(v[8]),
    total: integer(v[9]),
    queued: integer(v[10]),
    delayed: integer(v[11]),
    leased: integer(v[12]),
    done: integer(v[13]),
    dead: integer(v[14]),
    skipped: integer(v[15]),
    failed: integer(v[16]),
    retried: integer(v[17]),
    throttled: integer(v[18]),
    reclaimed: integer(v[19]),
    stale: integer(v[20]),
    refused: integer(v[21]),
    bytes: integer(v[22]),
  }
}

export function toHost(v: SqlValue[]): HostRow {
  return {
    num: integer(v[0]),
    host: text(v[1]),
    startedAt: integer(v[2]),
    arrivalAt: integer(v[3]),
    inFlight: integer(v[4]),
    blockedUntil: integer(v[5]),
    blockedAt: integer(v[6]),
    throttleLevel: integer(v[7]),
    latency: optional(v[8]),
    setDelay: optional(v[9]),
    setConcurrency: optional(v[10]),
    floor: optional(v[11]),
    closed: v[12] === 1,
  }
}

export function toLane(v: SqlValue[]): LaneRow {
  return {
    num: integer(v[0]),
    crawl: integer(v[1]),
    host: integer(v[2]),
    route: text(v[3]),
    phase: integer(v[4]),
    wakeAt: integer(v[5]),
    score: integer(v[6]),
    servedAt: integer(v[7]),
    queued: integer(v[8]),
    delayed: integer(v[9]),
    leased: integer(v[10]),
    total: integer(v[11]),
    done: integer(v[12]),
    failed: integer(v[13]),
    dead: integer(v[14]),
    startedAt: integer(v[15]),
    arrivalAt: integer(v[16]),
    inFlight: integer(v[17]),
  }
}
