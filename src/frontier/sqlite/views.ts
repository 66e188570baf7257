import type { Clock } from '../../clock.js'
import type { ErrorCode } from '../../errors.js'
import type { SqliteDb, SqlValue, Statement } from '../../sqlite/db.js'
import type { FilterExample, FilteredLinks, FilterReason } from '../../url/filter-reasons.js'
import type { Fingerprint, Json, Link } from '../../url/link.js'
import { countsOf } from '../counts.js'
import { filteredOf } from '../filtered.js'
import {
  type CrawlArgs,
  type CrawlId,
  type CrawlInfo,
  type CrawlSpec,
  type CrawlState,
  type CrawlStats,
  type HostInfo,
  type HostPage,
  type Limits,
  type LinkInfo,
  type LinkQuery,
  POSITION_CAP,
  type Whereabouts,
  type WorkerAbout,
  type WorkerInfo,
} from '../frontier.js'
import { adapted, earliestOpen, limitsFor, settingsShown, strictest, withSettings } from '../pace.js'
import { rateOf, runningSince } from '../rate.js'
import { unknownCrawl } from '../refusals.js'
import { STATE_NAMES } from './schema.js'

/** Up to this many, reading and sorting them is faster than a search among the hosts of all crawls. */
const FEW_LANES = 1_000

/** What people ask about: nothing here changes a row. */
export abstract class SqliteViews {
  protected readonly db: SqliteDb
  readonly #clock: Clock
  readonly #sql: ReturnType<typeof prepareViews>

  constructor(db: SqliteDb, clock: Clock) {
    this.db = db
    this.#clock = clock
    this.#sql = prepareViews(db)
  }

