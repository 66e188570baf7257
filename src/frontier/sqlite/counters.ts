import { ShoalError } from '../../errors.js'
import type { SqliteDb, SqlValue, Statement } from '../../sqlite/db.js'
import type { HostKey } from '../../url/link.js'
import type { CrawlId, CrawlInfo, CrawlSpec, CrawlState, Limits } from '../frontier.js'
import {
  adapted,
  earliestStart,
  type HostPace,
  laneScore,
  limitsFor,
  notAhead,
  strictest,
  withSettings,
} from '../pace.js'
import { PHASE } from './schema.js'

/** A crawl's row; numbers are changed here and written back once. */
export interface CrawlRow {
  readonly num: number
  readonly id: CrawlId
  readonly spec: CrawlSpec
  state: CrawlState
  endedBy: string | null
  seeding: boolean
  startedAt: number | null
  finishedAt: number | null
  nextSeq: number
  total: number
  queued: number
  delayed: number
  leased: number
  done: number
  dead: number
  skipped: number
  failed: number
  retried: number
  throttled: number
  reclaimed: number
  stale: number
  refused: number
  bytes: number
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

/** Rows of hosts and lanes that never move: found by name once. */
interface Names {
  readonly hosts: Map<HostKey, number>
  readonly lanes: Map<string, number>
  readonly specs: Map<string, CrawlSpec>
}

const NAMES_KEPT = 200_000

/**
 * The rows that the calls of a transaction touch: loaded once, changed in place, written back by `flush`, which also decides anew what
 * each lane of a touched host is doing.
 */
export class Counters {
  /** The time of the transaction. */
  now = 0
  readonly #sql: LedgerSql
  readonly #names: Names
  readonly #crawls = new Map<number, CrawlRow>()
  readonly #hosts = new Map<number, HostRow>()
  readonly #lanes = new Map<number, LaneRow>()
  /** Hosts whose lanes must be judged anew, and among them those whose own row has changed. */
  readonly #dirtyHosts = new Set<number>()
  readonly #changedHosts = new Set<number>()
  readonly #dirtyCrawls = new Set<number>()
  readonly #dirtyLanes = new Set<number>()
  readonly #dirtyLaneOfHost = new Map<number, number>()
  /** Crawls that have lanes of routes beside those of hosts. */
  readonly #routeLanes = new Map<number, boolean>()
  #running: Set<CrawlId> | undefined

  constructor(sql: LedgerSql, names: Names) {
    this.#sql = sql
    this.#names = names
  }

  begin(now: number): void {
    this.now = now
    this.#running = undefined
  }

  get size(): number {
    return this.#crawls.size + this.#hosts.size + this.#lanes.size
  }

  /** The crawl's row was changed by other means than this counters. */
  forgetCrawl(num: number): void {
    this.#crawls.delete(num)
  }

  crawl(num: number): CrawlRow {
    let row = this.#crawls.get(num)
    if (row === undefined) {
      const values = this.#sql.crawl.get(num)
      if (values === undefined) throw new ShoalError('not_found', `crawl number ${num} does not exist`)
      row = toCrawl(values, this.#names.specs)
      this.#crawls.set(num, row)
    }
    this.#dirtyCrawls.add(num)
    return row
  }

  crawlById(id: CrawlId): CrawlRow {
    const num = this.#sql.crawlNum.get(id)
    if (num === undefined) throw new ShoalError('not_found', `there is no crawl ${id}`)
    return this.crawl(Number(num[0]))
  }

  /** A host's row to change. */
  host(num: number): HostRow {
    this.#changedHosts.add(num)
    this.#dirtyHosts.add(num)
    return this.#peekHost(num)
  }

  #peekHost(num: number): HostRow {
    let row = this.#hosts.get(num)
    if (row === undefined) {
      const values = this.#sql.host.get(num)
      if (values === undefined) throw new Error(`host ${num} is gone`)
      row = toHost(values)
      this.#hosts.set(num, row)
    }
    if (row.startedAt > this.now) {
      row.startedAt = notAhead(row, this.now).startedAt
      this.#changedHosts.add(num)
    }
    return row
  }

