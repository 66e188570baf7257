import { randomUUID } from 'node:crypto'
import type { Clock } from '../../clock.js'
import { ShoalError } from '../../errors.js'
import type { SqliteDb, SqlValue } from '../../sqlite/db.js'
import type { SqliteEngine } from '../../sqlite/engine.js'
import { clampPriority, type Fingerprint, type HostKey, type Link, PRIORITY_MAX } from '../../url/link.js'
import {
  type AddResult,
  type CrawlId,
  type CrawlInfo,
  type CrawlSpec,
  type DeadFilter,
  FAILURES_KEPT,
  type Failure,
  type HostSettings,
  type Lease,
  type LeaseRef,
  type LeaseReply,
  type LeaseRequest,
  type Limits,
  type LinkSteer,
  type LinkSteered,
  type Outcome,
  PERMIT_MAX_MS,
  type Permit,
  REMOVED,
  type Release,
  type RestoredLink,
  type Settlement,
  SOLO_AFTER,
  type WorkerId,
} from '../frontier.js'
import {
  afterEnd,
  afterReport,
  afterStart,
  earliestStart,
  meanLatency,
  permitMs,
  sentFor,
  startsAllowed,
  waitUntil,
} from '../pace.js'
import {
  Counters,
  type CrawlRow,
  type HostRow,
  type LaneRow,
  type LedgerSql,
  lanePace,
  overBudget,
  prepareLedger,
  scoreOf,
} from './counters.js'
import { ReadyLanes } from './ready-lanes.js'
import {
  addFailure,
  type LeaseRow,
  type LinkColumns,
  parseToken,
  rankOf,
  reopen,
  reserve,
  roomFor,
  startLane,
  toLease,
  toLeaseRow,
  toSigned,
} from './rows.js'
import { MIGRATIONS, STATE } from './schema.js'
import { prepareEngine } from './statements.js'
import { SqliteViews } from './views.js'

/** Lanes and due links looked at in one lease call at most: a long line of them is worked off over several calls. */
const PROMOTE_LIMIT = 500
/** Dead letters moved in one transaction, during which everybody waits. */
const DEAD_AT_ONCE = 5_000
const IDLE_MAX_MS = 1_000
/** Rows of hosts, lanes and crawls kept from one transaction to the next; about 400 bytes each. */
const ROWS_KEPT = 50_000
/** Less than this is a clock being adjusted. */
const CLOCK_STEP_MS = 1_000
/** Nobody knows when a slot will be free: ask again after this long. */
const SLOT_WAIT_MS = 100
const NOTHING = { leases: [], drain: false }
/** Seconds of endings kept for the rate. */
const RATE_WINDOW_S = 60

/** What a lease has read of a lane so far. */
interface LaneQueue {
  links: LinkColumns[]
  next: number
  loaded: number
  /** There may be more than was read. */
  more: boolean
  readonly hostLimits: Limits
}

export interface DeadMoved {
  readonly moved: number
  /** Where to go on; null: there are no more. */
  readonly next: number | null
}

/**
 * The frontier on SQLite. Synchronous, inside the caller's transaction. Each method loads the rows it needs into a Counters, changes them,
 * and flushes; links and leases themselves are changed by set statements over JSON arrays, because a call per row costs three times as much.
 */