  identity(): string {
    return String(this.#sql.identity.get()?.[0])
  }

  crawls(): CrawlInfo[] {
    return this.#sql.crawls.all().map(toInfo)
  }

  protected crawlInfo(id: CrawlId): CrawlInfo {
    const row = this.#sql.crawl.get(id)
    if (row === undefined) throw unknownCrawl(id)
    return toInfo(row)
  }

  stats(id: CrawlId): CrawlStats {
    const info = this.crawlInfo(id)
    const v = this.#sql.counters.get(id) ?? []
    const n = (index: number) => Number(v[index])
    return {
      ...info,
      total: n(1),
      queued: n(2),
      delayed: n(3),
      leased: n(4),
      done: n(5),
      dead: n(6),
      skipped: n(7),
      failed: n(8),
      retried: n(9),
      throttled: n(10),
      reclaimed: n(11),
      stale: n(12),
      refused: n(13),
      filtered: this.#filtered(n(0)),
      counts: countsOf(new Map(this.#sql.counts.all(n(0)).map(([name, count]) => [String(name), Number(count)]))),
      bytes: n(14),
      rate: this.#rate(n(0), info),
    }
  }

  #filtered(crawlNum: number): FilteredLinks[] {
    const counts = new Map<FilterReason, FilteredLinks>()
    for (const [name, count, example] of this.#sql.filtered.all(crawlNum)) {
      const reason = String(name) as FilterReason
      const parsed = typeof example === 'string' ? (JSON.parse(example) as FilterExample) : null
      counts.set(reason, { reason, count: Number(count), example: parsed })
    }
    return filteredOf(counts)
  }

  #rate(crawlNum: number, info: CrawlInfo): number {
    if (info.startedAt === null) return 0
    const endings = this.#sql.endings.all(crawlNum).map(([second, count]) => ({
      second: Number(second),
      count: Number(count),
    }))
    const watchedSince = optional(this.#sql.watchedSince.get()?.[0] ?? null)
    return rateOf(endings, { since: runningSince(info, watchedSince), now: this.#clock.now() })
  }

  hosts(id: CrawlId, page: HostPage): HostInfo[] {
    this.crawlInfo(id)
    const crawl = Number(this.#sql.crawlNum.get(id)?.[0])
    return this.#hostRows(crawl, page).map((row) => this.#hostInfo(row))
  }

  #hostRows(crawl: number, { after, begins, busiest, limit }: HostPage): SqlValue[][] {
    const many = this.#sql.hasManyLanes.get(crawl) !== undefined
    if (busiest && begins === undefined) return this.#sql[many ? 'busiestOfMany' : 'busiestOfFew'].all(crawl, limit)
    const first = begins ?? ''
    // No name holds a control character: behind it comes the next one.
    const from = after === undefined || after < first ? first : `${after}\x01`
    return this.#sql[many ? 'namedOfMany' : 'namedOfFew'].all(crawl, from, first, limit)
  }

  #hostInfo(v: SqlValue[]): HostInfo {
    const hostNum = Number(v[0])
    const specs = [[v[13]], ...this.#sql.specsOfHost.all(hostNum)].map(
      ([spec]) => JSON.parse(String(spec)) as CrawlSpec,
    )
    const all = specs.map((spec) => limitsFor(spec, String(v[1])))
    const settings = {
      delayMs: optional(v[10]),
      concurrency: optional(v[11]),
      floorMs: optional(v[12]),
      blocked: v[16] === 1,
    }
    const set: Limits = withSettings(strictest(all), settings)
    const limits = adapted(set, optional(v[14]))
    const pace = {
      startedAt: Number(v[2]),
      arrivalAt: Number(v[3]),
      inFlight: Number(v[4]),
      blockedUntil: Number(v[5]),
      blockedAt: 0,
      throttleLevel: Number(v[15]),
      closed: settings.blocked,
    }
    return {
      host: String(v[1]),
      pending: Number(v[6]),
      inFlight: pace.inFlight,
      done: Number(v[7]),
      failed: Number(v[8]),
      dead: Number(v[9]),
      delayMs: limits.delayMs,
      slowedFromMs: limits === set ? null : set.delayMs,
      concurrency: limits.concurrency,
      ratePerSecond: limits.rate === undefined ? null : (limits.rate.count / limits.rate.perMs) * 1000,
      nextAt: earliestOpen(pace, limits),
      blockedUntil: pace.blockedUntil > this.#clock.now() ? pace.blockedUntil : null,
      throttles: pace.throttleLevel,
      latencyMs: optional(v[14]),
      set: settingsShown(settings),
    }
  }

  workers(): WorkerInfo[] {
    return this.#sql.workers.all().map((v) => ({
      worker: String(v[0]),
      inFlight: Number(v[1]),
      done: Number(v[2]),
      failed: Number(v[3]),
      startedAt: Number(v[4]),
      seenAt: Number(v[5]),
      progressAt: optional(v[6]),
      about: typeof v[7] === 'string' ? (JSON.parse(v[7]) as WorkerAbout) : null,
      beatAt: optional(v[8]),
      lostAt: optional(v[9]),
    }))
  }

  links(query: LinkQuery): LinkInfo[] {
    this.crawlInfo(query.crawl)
    const crawl = Number(this.#sql.crawlNum.get(query.crawl)?.[0])
    const { state, code = null, host = null, limit } = query
    if (code !== null && state !== undefined && state !== 'dead') return []
    if (state === 'queued') return this.#queued(crawl, query)
    const after = Number(query.after ?? -1)
    const rows =
      state === undefined && code === null
        ? this.#sql.links.all(crawl, after, host, limit)
        : this.#sql.linksIn[state ?? 'dead'].all(
            crawl,
            after,
            host,
            limit,
            ...(state === 'dead' || state === undefined ? [code] : []),
          )
    return rows.map(toLinkInfo)
  }

  /** Lane after lane, as they are handed out: millions that ended before them, or wait with them, cost nothing. */
  #queued(crawl: number, { host, limit, after }: LinkQuery): LinkInfo[] {
    const [lane = -1, rank = 0, seq = 0] = after === undefined ? [] : after.split(' ').map(Number)
    return this.#sql.linksQueued
      .all(crawl, lane, rank, seq, host ?? null, limit)
      .map(([place, ...row]) => ({ ...toLinkInfo(row), cursor: String(place) }))
  }

  explain(id: CrawlId, fp: Fingerprint): Whereabouts {
    const info = this.crawlInfo(id)
    const crawl = Number(this.#sql.crawlNum.get(id)?.[0])
    const row = this.#sql.linkByFp.get(crawl, BigInt.asIntN(64, BigInt(`0x${fp}`)).toString())
    if (row === undefined) return { state: 'unknown' }
    const link = toLinkInfo(row)
    const host = this.#sql.host.get(crawl, link.host)
    if (host === undefined) return { state: 'unknown' }
    const position =
      link.state === 'queued' ? Number(this.#sql.position.get(Number(row[0]), POSITION_CAP)?.[0] ?? 0) : null
    return { state: link.state, link, host: this.#hostInfo(host), position, crawlState: info.state }
  }

  deadByError(id: CrawlId): { code: ErrorCode; count: number; sample: string }[] {
    this.crawlInfo(id)
    return this.#sql.deadByError.all(Number(this.#sql.crawlNum.get(id)?.[0])).map(([code, count, sample]) => ({
      code: String(code) as ErrorCode,
      count: Number(count),
      sample: String(sample),
    }))
  }
}

const optional = (value: SqlValue | undefined): number | null =>
  value === null || value === undefined ? null : Number(value)

function toInfo(v: SqlValue[]): CrawlInfo {
  return {
    id: String(v[0]),
    spider: String(v[1]),
    state: String(v[2]) as CrawlState,
    endedBy: v[3] as CrawlInfo['endedBy'],
    spiderHash: String(v[4]),
    spiderChanges: Number(v[5]),
    createdAt: Number(v[6]),
    startedAt: optional(v[7]),
    finishedAt: optional(v[8]),
    seeding: v[9] === 1,
    ...(typeof v[10] === 'string' && { args: JSON.parse(v[10]) as CrawlArgs }),
  }
}