  hostNum(host: HostKey): number {
    const known = this.#names.hosts.get(host)
    if (known !== undefined) return known
    const row = this.#sql.hostNum.get(host) ?? this.#sql.addHost.get(host)
    const num = Number(row?.[0])
    if (this.#names.hosts.size > NAMES_KEPT) this.#names.hosts.clear()
    this.#names.hosts.set(host, num)
    return num
  }

  /** A lane by number, with its host: whoever changes a lane changes what its host's lanes may do. */
  lane(num: number): LaneRow {
    let row = this.#lanes.get(num)
    if (row === undefined) {
      const values = this.#sql.lane.get(num)
      if (values === undefined) throw new Error(`lane ${num} is gone`)
      row = toLane(values)
      this.#lanes.set(num, row)
    }
    this.#dirtyLanes.add(num)
    this.#dirtyHosts.add(row.host)
    this.#dirtyLaneOfHost.set(row.host, num)
    return row
  }

  findLane(crawl: CrawlRow, host: HostKey, route: string): number | undefined {
    const name = laneName(crawl, host, route)
    const known = this.#names.lanes.get(name)
    if (known !== undefined) return known
    const row = this.#sql.laneNum.get(crawl.num, this.hostNum(host), laneRoute(crawl, route))
    return row === undefined ? undefined : this.#rememberLane(name, Number(row[0]))
  }

  /** Also those of a spider that had limits of routes before it was edited. */
  #hasRouteLanes(crawl: number): boolean {
    let has = this.#routeLanes.get(crawl)
    if (has === undefined) {
      has = this.#sql.routeLanes.get(crawl) !== undefined
      this.#routeLanes.set(crawl, has)
    }
    return has
  }

  addLane(crawl: CrawlRow, host: HostKey, route: string): number {
    if (laneRoute(crawl, route) !== '') this.#routeLanes.set(crawl.num, true)
    const row = this.#sql.addLane.get(crawl.num, this.hostNum(host), laneRoute(crawl, route))
    return this.#rememberLane(laneName(crawl, host, route), Number(row?.[0]))
  }

  #rememberLane(name: string, num: number): number {
    if (this.#names.lanes.size > NAMES_KEPT) this.#names.lanes.clear()
    this.#names.lanes.set(name, num)
    return num
  }