export class SqliteFrontierEngine extends SqliteViews implements SqliteEngine {
  readonly reads = new Set(['identity', 'crawls', 'stats', 'hosts', 'workers', 'links', 'explain', 'deadByError'])
  readonly #clock: Clock
  readonly #ledgerSql: LedgerSql
  readonly #sql: ReturnType<typeof prepareEngine>
  /** Of the transaction under way. */
  #open: Counters | null = null
  #kept: Counters | null = null
  #keptVersion = 0
  #lastNow = 0
  readonly #names = {
    hosts: new Map<HostKey, number>(),
    lanes: new Map<string, number>(),
    specs: new Map<string, CrawlSpec>(),
  }

  constructor(db: SqliteDb, clock: Clock) {
    super(db, clock)
    this.#clock = clock
    this.#ledgerSql = prepareLedger(db)
    this.#sql = prepareEngine(db)
  }

  static migrate(db: SqliteDb): void {
    db.migrate('frontier', MIGRATIONS)
    db.prepare("INSERT OR IGNORE INTO frontier_meta (name, value) VALUES ('identity', ?), ('epoch', 0)").run(
      randomUUID(),
    )
  }

  /** All calls of a transaction share one counters; what they changed is written here, once. */
  beforeCommit(): void {
    this.#open?.flush()
    this.#open = null
  }

  /** What was learnt inside a transaction that was rolled back is not so. */
  rolledBack(): void {
    this.#open = null
    this.#kept = null
    this.#names.hosts.clear()
    this.#names.lanes.clear()
  }

  /**
   * Rows loaded by earlier transactions are as good as new while no other connection has written: SQLite's data_version says so. With one
   * process, which is the rule, hosts and lanes are read once.
   */
  #counters(): Counters {
    if (this.#open !== null) return this.#open
    const version = Number(this.#sql.dataVersion.get()?.[0])
    if (this.#kept === null || version !== this.#keptVersion || this.#kept.size > ROWS_KEPT) {
      this.#kept = new Counters(this.#ledgerSql, this.#names)
      this.#keptVersion = version
    }
    this.#open = this.#kept
    const now = this.#clock.now()
    // A clock that stepped back: lanes that were to wake by the old time are looked at by the new one.
    if (now < this.#lastNow - CLOCK_STEP_MS) this.#sql.wakeAll.run(now)
    this.#lastNow = now
    this.#open.begin(now)
    return this.#open
  }

  open(spec: CrawlSpec): CrawlInfo {
    const now = this.#clock.now()
    const existing = this.#sql.crawlHash.get(spec.id)
    if (existing === undefined) {
      this.#sql.addCrawl.run(spec.id, spec.spider, spec.spiderHash, JSON.stringify(spec), now)
    } else if (existing[1] === 'running' || existing[1] === 'paused') {
      const changed = existing[0] === spec.spiderHash ? 0 : 1
      const num = Number(existing[2])
      this.beforeCommit()
      this.#sql.changeCrawl.run(spec.spiderHash, changed, JSON.stringify(spec), spec.id)
      const counters = this.#counters()
      counters.forgetCrawl(num)
      // Other limits: what each lane is doing must be decided anew.
      for (const [lane] of this.#sql.lanesOfCrawl.all(num)) counters.lane(Number(lane))
    }
    this.beforeCommit()
    return this.crawlInfo(spec.id)
  }

  mark(): number {
    return Number(this.#sql.nextMark.get()?.[0])
  }

  seeded(id: CrawlId): void {
    const counters = this.#counters()
    counters.crawlById(id).seeding = false
  }

  add(id: CrawlId, links: readonly Link[]): AddResult {
    const counters = this.#counters()
    const crawl = counters.crawlById(id)
    if (crawl.state === 'cancelled') throw new ShoalError('crawl_ended', `crawl ${id} is cancelled`)
    const { added, refused } = this.#addLinks(counters, crawl, links, reserve(crawl, links.length))
    if (added > 0 && crawl.state === 'finished') reopen(crawl)
    return { added, known: links.length - added - refused, refused, pending: crawl.queued + crawl.delayed }
  }

  /**
   * Inserts what is new, in order; `firstSeq` is the place reserved for the first. Row by row: with rows this wide binding beats
   * json_each, and only links that are new may be refused.
   */
  #addLinks(
    counters: Counters,
    crawl: CrawlRow,
    links: readonly Link[],
    firstSeq: number,
  ): { added: number; refused: number } {
    const { budget } = crawl.spec
    let added = 0
    let refused = 0
    links.forEach((link, index) => {
      const fp = toSigned(link.fp)
      const ended = link.again ? this.#sql.endedLink.get(crawl.num, fp) : undefined
      if (roomFor(crawl) < 1 || this.#hostIsFull(counters, crawl, link.host, budget.pagesPerHost)) {
        if (ended !== undefined || this.#sql.known.get(crawl.num, fp) === undefined) refused++
        return
      }
      if (ended !== undefined) this.#visitAgain(counters, crawl, ended, link, firstSeq + index)
      else if (!this.#insert(counters, crawl, fp, link, firstSeq + index)) return
      added++
    })
    crawl.refused += refused
    return { added, refused }
  }

  /** False when it is known. */
  #insert(counters: Counters, crawl: CrawlRow, fp: string, link: Link, seq: number): boolean {
    const { now } = counters
    const delayMs = Math.max(0, link.delayMs ?? 0)
    let laneNum = counters.findLane(crawl, link.host, link.route)
    if (laneNum === undefined) {
      // Lanes stand in the order of their first link: one that is known already makes none.
      if (this.#sql.known.get(crawl.num, fp) !== undefined) return false
      laneNum = counters.addLane(crawl, link.host, link.route)
    }
    const inserted = this.#sql.addLink.run(
      crawl.num,
      fp,
      laneNum,
      delayMs > 0 ? STATE.delayed : STATE.queued,
      rankOf(crawl.spec.order, link.priority, seq),
      seq,
      link.route,
      link.depth,
      link.priority,
      now,
      now + delayMs,
      link.url,
      link.request === undefined ? null : JSON.stringify(link.request),
      link.data === undefined ? null : JSON.stringify(link.data),
    )
    if (inserted === 0) return false
    const lane = counters.lane(laneNum)
    const state = delayMs > 0 ? 'delayed' : 'queued'
    lane.total++
    lane[state]++
    crawl.total++
    crawl[state]++
    return true
  }

  #visitAgain(counters: Counters, crawl: CrawlRow, ended: SqlValue[], link: Link, seq: number): void {
    const [num, oldLane, oldState] = ended.map(Number) as [number, number, number]
    const delayMs = Math.max(0, link.delayMs ?? 0)
    const state = delayMs > 0 ? 'delayed' : 'queued'
    const laneNum = counters.findLane(crawl, link.host, link.route) ?? counters.addLane(crawl, link.host, link.route)
    this.#sql.visitAgain.run(
      laneNum,
      STATE[state],
      rankOf(crawl.spec.order, link.priority, seq),
      seq,
      link.route,
      link.depth,
      link.priority,
      counters.now + delayMs,
      link.url,
      link.request === undefined ? null : JSON.stringify(link.request),
      link.data === undefined ? null : JSON.stringify(link.data),
      num,
    )
    const before = counters.lane(oldLane)
    before.total--
    if (oldState === STATE.done) before.done--
    else if (oldState === STATE.dead) before.dead--
    const lane = counters.lane(laneNum)
    lane.total++
    lane[state]++
    crawl[oldState === STATE.done ? 'done' : oldState === STATE.dead ? 'dead' : 'skipped']--
    crawl[state]++
  }

  restore(id: CrawlId, links: readonly RestoredLink[]): number {
    const counters = this.#counters()
    const crawl = counters.crawlById(id)
    if (crawl.state !== 'paused') {
      throw new ShoalError('usage', `crawl ${id} is ${crawl.state}`, { hint: `Pause it first: shoal pause ${id}` })
    }
    const firstSeq = reserve(crawl, links.length)
    return links.filter((restored, index) => this.#restoreOne(counters, crawl, restored, firstSeq + index)).length
  }

  #restoreOne(counters: Counters, crawl: CrawlRow, restored: RestoredLink, seq: number): boolean {
    const { state, link } = restored
    const fp = toSigned(link.fp)
    if (!this.#insert(counters, crawl, fp, link, seq)) return false
    const [attempts, throttles, reclaims, failures] =
      restored.state === 'done'
        ? [1, 0, 0, []]
        : [restored.attempts, restored.throttles, restored.reclaims, restored.failures.slice(-FAILURES_KEPT)]
    const placed = (link.delayMs ?? 0) > 0 ? 'delayed' : 'queued'
    const last = state === 'pending' ? undefined : failures.at(-1)
    const kept = failures.length === 0 ? null : JSON.stringify(failures)
    const stored = STATE[state === 'pending' ? placed : state]
    this.#sql.setHistory.run(
      stored,
      attempts,
      throttles,
      reclaims,
      last?.at ?? null,
      last?.code ?? null,
      kept,
      crawl.num,
      fp,
    )
    if (state === 'pending') return true
    const lane = counters.lane(counters.findLane(crawl, link.host, link.route) ?? -1)
    lane[placed]--
    crawl[placed]--
    crawl[state]++
    if (state !== 'skipped') lane[state]++
    return true
  }

  #hostIsFull(counters: Counters, crawl: CrawlRow, host: HostKey, pagesPerHost: number | undefined): boolean {
    return pagesPerHost !== undefined && counters.linksOnHost(crawl, host) >= pagesPerHost
  }

  lease(request: LeaseRequest): LeaseReply {
    const now = this.#clock.now()
    const lastSeq = this.#sql.workerSeq.get(request.worker)?.[0]
    const about = request.about === undefined ? null : JSON.stringify(request.about)
    this.#sql.seenWorker.run(request.worker, request.seq, now, about)

    const counters = this.#counters()
    const crawls = this.#servableCrawls(counters, request.spiders)
    for (const crawl of crawls) {
      this.#promoteDue(counters, crawl)
      for (const [lane] of this.#sql.wokenLanes.all(crawl.num, now, PROMOTE_LIMIT)) counters.lane(Number(lane))
    }
    // Writes the phases that the time has changed, so that the search below sees them.
    counters.flush()

    if (lastSeq === request.seq) return { leases: this.#heldBatch(request), idleMs: this.#idleMs(crawls), drain: false }
    const { leases, drain } = request.want > 0 ? this.#takeBest(crawls, request) : NOTHING
    // All that was asked for: there may be more at once. Else what the lanes are doing now decides.
    if (leases.length > 0 && leases.length === request.want) return { leases, idleMs: 1, drain }
    counters.flush()
    return { leases, idleMs: this.#idleMs(crawls), drain }
  }

  #servableCrawls(counters: Counters, spiders: readonly string[]): CrawlRow[] {
    const servable: CrawlRow[] = []
    for (const [num, spider] of this.#sql.runningCrawls.all()) {
      if (!spiders.includes(String(spider))) continue
      const crawl = counters.crawl(Number(num))
      if (overBudget(crawl, counters.now) === null) servable.push(crawl)
    }
    return servable
  }

  /** Links whose time has come join their lanes. */
  #promoteDue(counters: Counters, crawl: CrawlRow): void {
    const due = this.#sql.dueLinks.all(crawl.num, counters.now, PROMOTE_LIMIT)
    if (due.length === 0) return
    this.#sql.setQueued.run(JSON.stringify(due.map(([num]) => num)))
    for (const [, laneNum] of due) {
      const lane = counters.lane(Number(laneNum))
      lane.delayed--
      lane.queued++
      crawl.delayed--
      crawl.queued++
    }
  }

  /** Best head first over all lanes that may serve now; the lane's place is judged anew after each link it gives. */
  #takeBest(crawls: readonly CrawlRow[], request: LeaseRequest): { leases: Lease[]; drain: boolean } {
    // A link that killed workers is alone in its worker until it is settled.
    const held = this.#sql.heldByWorker.get(request.worker)
    if (held !== undefined && Number(held[0]) === 1) return { leases: [], drain: true }
    const counters = this.#counters()
    const now = counters.now
    let drain = false
    const ready = new ReadyLanes(
      this.#sql.readyLanes,
      crawls.map(({ num }) => num),
    )
    const taken: {
      columns: LinkColumns
      lane: LaneRow
      host: HostRow
      crawl: CrawlRow
      solo: boolean
      permitMs: number
    }[] = []
    const loaded = new Map<number, LaneQueue>()
    while (taken.length < request.want) {
      const best = ready.next()
      if (best === undefined) break
      const crawl = counters.crawl(best.crawl)
      const lane = counters.lane(best.lane)
      const host = counters.host(lane.host)
      let queue = loaded.get(lane.num)
      const hostLimits = queue?.hostLimits ?? counters.hostLimits(host, crawl.spec)
      const laneLimits = counters.laneLimits(lane)
      let allowed = startsAllowed(host, hostLimits, now)
      if (laneLimits !== null) allowed = Math.min(allowed, startsAllowed(lanePace(lane), laneLimits, now))
      if (allowed <= 0) continue
      queue ??= { links: [], next: 0, hostLimits, loaded: 0, more: true }
      loaded.set(lane.num, queue)
      const wanted = Math.min(allowed, request.want - taken.length)
      const columns = this.#nextOf(queue, lane, Math.ceil(wanted / (ready.others + 1)) + 1)
      if (columns === undefined) continue
      const solo = columns[8] >= SOLO_AFTER
      if (solo && (held !== undefined || taken.length > 0)) {
        drain = true
        continue
      }
      queue.next++
      Object.assign(host, afterStart(host, hostLimits, now))
      if (laneLimits !== null) startLane(lane, laneLimits, now)
      lane.inFlight++
      lane.queued--
      lane.leased++
      lane.servedAt = now
      crawl.queued--
      crawl.leased++
      crawl.startedAt ??= now
      const permit = Math.min(permitMs(hostLimits), laneLimits === null ? PERMIT_MAX_MS : permitMs(laneLimits))
      taken.push({ columns, lane, host, crawl, solo, permitMs: permit })
      if (solo) break
      const head = taken.length < request.want ? this.#nextOf(queue, lane, wanted) : undefined
      if (head !== undefined) {
        ready.putBack({ lane: lane.num, crawl: crawl.num, score: scoreOf(crawl.spec, now, now, head[5]) })
      }
    }
    if (taken.length === 0) return { leases: [], drain }

    const epoch = Math.max(Number(this.#sql.lastEpoch.get()?.[0] ?? 0) + 1, now * 1000)
    this.#sql.saveEpoch.run(epoch + taken.length - 1)
    this.#sql.setLeased.run(epoch, JSON.stringify(taken.map(({ columns }) => columns[0])))
    taken.forEach(({ columns, lane, crawl, solo, permitMs }, index) => {
      const deadline = now + crawl.spec.visibilityMs
      this.#sql.addLease.run(
        columns[0],
        crawl.num,
        lane.num,
        lane.host,
        request.worker,
        request.seq,
        epoch + index,
        now,
        deadline,
        permitMs,
        now,
        solo ? 1 : 0,
      )
    })
    return {
      leases: taken.map(({ columns, host, crawl, permitMs }, index) =>
        toLease(columns, host.host, crawl.spec, epoch + index, permitMs, crawl.spec.visibilityMs),
      ),
      drain,
    }
  }

  /** The next link of the lane, read ahead by no more than this lease will need of it. */
  #nextOf(queue: LaneQueue, lane: LaneRow, ahead: number): LinkColumns | undefined {
    if (queue.next === queue.links.length && queue.more) {
      const rows = this.#sql.headLinks.get(lane.num, ahead, queue.loaded)
      queue.links = JSON.parse(String(rows?.[0])) as LinkColumns[]
      queue.next = 0
      queue.loaded += queue.links.length
      queue.more = queue.links.length === ahead
    }
    return queue.links[queue.next]
  }

  #heldBatch(request: LeaseRequest): Lease[] {
    const now = this.#clock.now()
    return this.#sql.heldBatch
      .all(request.worker, request.seq, now)
      .map(([json, crawl, host, epoch, permit, grantedAt, deadline]) =>
        toLease(
          JSON.parse(String(json)) as LinkColumns,
          String(host),
          this.specOf(Number(crawl)),
          Number(epoch),
          Math.max(0, Number(permit) - (now - Number(grantedAt))),
          Number(deadline) - now,
        ),
      )
  }

  /** Until the first thing that can change by itself: a lane wakes, a link is due, a lease runs out. */
  #idleMs(crawls: readonly CrawlRow[]): number {
    const now = this.#clock.now()
    let next = Number(this.#sql.nextDeadline.get(now)?.[0] ?? Number.POSITIVE_INFINITY)
    for (const { num } of crawls) {
      if (this.#sql.anyReady.get(num) !== undefined) return 1
      next = Math.min(
        next,
        Number(this.#sql.nextWake.get(num)?.[0] ?? next),
        Number(this.#sql.nextDue.get(num)?.[0] ?? next),
      )
    }
    return Math.max(1, Math.min(IDLE_MAX_MS, Math.ceil(next - now)))
  }

  permit(ref: LeaseRef, hostKey: HostKey): Permit {
    const lease = this.#liveLease(ref)
    if (lease === null) return { ok: false, waitMs: 0, lost: true }
    const counters = this.#counters()
    const { now } = counters
    const host = counters.host(counters.hostNum(hostKey))
    const own = host.num === lease.host
    const limits = counters.hostLimits(host, counters.crawl(lease.crawl).spec)
    const lane = own ? counters.lane(lease.lane) : null
    const laneLimits = lane === null ? null : counters.laneLimits(lane)
    const holds = own ? lease.held : this.#sql.slot.get(lease.link, host.num) !== undefined
    let openAt = earliestStart(host, limits)
    if (lane !== null && laneLimits !== null) openAt = Math.max(openAt, earliestStart(lanePace(lane), laneLimits))
    if (openAt > now) return { ok: false, waitMs: waitUntil(openAt, now), lost: false }
    if (!holds) {
      const laneFull = lane !== null && laneLimits !== null && lane.inFlight >= laneLimits.concurrency
      if (laneFull || host.inFlight >= limits.concurrency) return { ok: false, waitMs: SLOT_WAIT_MS, lost: false }
    }
    Object.assign(host, afterStart(host, limits, now, 1, !holds))
    if (lane !== null) {
      if (!holds) lane.inFlight++
      if (laneLimits !== null) startLane(lane, laneLimits, now)
      this.#sql.holdOwn.run(now, lease.link)
    } else this.#sql.holdSlot.run(lease.link, host.num, now)
    return {
      ok: true,
      permitMs: Math.min(permitMs(limits), laneLimits === null ? PERMIT_MAX_MS : permitMs(laneLimits)),
    }
  }

  release(releases: readonly Release[]): void {
    const counters = this.#counters()
    const { now } = counters
    const leases = this.#leasesOf(releases.map(({ lease }) => lease.token))
    const freed: number[] = []
    for (const { lease: ref, host: hostKey, elapsedMs, report } of releases) {
      const lease = leases.get(ref.token)
      if (lease === undefined || counters.crawl(lease.crawl).id !== ref.crawl) continue
      const host = counters.host(counters.hostNum(hostKey))
      const own = host.num === lease.host
      const slotAt = own ? (lease.held ? lease.slotAt : undefined) : this.#sql.slot.get(lease.link, host.num)?.[0]
      if (slotAt === undefined) continue
      const sentMs = sentFor(report, elapsedMs)
      Object.assign(host, afterReport(afterEnd(host, now, sentMs), report, Number(slotAt), now))
      host.latency = meanLatency(host.latency, report, elapsedMs)
      if (own) {
        lease.held = false
        freed.push(lease.link)
        const lane = counters.lane(lease.lane)
        const { startedAt, inFlight } = afterEnd(lanePace(lane), now, sentMs)
        lane.startedAt = startedAt
        lane.inFlight = inFlight
      } else this.#sql.removeSlot.run(lease.link, host.num)
    }
    if (freed.length > 0) this.#sql.unhold.run(JSON.stringify(freed))
  }

  /** By token; those that do not exist (any more) are missing. */
  #leasesOf(tokens: readonly string[]): Map<string, LeaseRow> {
    const found = new Map<string, LeaseRow>()
    const json = this.#sql.leasesOf.get(JSON.stringify(tokens.map(parseToken)))?.[0]
    for (const row of JSON.parse(String(json)) as SqlValue[][]) {
      const lease = toLeaseRow(row)
      found.set(`${lease.link}:${lease.epoch}`, lease)
    }
    return found
  }

  extend(worker: WorkerId, tokens: readonly string[]): string[] {
    const now = this.#clock.now()
    const lost: string[] = []
    const held: [number, number][] = []
    for (const token of tokens) {
      const lease = this.#leaseOf(token)
      if (lease === null || lease.worker !== worker || lease.deadline <= now) lost.push(token)
      else held.push([lease.link, now + this.specOf(lease.crawl).visibilityMs])
    }
    if (held.length > 0) this.#sql.extendLeases.run(JSON.stringify(held))
    this.#sql.touchWorker.run(now, worker)
    return lost
  }

  #leaseOf(token: string): LeaseRow | null {
    const row = this.#sql.lease.get(...parseToken(token))
    return row === undefined ? null : toLeaseRow(row)
  }

  /** A lease that has run out is lost even if nobody has reaped it yet: its holder may have slept for an hour. */
  #liveLease(ref: LeaseRef): LeaseRow | null {
    const lease = this.#leaseOf(ref.token)
    return lease !== null && lease.deadline > this.#clock.now() && this.specOf(lease.crawl).id === ref.crawl
      ? lease
      : null
  }

  settle(settlements: readonly Settlement[]): boolean[] {
    const counters = this.#counters()
    const { now } = counters
    const live = this.#leasesOf(settlements.map(({ lease }) => lease.token))
    const settled = new Set<LeaseRow>()
    const done: number[] = []
    const answers = settlements.map(({ lease: ref, outcome }) => {
      const lease = live.get(ref.token)
      if (lease === undefined || lease.deadline <= now || counters.crawl(lease.crawl).id !== ref.crawl) {
        return this.#settledBefore(counters, ref)
      }
      if (settled.has(lease)) return true
      settled.add(lease)
      const crawl = counters.crawl(lease.crawl)
      const lane = counters.lane(lease.lane)
      lane.leased--
      crawl.leased--
      if (outcome.kind === 'done') {
        done.push(lease.link)
        lane.done++
        crawl.done++
        crawl.bytes += outcome.bytes
        if (crawl.state !== 'cancelled') {
          this.#addLinks(counters, crawl, outcome.links, reserve(crawl, outcome.links.length))
        }
      } else this.#settleOther(counters, lease, crawl, lane, outcome)
      return true
    })
    if (done.length > 0) this.#sql.setDone.run(now, JSON.stringify(done))
    this.#dropLeases(counters, [...settled])
    this.#tally(counters, settlements, live, settled)
    return answers
  }

  /** No such lease: settled by an earlier try of this very call, or lost. */
  #settledBefore(counters: Counters, ref: LeaseRef): boolean {
    const [num, epoch] = parseToken(ref.token)
    if (this.#sql.settledAs.get(num, epoch, ref.crawl) !== undefined) return true
    if (this.#ledgerSql.crawlNum.get(ref.crawl) !== undefined) counters.crawlById(ref.crawl).stale++
    return false
  }

  #settleOther(
    counters: Counters,
    lease: LeaseRow,
    crawl: CrawlRow,
    lane: LaneRow,
    outcome: Exclude<Outcome, { kind: 'done' }>,
  ): void {
    const { now } = counters
    const [priority, rank, seq, failures] = this.#sql.linkForSettle.get(lease.link) ?? []
    const link = { priority: Number(priority), rank: Number(rank), seq: Number(seq) }
    const kept = outcome.kind === 'back' ? (failures ?? null) : addFailure(failures, outcome.failure, now)
    if (outcome.kind === 'dead' || outcome.kind === 'skipped') {
      const dead = outcome.kind === 'dead'
      this.#sql.setEnded.run(STATE[outcome.kind], now, dead ? 1 : 0, outcome.failure.code, kept, lease.link)
      crawl[outcome.kind]++
      if (dead) {
        lane.dead++
        lane.failed++
        crawl.failed++
      }
      return
    }
    const counts = outcome.kind === 'retry' && outcome.countsAsAttempt
    if (counts) {
      link.priority = clampPriority(link.priority - crawl.spec.retryPriorityStep)
      link.seq = reserve(crawl, 1)
      link.rank = rankOf(crawl.spec.order, link.priority, link.seq)
      lane.failed++
      crawl.failed++
      crawl.retried++
    } else if (outcome.kind === 'retry') crawl.throttled++
    const delayed = outcome.afterMs > 0
    this.#sql.setBack.run(
      delayed ? STATE.delayed : STATE.queued,
      now + Math.max(0, outcome.afterMs),
      link.priority,
      link.rank,
      link.seq,
      counts ? 1 : 0,
      outcome.kind === 'retry' && !counts ? 1 : 0,
      kept,
      outcome.kind === 'retry' ? outcome.failure.code : null,
      lease.epoch,
      lease.link,
    )
    const state = delayed ? 'delayed' : 'queued'
    lane[state]++
    crawl[state]++
  }

  /** Counters per worker, and the endings that make the rate. */
  #tally(
    counters: Counters,
    settlements: readonly Settlement[],
    live: ReadonlyMap<string, LeaseRow>,
    settled: ReadonlySet<LeaseRow>,
  ): void {
    const workers = new Map<WorkerId, { done: number; failed: number; ended: number }>()
    const endings = new Map<number, number>()
    for (const { lease: ref, outcome } of settlements) {
      const lease = live.get(ref.token)
      if (lease === undefined || !settled.has(lease)) continue
      const tally = workers.get(lease.worker) ?? { done: 0, failed: 0, ended: 0 }
      workers.set(lease.worker, tally)
      if (outcome.kind === 'done') tally.done++
      else if (outcome.kind === 'dead' || (outcome.kind === 'retry' && outcome.countsAsAttempt)) tally.failed++
      if (outcome.kind === 'retry' || outcome.kind === 'back') continue
      tally.ended = 1
      endings.set(lease.crawl, (endings.get(lease.crawl) ?? 0) + 1)
    }
    for (const [worker, { done, failed, ended }] of workers)
      this.#sql.tallyWorker.run(done, failed, counters.now, ended, worker)
    for (const [crawl, count] of endings) this.#countEndings(crawl, count, counters.now)
  }

  /** Takes leases away with every slot they hold. */
  #dropLeases(counters: Counters, leases: readonly LeaseRow[]): void {
    if (leases.length === 0) return
    const ids = JSON.stringify(leases.map(({ link }) => link))
    for (const [host] of this.#sql.slotsOf.all(ids)) {
      const row = counters.host(Number(host))
      row.inFlight = Math.max(0, row.inFlight - 1)
    }
    for (const lease of leases) {
      if (!lease.held) continue
      const host = counters.host(lease.host)
      host.inFlight = Math.max(0, host.inFlight - 1)
      const lane = counters.lane(lease.lane)
      lane.inFlight = Math.max(0, lane.inFlight - 1)
    }
    this.#sql.removeLeases.run(ids)
    this.#sql.removeSlots.run(ids)
  }

  #countEndings(crawl: number, count: number, now: number): void {
    const second = Math.floor(now / 1000)
    this.#sql.countEnding.run(crawl, second, count)
    this.#sql.forgetEndings.run(crawl, second - RATE_WINDOW_S - 1)
  }

  reap(limit: number): number {
    return this.#reclaim(this.#sql.expiredLeases.all(this.#clock.now(), limit).map(toLeaseRow))
  }

  forfeit(worker: WorkerId): number {
    const reclaimed = this.#reclaim(this.#sql.leasesOfWorker.all(worker).map(toLeaseRow))
    this.#sql.forgetWorker.run(worker)
    return reclaimed
  }

  /** Leases that ran out: their links go back, or die when they have taken too many workers with them. */
  #reclaim(leases: readonly LeaseRow[]): number {
    if (leases.length === 0) return 0
    const counters = this.#counters()
    const { now } = counters
    for (const lease of leases) {
      const crawl = counters.crawl(lease.crawl)
      const lane = counters.lane(lease.lane)
      lane.leased--
      crawl.leased--
      crawl.reclaimed++
      const [reclaims, failures] = this.#sql.reclaimed.get(now, lease.link) ?? []
      if (Number(reclaims) >= SOLO_AFTER + crawl.spec.maxReclaims) {
        const failure: Failure = { code: 'poison', message: `its lease ran out ${reclaims} times` }
        this.#sql.setEnded.run(STATE.dead, now, 0, 'poison', addFailure(failures, failure, now), lease.link)
        lane.dead++
        crawl.dead++
        this.#countEndings(crawl.num, 1, now)
      } else {
        lane.queued++
        crawl.queued++
      }
    }
    this.#dropLeases(counters, leases)
    return leases.length
  }

  setState(id: CrawlId, state: 'running' | 'paused' | 'cancelled'): void {
    const counters = this.#counters()
    const crawl = counters.crawlById(id)
    if (crawl.state === state) return
    if (crawl.state === 'finished' || crawl.state === 'cancelled') {
      throw new ShoalError('crawl_ended', `crawl ${id} is ${crawl.state}`)
    }
    crawl.state = state
    if (state === 'cancelled') crawl.finishedAt = counters.now
    // Its limits begin or cease to hold for the other crawls of its hosts.
    for (const [host] of this.#sql.sharedHosts.all(crawl.num)) counters.host(Number(host))
    // While it was paused nobody looked after its lanes.
    if (state === 'running') for (const [lane] of this.#sql.lanesOfCrawl.all(crawl.num)) counters.lane(Number(lane))
  }

  remove(id: CrawlId): void {
    const counters = this.#counters()
    const crawl = counters.crawlById(id)
    if (crawl.state !== 'finished' && crawl.state !== 'cancelled') {
      throw new ShoalError('usage', `crawl ${id} is ${crawl.state}`, { hint: `Cancel it first: shoal cancel ${id}` })
    }
    this.#dropLeases(counters, this.#sql.leasesOfCrawl.all(crawl.num).map(toLeaseRow))
    this.beforeCommit()
    for (const table of ['links', 'lanes', 'endings'])
      this.db.prepare(`DELETE FROM ${table} WHERE crawl = ?`).run(crawl.num)
    this.db.prepare('DELETE FROM crawls WHERE num = ?').run(crawl.num)
    this.rolledBack()
  }

  /** Dead letters behind `after`, as many as one call takes. */
  replay(id: CrawlId, filter: DeadFilter, after: number): DeadMoved {
    const counters = this.#counters()
    const crawl = counters.crawlById(id)
    if (crawl.state === 'cancelled') throw new ShoalError('crawl_ended', `crawl ${id} is cancelled`)
    const dead = this.#deadLinks(crawl, filter, after)
    for (const [num, laneNum] of dead) {
      const lane = counters.lane(Number(laneNum))
      lane.dead--
      lane.queued++
      crawl.dead--
      crawl.queued++
      this.#sql.revive.run(counters.now, Number(num))
    }
    if (dead.length > 0 && crawl.state === 'finished') reopen(crawl)
    return movedOf(dead)
  }

  purge(id: CrawlId, filter: DeadFilter, after: number): DeadMoved {
    const counters = this.#counters()
    const crawl = counters.crawlById(id)
    const dead = this.#deadLinks(crawl, filter, after)
    for (const [num, laneNum] of dead) {
      counters.lane(Number(laneNum)).dead--
      crawl.dead--
      crawl.skipped++
      this.#sql.giveUp.run(Number(num))
    }
    return movedOf(dead)
  }

  #deadLinks(crawl: CrawlRow, { fp, code, host }: DeadFilter, after: number): SqlValue[][] {
    const holds = [crawl.num, code ?? null, host ?? null, after]
    return fp === undefined
      ? this.#sql.deadLinks.all(...holds, DEAD_AT_ONCE)
      : this.#sql.deadLink.all(...holds, toSigned(fp))
  }

  steer(id: CrawlId, fp: Fingerprint, hostKey: HostKey, order: LinkSteer): LinkSteered {
    const counters = this.#counters()
    const crawl = counters.crawlById(id)
    if (crawl.state === 'cancelled' && order !== 'remove')
      throw new ShoalError('crawl_ended', `crawl ${id} is cancelled`)
    const row = this.#sql.linkToSteer.get(crawl.num, toSigned(fp), hostKey)
    if (row === undefined) return 'unknown'
    const [num, laneNum, state, dueAt, priority] = row.map(Number) as [number, number, number, number, number]
    if (state === STATE.leased) return 'in_flight'
    if (state === STATE.dead && order === 'retry') return this.replay(id, { fp }, 0).moved > 0 ? 'ok' : 'ended'
    if (order === 'remove' && (state === STATE.dead || state === STATE.queued || state === STATE.delayed)) {
      this.#removeLink(counters, crawl, num, laneNum, state, addFailure(row[5], REMOVED, counters.now))
      return 'ok'
    }
    if (state !== STATE.queued && state !== STATE.delayed) return 'ended'
    if (order === 'promote') this.#promote(crawl, num, priority, counters.now)
    else if (state === STATE.delayed && dueAt > counters.now) this.#sql.dueNow.run(counters.now, num)
    else return 'ok'
    const lane = counters.lane(laneNum)
    if (state === STATE.delayed) {
      lane.delayed--
      lane.queued++
      crawl.delayed--
      crawl.queued++
    }
    return 'ok'
  }

  /** Places grow from zero; those in front of them go down. */
  #promote(crawl: CrawlRow, num: number, priority: number, now: number): void {
    const { order } = crawl.spec
    const next = reserve(crawl, 1)
    const seq = order === 'lifo' ? next : -1 - next
    const raised = order === 'priority' ? PRIORITY_MAX : priority
    this.#sql.promote.run(now, raised, rankOf(order, raised, seq), seq, num)
  }

  #removeLink(
    counters: Counters,
    crawl: CrawlRow,
    num: number,
    laneNum: number,
    state: number,
    failures: string,
  ): void {
    const lane = counters.lane(laneNum)
    crawl.skipped++
    if (state === STATE.dead) {
      lane.dead--
      crawl.dead--
      this.#sql.removeDead.run(REMOVED.code, failures, num)
      return
    }
    const from = state === STATE.delayed ? 'delayed' : 'queued'
    lane[from]--
    lane.servedAt = counters.now
    crawl[from]--
    this.#sql.setEnded.run(STATE.skipped, counters.now, 0, REMOVED.code, failures, num)
    this.#countEndings(crawl.num, 1, counters.now)
  }

  setHost(hostKey: HostKey, settings: HostSettings): void {
    const counters = this.#counters()
    const host = counters.host(counters.hostNum(hostKey))
    if (settings.delayMs !== undefined) host.setDelay = settings.delayMs
    if (settings.concurrency !== undefined) host.setConcurrency = settings.concurrency
    if (settings.floorMs !== undefined) host.floor = settings.floorMs
    if (settings.blocked !== undefined) host.closed = settings.blocked === true
  }
}

function movedOf(dead: readonly SqlValue[][]): DeadMoved {
  const last = dead.at(-1)?.[0]
  return { moved: dead.length, next: dead.length < DEAD_AT_ONCE ? null : Number(last) }
}