function toLinkInfo(v: SqlValue[]): LinkInfo {
  const state = STATE_NAMES[Number(v[5])] ?? 'queued'
  return {
    cursor: String(v[0]),
    fp: String(v[1]),
    url: String(v[2]),
    host: String(v[3]),
    route: String(v[4]),
    state,
    depth: Number(v[6]),
    priority: Number(v[7]),
    attempts: Number(v[8]),
    throttles: Number(v[9]),
    reclaims: Number(v[10]),
    addedAt: Number(v[11]),
    dueAt: state === 'delayed' ? optional(v[12]) : null,
    worker: v[13] === null ? null : String(v[13]),
    leasedAt: optional(v[14]),
    endedAt: optional(v[15]),
    failures: v[16] === null ? [] : (JSON.parse(String(v[16])) as LinkInfo['failures']),
    ...(v[17] === null ? {} : { data: JSON.parse(String(v[17])) as Json }),
    ...(v[18] === null ? {} : { request: JSON.parse(String(v[18])) as NonNullable<Link['request']> }),
  }
}

const INFO_COLUMNS =
  'id, spider, state, ended_by, spider_hash, spider_changes, created_at, started_at, finished_at, seeding, ' +
  // A damaged spec is a matter for the check of the file, not a reason to list no crawl.
  "iif(json_valid(spec), json_extract(spec, '$.args'), NULL)"
const LINK_COLUMNS = `links.num, printf('%016x', links.fp), links.url, hosts.host, links.route, links.state, links.depth, links.priority,
  links.attempts, links.throttles, links.reclaims, links.added_at, links.due_at, leases.worker, leases.granted_at, links.ended_at,
  links.failures, links.data, links.request`
const LINK_JOINS = `CROSS JOIN lanes ON lanes.num = links.lane CROSS JOIN hosts ON hosts.num = lanes.host LEFT JOIN leases ON leases.link = links.num`
const LINK_TABLES = `links JOIN lanes ON lanes.num = links.lane JOIN hosts ON hosts.num = lanes.host LEFT JOIN leases ON leases.link = links.num`
const HOST_COLUMNS = `h.num, h.host, h.started_at, h.arrival_at, h.in_flight, h.blocked_until, sum(l.queued + l.delayed), sum(l.done), sum(l.failed),
  sum(l.dead), h.set_delay, h.set_concurrency, h.floor, c.spec, h.latency, h.throttle_level, h.closed`
const NAMED = 'h.host >= ?2 AND h.host < ?3 || char(0x10ffff)'
const BUSIEST = 'sum(l.queued + l.delayed) DESC, h.host'
const HOST_QUERY = `SELECT ${HOST_COLUMNS}
  FROM lanes l JOIN hosts h ON h.num = l.host JOIN crawls c ON c.num = l.crawl`