  /** Links of the crawl on the host, in whatever state. */
  linksOnHost(crawl: CrawlRow, host: HostKey): number {
    const hostNum = this.hostNum(host)
    // Without limits of routes there is one lane for each host.
    if (!this.#hasRouteLanes(crawl.num)) {
      const only = this.findLane(crawl, host, '')
      return only === undefined ? 0 : this.lane(only).total
    }
    const stored = this.#sql.lanesOnHost.all(crawl.num, hostNum)
    return stored.reduce((sum, [num, total]) => sum + (this.#lanes.get(Number(num))?.total ?? Number(total)), 0)
  }

  /** What holds for a host now: the strictest of the crawls that have work there, the setting by hand, robots.txt, and how it answers. */
  hostLimits(host: HostRow, asking: CrawlSpec): Limits {
    let limits = limitsFor(asking, host.host)
    if (this.#othersRun(asking.id)) {
      const others = this.#sql.crawlsOfHost
        .all(host.num)
        .map(([num, spec]) => limitsFor(this.#spec(Number(num), String(spec)), host.host))
      limits = strictest([...others, limits])
    }
    if (host.setDelay !== null || host.setConcurrency !== null || host.floor !== null)
      limits = withSettings(limits, { delayMs: host.setDelay, concurrency: host.setConcurrency, floorMs: host.floor })
    return adapted(limits, host.latency)
  }

  /** Most of the time there is one crawl, and nobody else's limits to look for. */
  #othersRun(asking: CrawlId): boolean {
    this.#running ??= new Set(this.#sql.runningCrawls.all().map(([id]) => String(id)))
    return this.#running.size > (this.#running.has(asking) ? 1 : 0)
  }

  laneLimits(lane: LaneRow): Limits | null {
    return lane.route === '' ? null : (this.#peekCrawl(lane.crawl).spec.routeLimits[lane.route] ?? null)
  }

  #peekCrawl(num: number): CrawlRow {
    const dirty = this.#dirtyCrawls.has(num)
    const row = this.crawl(num)
    if (!dirty) this.#dirtyCrawls.delete(num)
    return row
  }

  #spec(num: number, text: string): CrawlSpec {
    return cachedSpec(this.#names.specs, num, text)
  }

  /** Decides what the lane is doing from now on. */
  #schedule(lane: LaneRow): void {
    if (lane.queued === 0) {
      lane.phase = PHASE.idle
      return
    }
    const spec = this.#peekCrawl(lane.crawl).spec
    const host = this.#peekHost(lane.host)
    const hostLimits = this.hostLimits(host, spec)
    const laneLimits = this.laneLimits(lane)
    let openAt = earliestStart(host, hostLimits)
    if (laneLimits !== null) openAt = Math.max(openAt, earliestStart(lanePace(lane), laneLimits))
    if (!Number.isFinite(openAt)) {
      // Closed by hand: whoever opens it touches its lanes.
      lane.phase = PHASE.full
    } else if (openAt > this.now) {
      lane.phase = PHASE.waiting
      lane.wakeAt = Math.ceil(openAt)
    } else if (
      host.inFlight >= hostLimits.concurrency ||
      (laneLimits !== null && lane.inFlight >= laneLimits.concurrency)
    ) {
      lane.phase = PHASE.full
    } else {
      const [priority, dueAt] = this.#sql.head.get(lane.num) ?? []
      lane.phase = PHASE.ready
      lane.score = scoreOf(spec, lane.servedAt, Number(dueAt), Number(priority))
    }
  }

  /** Finished is exact: nothing queued, delayed or leased, and no source of seeds left. */
  #endIfFinished(crawl: CrawlRow): void {
    if (crawl.state !== 'running' || crawl.leased > 0) return
    const workLeft = crawl.seeding || crawl.queued + crawl.delayed > 0
    const over = workLeft ? overBudget(crawl, this.now) : null
    if (workLeft && over === null) return
    crawl.state = 'finished'
    crawl.endedBy = over
    crawl.finishedAt = this.now
  }

  flush(): void {
    for (const num of this.#dirtyCrawls) this.#saveCrawl(num)
    this.#running = undefined
    for (const num of this.#dirtyHosts) if (!this.#onlyLaneIsDirty(num)) this.#loadLanesOf(num)
    // Which crawls have work on a host is read from the rows: with several crawls the counts must be there before the lanes are judged.
    const shared = [...this.#crawls.values()].some((crawl) => this.#othersRun(crawl.id))
    if (shared) for (const num of this.#dirtyLanes) this.#saveLane(num)
    for (const num of this.#dirtyLanes) {
      const lane = this.#lanes.get(num)
      if (lane !== undefined) this.#schedule(lane)
      this.#saveLane(num)
    }
    for (const num of this.#changedHosts) this.#saveHost(num)
    this.#dirtyCrawls.clear()
    this.#dirtyLanes.clear()
    this.#dirtyLaneOfHost.clear()
    this.#dirtyHosts.clear()
    this.#changedHosts.clear()
  }

  /** What changed on a host concerns all its lanes. */
  #loadLanesOf(hostNum: number): void {
    for (const values of this.#sql.lanesOfHost.all(hostNum)) {
      const num = Number(values[0])
      if (!this.#lanes.has(num)) this.#lanes.set(num, toLane(values))
      this.#dirtyLanes.add(num)
    }
  }

  /** With one crawl and no limits of routes a host has one lane: when that is at hand, nobody has to look for others. */
  #onlyLaneIsDirty(hostNum: number): boolean {
    const num = this.#dirtyLaneOfHost.get(hostNum)
    const lane = num === undefined || !this.#dirtyLanes.has(num) ? undefined : this.#lanes.get(num)
    if (lane === undefined) return false
    const { spec } = this.#peekCrawl(lane.crawl)
    return !this.#othersRun(spec.id) && !this.#hasRouteLanes(lane.crawl)
  }

  #saveLane(num: number): void {
    const lane = this.#lanes.get(num)
    if (lane === undefined) return
    this.#sql.saveLane.run(
      lane.phase,
      lane.wakeAt,
      lane.score,
      lane.servedAt,
      lane.queued,
      lane.delayed,
      lane.leased,
      lane.total,
      lane.done,
      lane.failed,
      lane.dead,
      lane.startedAt,
      lane.arrivalAt,
      lane.inFlight,
      lane.num,
    )
  }

  #saveHost(num: number): void {
    const host = this.#hosts.get(num)
    if (host === undefined) return
    this.#sql.saveHost.run(
      host.startedAt,
      host.arrivalAt,
      host.inFlight,
      host.blockedUntil,
      host.blockedAt,
      host.throttleLevel,
      host.latency,
      host.setDelay,
      host.setConcurrency,
      host.floor,
      host.closed ? 1 : 0,
      host.num,
    )
  }

  #saveCrawl(num: number): void {
    const crawl = this.#crawls.get(num)
    if (crawl === undefined) return
    this.#endIfFinished(crawl)
    this.#sql.saveCrawl.run(
      crawl.state,
      crawl.endedBy,
      crawl.seeding ? 1 : 0,
      crawl.startedAt,
      crawl.finishedAt,
      crawl.nextSeq,
      crawl.total,
      crawl.queued,
      crawl.delayed,
      crawl.leased,
      crawl.done,
      crawl.dead,
      crawl.skipped,
      crawl.failed,
      crawl.retried,
      crawl.throttled,
      crawl.reclaimed,
      crawl.stale,
      crawl.refused,
      crawl.bytes,
      crawl.num,
    )
  }
}

