import { ShoalError } from '../../errors.js'
import type { HostKey } from '../../url/link.js'
import type { CrawlId, CrawlInfo, CrawlSpec, Limits, LinkState } from '../frontier.js'
import { adapted, earliestStart, laneScore, limitsFor, notAhead, strictest, withSettings } from '../pace.js'
import { unknownCrawl } from '../refusals.js'
import type { Counts } from '../transitions.js'
import {
  type CountersSql,
  type CrawlRow,
  cachedSpec,
  type HostRow,
  type LaneRow,
  lanePace,
  toCrawl,
  toHost,
  toLane,
} from './counter-rows.js'
import { PHASE } from './schema.js'

/** Rows of hosts and lanes that never move: found by name once. */
interface Names {
  readonly hosts: Map<HostKey, number>
  readonly lanes: Map<string, number>
  readonly specs: Map<string, CrawlSpec>
}

const NAMES_KEPT = 200_000

/** One link changes its state: the counters of its lane and its crawl follow. A lane does not count skipped links. */
export function moveLink(crawl: CrawlRow, lane: LaneRow, from: LinkState, to: LinkState): void {
  crawl[from]--
  crawl[to]++
  if (from !== 'skipped') lane[from]--
  if (to !== 'skipped') lane[to]++
}

export function addCounts(crawl: CrawlRow, lane: LaneRow, counts: Counts): void {
  const { bytes = 0, failed = 0, retried = 0, throttled = 0, reclaimed = 0 } = counts
  crawl.bytes += bytes
  crawl.failed += failed
  lane.failed += failed
  crawl.retried += retried
  crawl.throttled += throttled
  crawl.reclaimed += reclaimed
}

/**
 * The rows that the calls of a transaction touch: loaded once, changed in place, written back by `flush`, which also schedules each lane of
 * a touched host again.
 */
export class Counters {
  /** The time of the transaction. */
  now = 0
  readonly #sql: CountersSql
  readonly #names: Names
  readonly #crawls = new Map<number, CrawlRow>()
  readonly #hosts = new Map<number, HostRow>()
  readonly #lanes = new Map<number, LaneRow>()
  /** Hosts whose lanes must be scheduled again, and among them those whose own row has changed. */
  readonly #dirtyHosts = new Set<number>()
  readonly #changedHosts = new Set<number>()
  readonly #dirtyCrawls = new Set<number>()
  readonly #dirtyLanes = new Set<number>()
  readonly #dirtyLaneOfHost = new Map<number, number>()
  /** Crawls that have lanes of routes in addition to those of hosts. */
  readonly #routeLanes = new Map<number, boolean>()
  #running: Set<CrawlId> | undefined

  constructor(sql: CountersSql, names: Names) {
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

  /** The crawl's row was changed by a statement of its own. */
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
    const crawl = this.findCrawl(id)
    if (crawl === undefined) throw unknownCrawl(id)
    return crawl
  }

  findCrawl(id: CrawlId): CrawlRow | undefined {
    const num = this.#sql.crawlNum.get(id)
    return num === undefined ? undefined : this.crawl(Number(num[0]))
  }

  /** Only to read: the crawl's row is not written for it. */
  spec(num: number): CrawlSpec {
    return this.#peekCrawl(num).spec
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
      if (values === undefined) throw new ShoalError('db_corrupt', `host ${num} is gone from the queue`)
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
      if (values === undefined) throw new ShoalError('db_corrupt', `lane ${num} is gone from the queue`)
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
        .map(([num, spec]) => limitsFor(cachedSpec(this.#names.specs, Number(num), String(spec)), host.host))
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
    return lane.route === '' ? null : (this.spec(lane.crawl).routeLimits[lane.route] ?? null)
  }

  #peekCrawl(num: number): CrawlRow {
    const dirty = this.#dirtyCrawls.has(num)
    const row = this.crawl(num)
    if (!dirty) this.#dirtyCrawls.delete(num)
    return row
  }

  /** Decides the lane's phase from now on. */
  #schedule(lane: LaneRow): void {
    if (lane.queued === 0) {
      lane.phase = PHASE.idle
      return
    }
    const spec = this.spec(lane.crawl)
    const host = this.#peekHost(lane.host)
    const hostLimits = this.hostLimits(host, spec)
    const laneLimits = this.laneLimits(lane)
    let openAt = earliestStart(host, hostLimits)
    if (laneLimits !== null) openAt = Math.max(openAt, earliestStart(lanePace(lane), laneLimits))
    if (!Number.isFinite(openAt)) {
      // Closed by hand: opening the host touches its lanes.
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
    return !this.#othersRun(this.spec(lane.crawl).id) && !this.#hasRouteLanes(lane.crawl)
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