function prepareViews(db: SqliteDb) {
  const statement = (sql: string): Statement => db.prepare(sql)
  /** The numbers of a page first, from the index alone; then their rows. */
  const linksBy = (index: string | null, holds: string) =>
    statement(
      `SELECT ${LINK_COLUMNS} FROM (SELECT num FROM links ${index === null ? 'NOT INDEXED' : `INDEXED BY ${index}`}
         WHERE crawl = ?1 AND ${holds} AND num > ?2 AND (?3 IS NULL OR lane IN
           (SELECT lanes.num FROM hosts CROSS JOIN lanes ON lanes.host = hosts.num WHERE hosts.host = ?3 AND lanes.crawl = ?1))
         ORDER BY num LIMIT ?4) page
       CROSS JOIN links ON links.num = page.num ${LINK_JOINS} ORDER BY links.num`,
    )
  return {
    watchedSince: statement("SELECT value FROM frontier_meta WHERE name = 'watched_since'"),
    identity: statement("SELECT value FROM frontier_meta WHERE name = 'identity'"),
    crawls: statement(`SELECT ${INFO_COLUMNS} FROM crawls ORDER BY num`),
    crawl: statement(`SELECT ${INFO_COLUMNS} FROM crawls WHERE id = ?`),
    crawlNum: statement('SELECT num FROM crawls WHERE id = ?'),
    counters: statement(
      'SELECT num, total, queued, delayed, leased, done, dead, skipped, failed, retried, throttled, reclaimed, stale, refused, bytes FROM crawls WHERE id = ?',
    ),
    counts: statement('SELECT name, count FROM counts WHERE crawl = ?'),
    filtered: statement('SELECT reason, count, example FROM filtered WHERE crawl = ?'),
    endings: statement('SELECT second, count FROM endings WHERE crawl = ?'),
    hasManyLanes: statement(`SELECT 1 FROM lanes WHERE crawl = ? LIMIT 1 OFFSET ${FEW_LANES}`),
    // Few: all of them are read, and sorted. Many: names are read in their order, as far as the page goes.
    namedOfFew: statement(`${HOST_QUERY} WHERE l.crawl = ?1 AND ${NAMED} GROUP BY h.num ORDER BY h.host LIMIT ?4`),
    namedOfMany: statement(
      `SELECT ${HOST_COLUMNS} FROM hosts h CROSS JOIN lanes l ON l.host = h.num AND l.crawl = ?1 JOIN crawls c ON c.num = l.crawl
       WHERE ${NAMED} GROUP BY h.host ORDER BY h.host LIMIT ?4`,
    ),
    busiestOfFew: statement(`${HOST_QUERY} WHERE l.crawl = ?1 GROUP BY h.num ORDER BY ${BUSIEST} LIMIT ?2`),
    // First which they are, then the rest about them.
    busiestOfMany: statement(
      `${HOST_QUERY} WHERE l.crawl = ?1 AND l.host IN (SELECT host FROM lanes WHERE crawl = ?1 GROUP BY host
       ORDER BY sum(queued + delayed) DESC LIMIT ?2) GROUP BY h.num ORDER BY ${BUSIEST}`,
    ),
    host: statement(`${HOST_QUERY} WHERE l.crawl = ? AND h.host = ? GROUP BY h.num`),
    specsOfHost: statement(
      `SELECT DISTINCT c.spec FROM lanes l JOIN crawls c ON c.num = l.crawl
       WHERE l.host = ? AND l.queued + l.delayed + l.leased > 0 AND c.state = 'running'`,
    ),
    workers: statement(
      `SELECT w.worker, (SELECT count(*) FROM leases WHERE leases.worker = w.worker), w.done, w.failed, w.started_at, w.seen_at,
       w.progress_at, w.about, beats.beat_at, beats.lost_at
       FROM workers w LEFT JOIN beats ON beats.worker = w.worker ORDER BY w.worker`,
    ),
    // Left to itself SQLite begins with the lanes and sorts all links.
    links: statement(
      `SELECT ${LINK_COLUMNS} FROM links NOT INDEXED ${LINK_JOINS} WHERE links.crawl = ?1 AND links.num > ?2
       AND (?3 IS NULL OR hosts.host = ?3) ORDER BY links.num LIMIT ?4`,
    ),
    linksQueued: statement(
      `SELECT links.lane || ' ' || links.rank || ' ' || links.seq, ${LINK_COLUMNS}
       FROM lanes NOT INDEXED CROSS JOIN hosts ON hosts.num = lanes.host
       CROSS JOIN links INDEXED BY links_queue ON links.lane = lanes.num AND links.state = 0
       LEFT JOIN leases ON leases.link = links.num
       WHERE lanes.crawl = ?1 AND lanes.num >= ?2 AND lanes.queued > 0 AND (?5 IS NULL OR hosts.host = ?5)
       AND (links.lane > ?2 OR (links.rank, links.seq) > (?3, ?4)) ORDER BY lanes.num, links.rank, links.seq LIMIT ?6`,
    ),
    linksIn: {
      leased: statement(
        `SELECT ${LINK_COLUMNS} FROM leases CROSS JOIN links ON links.num = leases.link
         CROSS JOIN lanes ON lanes.num = links.lane CROSS JOIN hosts ON hosts.num = lanes.host
         WHERE leases.crawl = ?1 AND links.num > ?2 AND (?3 IS NULL OR hosts.host = ?3) ORDER BY links.num LIMIT ?4`,
      ),
      delayed: linksBy('links_due', 'state = 1'),
      done: linksBy(null, 'state = 3'),
      dead: linksBy('links_dead', 'state = 4 AND (?5 IS NULL OR code = ?5)'),
      skipped: linksBy('links_skipped', 'state = 5'),
    },
    linkByFp: statement(
      `SELECT ${LINK_COLUMNS} FROM ${LINK_TABLES} WHERE links.crawl = ? AND links.fp = CAST(? AS INTEGER)`,
    ),
    position: statement(
      `SELECT count(*) FROM (SELECT 1 FROM links other JOIN links me ON me.num = ?1
       WHERE other.lane = me.lane AND other.state = 0 AND (other.rank, other.seq) < (me.rank, me.seq) LIMIT ?2)`,
    ),
    deadByError: statement(
      // With min(num) SQLite takes the other columns from that very row: the oldest.
      'SELECT code, count(*), url, min(num) FROM links WHERE crawl = ? AND state = 4 GROUP BY code ORDER BY count(*) DESC, code',
    ),
  }
}