/** Routes without limits of their own share the host's lane. */
function laneRoute(crawl: CrawlRow, route: string): string {
  return Object.hasOwn(crawl.spec.routeLimits, route) ? route : ''
}

function laneName(crawl: CrawlRow, host: HostKey, route: string): string {
  return `${crawl.num} ${host} ${laneRoute(crawl, route)}`
}

/** The budget that is used up and stops the crawl from leasing. */
export function overBudget(crawl: CrawlRow, now: number): CrawlInfo['endedBy'] {
  const { bytes, ms } = crawl.spec.budget
  if (bytes !== undefined && crawl.bytes >= bytes) return 'budget_bytes'
  if (ms !== undefined && crawl.startedAt !== null && now - crawl.startedAt >= ms) return 'budget_time'
  return null
}

/** A lane's place among the ready ones, by its head. */
export function scoreOf(spec: CrawlSpec, servedAt: number, headDueAt: number, headPriority: number): number {
  return laneScore(Math.max(servedAt, headDueAt), spec.order === 'priority' ? headPriority : 0, spec.agingMs)
}

/** A lane with limits of its own keeps its pace like a host does; it is never blocked by itself. */
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

export interface LedgerSql extends Record<string, Statement> {
  crawl: Statement
  crawlNum: Statement
  runningCrawls: Statement
  crawlsOfHost: Statement
  saveCrawl: Statement
  host: Statement
  hostNum: Statement
  addHost: Statement
  saveHost: Statement
  lane: Statement
  laneNum: Statement
  addLane: Statement
  lanesOfHost: Statement
  lanesOnHost: Statement
  routeLanes: Statement
  head: Statement
  saveLane: Statement
}

export function prepareLedger(db: SqliteDb): LedgerSql {
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

function cachedSpec(specs: Map<string, CrawlSpec>, num: number, spec: string): CrawlSpec {
  const key = `${num} ${spec}`
  let parsed = specs.get(key)
  if (parsed === undefined) {
    parsed = JSON.parse(spec) as CrawlSpec
    if (specs.size > 1000) specs.clear()
    specs.set(key, parsed)
  }
  return parsed
}

function toCrawl(v: SqlValue[], specs: Map<string, CrawlSpec>): CrawlRow {
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

function toHost(v: SqlValue[]): HostRow {
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

function toLane(v: SqlValue[]): LaneRow {
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
