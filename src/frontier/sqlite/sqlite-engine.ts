import { randomUUID } from 'node:crypto'
import type { Clock } from '../../clock.js'
import { ShoalError } from '../../errors.js'
import type { SqliteDb, SqlValue, Statement } from '../../sqlite/db.js'
import type { SqliteEngine } from '../../sqlite/engine.js'
import { clampPriority, type HostKey, type Json, type Link, type RequestExtras } from '../../url/link.js'
import {
  type AddResult,
  type CrawlId,
  type CrawlInfo,
  type CrawlSpec,
  type DeadFilter,
  type Failure,
  FAILURES_KEPT,
  type HostSettings,
  type Lease,
  type LeaseRef,
  type LeaseReply,
  type LeaseRequest,
  type Outcome,
  type Permit,
  type Release,
  type Settlement,
  SOLO_AFTER,
  type WorkerId,
} from '../frontier.js'
import { afterEnd, afterReport, afterStart, earliestStart, meanLatency, permitMs, startsAllowed } from '../pace.js'
import { type CrawlRow, type HostRow, type LaneRow, Ledger, type LedgerSql, lanePace, overBudget, prepareLedger, scoreOf } from './ledger.js'
import { MIGRATIONS, PHASE, STATE } from './schema.js'
import { SqliteViews } from './views.js'

/** Lanes and due links looked at in one lease call at most: a long line of them is worked off over several calls. */
const PROMOTE_LIMIT = 500
const IDLE_MAX_MS = 1_000
/** A full host frees up when somebody has read a body to its end: ask again soon. */
const FULL_HOST_WAIT_MS = 50
/** Seconds of endings kept for the rate. */
const RATE_WINDOW_S = 60

interface LeaseRow {
  readonly link: number
  readonly crawl: number
  readonly lane: number
  readonly host: number
  readonly worker: WorkerId
  readonly epoch: number
  readonly grantedAt: number
  readonly deadline: number
  held: boolean
  readonly solo: boolean
}

/** Columns of a queued link that a lease needs, as SQLite's JSON delivers them. */
type LinkColumns = [num: number, fp: string, url: string, route: string, depth: number, priority: number, attempts: number, throttles: number, reclaims: number, bypass: number, request: RequestExtras | null, data: Json | null]

const LINK_JSON =
  "json_array(num, printf('%016x', fp), url, route, depth, priority, attempts, throttles, reclaims, bypass_fresh, json(request), json(data))"


/**
 * The frontier on SQLite. Synchronous, inside the caller's transaction. Each method loads the rows it needs into a Ledger, changes them,
 * and flushes; links and leases themselves are changed by set statements over JSON arrays, because a call per row costs three times as much.
 */
export class SqliteFrontierEngine extends SqliteViews implements SqliteEngine {
  readonly reads = new Set(['identity', 'crawls', 'stats', 'hosts', 'workers', 'links', 'explain', 'deadByError'])
  readonly #clock: Clock
  readonly #ledgerSql: LedgerSql
  readonly #sql: ReturnType<typeof prepareEngine>
  readonly #names = { hosts: new Map<HostKey, number>(), lanes: new Map<string, number>(), specs: new Map<string, CrawlSpec>() }

  constructor(db: SqliteDb, clock: Clock) {
    super(db, clock)
    this.#clock = clock
    this.#ledgerSql = prepareLedger(db)
    this.#sql = prepareEngine(db)
  }

  static migrate(db: SqliteDb): void {
    db.migrate('frontier', MIGRATIONS)
    db.prepare("INSERT OR IGNORE INTO frontier_meta (name, value) VALUES ('identity', ?), ('epoch', 0)").run(randomUUID())
  }

  /** Row numbers learnt inside a transaction that was rolled back do not exist. */
  rolledBack(): void {
    this.#names.hosts.clear()
    this.#names.lanes.clear()
  }

  #ledger(): Ledger {
    return new Ledger(this.#ledgerSql, this.#names, this.#clock.now())
  }

  open(spec: CrawlSpec): CrawlInfo {
    const now = this.#clock.now()
    const existing = this.#sql.crawlHash.get(spec.id)
    if (existing === undefined) {
      this.#sql.addCrawl.run(spec.id, spec.spider, spec.spiderHash, JSON.stringify(spec), now)
    } else if (existing[1] === 'running' || existing[1] === 'paused') {
      const changed = existing[0] === spec.spiderHash ? 0 : 1
      this.#sql.changeCrawl.run(spec.spiderHash, changed, JSON.stringify(spec), spec.id)
      const ledger = this.#ledger()
      const crawl = ledger.crawlById(spec.id)
      // Other limits: what each lane is doing must be decided anew.
      for (const [lane] of this.#sql.lanesOfCrawl.all(crawl.num)) ledger.lane(Number(lane))
      ledger.flush()
    }
    return this.crawlInfo(spec.id)
  }

  seeded(id: CrawlId): void {
    const ledger = this.#ledger()
    ledger.crawlById(id).seeding = false
    ledger.flush()
  }

  add(id: CrawlId, links: readonly Link[]): AddResult {
    const ledger = this.#ledger()
    const crawl = ledger.crawlById(id)
    if (crawl.state === 'cancelled') throw new ShoalError('crawl_ended', `crawl ${id} is cancelled`)
    const { added, refused } = this.#addLinks(ledger, crawl, links, false)
    if (added > 0 && crawl.state === 'finished') reopen(crawl)
    ledger.flush()
    return { added, known: links.length - added - refused, refused, pending: crawl.queued + crawl.delayed }
  }

  /** Inserts what is new. `found` links obey maxPending; seeds wait at their source instead. */
  #addLinks(ledger: Ledger, crawl: CrawlRow, links: readonly Link[], found: boolean): { added: number; refused: number } {
    if (links.length === 0) return { added: 0, refused: 0 }
    const { spec } = crawl
    const pendingRoom =
      found && spec.overflow === 'refuse' ? spec.maxPending - crawl.queued - crawl.delayed : Number.POSITIVE_INFINITY
    const pagesRoom = (spec.budget.pages ?? Number.POSITIVE_INFINITY) - crawl.total
    const room = Math.min(pendingRoom, pagesRoom)
    if (room >= links.length && spec.budget.pagesPerHost === undefined) {
      return { added: this.#insert(ledger, crawl, links), refused: 0 }
    }
    // Near a limit: one by one, because only links that are new may be refused.
    let added = 0
    let refused = 0
    for (const link of links) {
      if (this.#sql.known.get(crawl.num, toSigned(link.fp)) !== undefined) continue
      const full = added >= room || this.#hostTotal(crawl, link.host) >= (spec.budget.pagesPerHost ?? Number.POSITIVE_INFINITY)
      if (full) refused++
      else added += this.#insert(ledger, crawl, [link])
    }
    crawl.refused += refused
    return { added, refused }
  }

  #hostTotal(crawl: CrawlRow, host: HostKey): number {
    return Number(this.#sql.hostTotal.get(crawl.num, host)?.[0] ?? 0)
  }

  #insert(ledger: Ledger, crawl: CrawlRow, links: readonly Link[]): number {
    const { order } = crawl.spec
    const now = ledger.now
    const rows = links.map((link, index) => {
      const seq = crawl.nextSeq + index
      return [
        toSigned(link.fp),
        ledger.laneNum(crawl, link.host, link.route),
        link.delayMs !== undefined && link.delayMs > 0 ? STATE.delayed : STATE.queued,
        rankOf(order, link.priority, seq),
        seq,
        link.route,
        link.depth,
        link.priority,
        now + (link.delayMs ?? 0),
        link.url,
        link.request === undefined ? null : JSON.stringify(link.request),
        link.data === undefined ? null : JSON.stringify(link.data),
      ]
    })
    crawl.nextSeq += links.length
    const inserted = this.#sql.addLinks.all(crawl.num, now, JSON.stringify(rows))
    for (const [laneNum, state] of inserted) {
      const lane = ledger.lane(Number(laneNum))
      lane.total++
      if (state === STATE.delayed) {
        lane.delayed++
        crawl.delayed++
      } else {
        lane.queued++
        crawl.queued++
      }
    }
    crawl.total += inserted.length
    // pagesPerHost is counted from the lanes' rows: they must be current before the next link is judged.
    if (crawl.spec.budget.pagesPerHost !== undefined) for (const [lane] of inserted) this.#sql.saveLaneTotal.run(ledger.lane(Number(lane)).total, Number(lane))
    return inserted.length
  }

  lease(request: LeaseRequest): LeaseReply {
    const now = this.#clock.now()
    const lastSeq = Number(this.#sql.workerSeq.get(request.worker)?.[0] ?? 0)
    this.#sql.seenWorker.run(request.worker, Math.max(lastSeq, request.seq), now)
    if (request.seq <= lastSeq) return { leases: this.#heldBatch(request), idleMs: 1, drain: false }

    const ledger = this.#ledger()
    this.#promoteDue(ledger)
    const crawls = this.#servableCrawls(ledger, request.spiders)
    for (const crawl of crawls) {
      for (const [lane] of this.#sql.wokenLanes.all(crawl.num, now, PROMOTE_LIMIT)) ledger.lane(Number(lane))
    }
    // Writes the phases that the time has changed, so that the search below sees them.
    ledger.flush()

    const { leases, drain } = request.want > 0 ? this.#takeBest(crawls, request) : { leases: [], drain: false }
    return { leases, idleMs: leases.length > 0 ? 1 : this.#idleMs(crawls), drain }
  }

  #servableCrawls(ledger: Ledger, spiders: readonly string[]): CrawlRow[] {
    const servable: CrawlRow[] = []
    for (const [num, spider] of this.#sql.runningCrawls.all()) {
      if (!spiders.includes(String(spider))) continue
      const crawl = ledger.crawl(Number(num))
      if (overBudget(crawl, ledger.now) === null) servable.push(crawl)
    }
    return servable
  }

  /** Links whose time has come join their lanes. */
  #promoteDue(ledger: Ledger): void {
    const due = this.#sql.dueLinks.all(ledger.now, PROMOTE_LIMIT)
    if (due.length === 0) return
    this.#sql.setQueued.run(JSON.stringify(due.map(([num]) => num)))
    for (const [, laneNum, crawlNum] of due) {
      const lane = ledger.lane(Number(laneNum))
      const crawl = ledger.crawl(Number(crawlNum))
      lane.delayed--
      crawl.delayed--
      lane.queued++
      crawl.queued++
    }
  }

  /** Best head first over all lanes that may serve now; the lane's place is judged anew after each link it gives. */
  #takeBest(crawls: readonly CrawlRow[], request: LeaseRequest): { leases: Lease[]; drain: boolean } {
    const ledger = this.#ledger()
    const now = ledger.now
    const ready: { lane: number; crawl: number; score: number }[] = []
    for (const crawl of crawls) {
      for (const [lane, score] of this.#sql.readyLanes.all(crawl.num, request.want)) {
        ready.push({ lane: Number(lane), crawl: crawl.num, score: Number(score) })
      }
    }
    ready.sort(byScore)
    let holdsNothing: boolean | undefined
    let drain = false
    const taken: { columns: LinkColumns; lane: LaneRow; host: HostRow; crawl: CrawlRow; solo: boolean; permitMs: number }[] = []
    const loaded = new Map<number, { links: LinkColumns[]; next: number; hostLimits: ReturnType<Ledger['hostLimits']> }>()
    while (taken.length < request.want && ready.length > 0) {
      const best = ready.shift()
      if (best === undefined) break
      const crawl = ledger.crawl(best.crawl)
      const lane = ledger.lane(best.lane)
      const host = ledger.host(lane.host)
      let queue = loaded.get(lane.num)
      const hostLimits = queue?.hostLimits ?? ledger.hostLimits(host, crawl.spec)
      const laneLimits = ledger.laneLimits(lane)
      let allowed = startsAllowed(host, hostLimits, now)
      if (laneLimits !== null) allowed = Math.min(allowed, startsAllowed(lanePace(lane), laneLimits, now))
      if (allowed <= 0) continue
      if (queue === undefined) {
        const rows = this.#sql.headLinks.get(lane.num, Math.min(allowed, request.want - taken.length))
        queue = { links: JSON.parse(String(rows?.[0])) as LinkColumns[], next: 0, hostLimits }
        loaded.set(lane.num, queue)
      }
      const columns = queue.links[queue.next]
      if (columns === undefined) continue
      const solo = columns[8] >= SOLO_AFTER
      if (solo) {
        holdsNothing ??= this.#sql.heldByWorker.get(request.worker) === undefined
        if (!holdsNothing || taken.length > 0) {
          drain ||= !holdsNothing
          continue
        }
      }
      queue.next++
      Object.assign(host, afterStart(host, hostLimits, now))
      if (laneLimits !== null) {
        const pace = afterStart(lanePace(lane), laneLimits, now)
        lane.startedAt = pace.startedAt
        lane.arrivalAt = pace.arrivalAt
      }
      lane.inFlight++
      lane.queued--
      lane.leased++
      lane.servedAt = now
      crawl.queued--
      crawl.leased++
      crawl.startedAt ??= now
      taken.push({ columns, lane, host, crawl, solo, permitMs: permitMs(hostLimits) })
      if (solo) break
      const head = queue.links[queue.next]
      if (head !== undefined) {
        ready.push({ lane: lane.num, crawl: crawl.num, score: scoreOf(crawl.spec, now, now, head[5]) })
        ready.sort(byScore)
      }
    }
    if (taken.length === 0) return { leases: [], drain }

    const epoch = Math.max(Number(this.#sql.lastEpoch.get()?.[0] ?? 0) + 1, now * 1000)
    this.#sql.saveEpoch.run(epoch + taken.length - 1)
    const rows = taken.map(({ columns, lane, crawl, solo }, index) => [
      columns[0], crawl.num, lane.num, lane.host, epoch + index, now + crawl.spec.visibilityMs, solo ? 1 : 0,
    ])
    const json = JSON.stringify(rows)
    this.#sql.setLeased.run(json)
    this.#sql.addLeases.run(request.worker, request.seq, now, json)
    ledger.flush()
    return {
      leases: taken.map(({ columns, host, crawl, permitMs }, index) => toLease(columns, host.host, crawl.spec, epoch + index, permitMs)),
      drain,
    }
  }

  #heldBatch(request: LeaseRequest): Lease[] {
    const ledger = this.#ledger()
    return this.#sql.heldBatch.all(request.worker, request.seq).map(([json, crawlNum, hostNum, epoch]) => {
      const crawl = ledger.crawl(Number(crawlNum))
      const host = ledger.host(Number(hostNum))
      return toLease(JSON.parse(String(json)) as LinkColumns, host.host, crawl.spec, Number(epoch), permitMs(ledger.hostLimits(host, crawl.spec)))
    })
  }

  /** Until the first thing that can change by itself: a lane wakes, a link is due, a lease runs out. */
  #idleMs(crawls: readonly CrawlRow[]): number {
    const now = this.#clock.now()
    let next = now + IDLE_MAX_MS
    for (const crawl of crawls) next = Math.min(next, Number(this.#sql.nextWake.get(crawl.num)?.[0] ?? next))
    next = Math.min(next, Number(this.#sql.nextDue.get()?.[0] ?? next), Number(this.#sql.nextDeadline.get()?.[0] ?? next))
    return Math.max(1, Math.min(IDLE_MAX_MS, next - now))
  }

  permit(ref: LeaseRef, hostKey: HostKey): Permit {
    const lease = this.#leaseOf(ref.token)
    if (lease === null) return { ok: false, waitMs: 0, lost: true }
    const ledger = this.#ledger()
    const crawl = ledger.crawl(lease.crawl)
    const host = ledger.host(ledger.hostNum(hostKey))
    const limits = ledger.hostLimits(host, crawl.spec)
    const holds = (host.num === lease.host && lease.held) || this.#sql.slot.get(lease.link, host.num) !== undefined
    const openAt = earliestStart(host, limits)
    if (openAt > ledger.now) return { ok: false, waitMs: Math.ceil(openAt - ledger.now), lost: false }
    if (!holds && host.inFlight >= limits.concurrency) return { ok: false, waitMs: FULL_HOST_WAIT_MS, lost: false }
    Object.assign(host, afterStart(host, limits, ledger.now, 1, !holds))
    if (!holds) this.#sql.addSlot.run(lease.link, host.num, ledger.now)
    ledger.flush()
    return { ok: true }
  }

  release(releases: readonly Release[]): void {
    const ledger = this.#ledger()
    for (const { lease: ref, host: hostKey, elapsedMs, report } of releases) {
      const lease = this.#leaseOf(ref.token)
      if (lease === null) continue
      const host = ledger.host(ledger.hostNum(hostKey))
      const slot = this.#sql.slot.get(lease.link, host.num)
      const own = host.num === lease.host && lease.held
      if (!own && slot === undefined) continue
      Object.assign(host, afterEnd(host, ledger.now, elapsedMs))
      Object.assign(host, afterReport(host, report, own ? lease.grantedAt : Number(slot?.[0]), ledger.now))
      host.latency = meanLatency(host.latency, elapsedMs)
      if (own) {
        this.#sql.unhold.run(lease.link)
        const lane = ledger.lane(lease.lane)
        const { startedAt, inFlight } = afterEnd(lanePace(lane), ledger.now, elapsedMs)
        lane.startedAt = startedAt
        lane.inFlight = inFlight
      } else this.#sql.removeSlot.run(lease.link, host.num)
    }
    ledger.flush()
  }

  extend(worker: WorkerId, tokens: readonly string[]): string[] {
    const now = this.#clock.now()
    const lost: string[] = []
    const held: [number, number][] = []
    for (const token of tokens) {
      const lease = this.#leaseOf(token)
      if (lease === null || lease.worker !== worker) lost.push(token)
      else held.push([lease.link, now + this.specOf(lease.crawl).visibilityMs])
    }
    if (held.length > 0) this.#sql.extendLeases.run(JSON.stringify(held))
    this.#sql.touchWorker.run(now, worker)
    return lost
  }

  #leaseOf(token: string): LeaseRow | null {
    const [link, epoch] = parseToken(token)
    const row = this.#sql.lease.get(link, epoch)
    if (row === undefined) return null
    const lease = toLeaseRow(row)
    // A lease that has run out is lost even if nobody has reaped it yet: its holder may have slept for an hour.
    return lease.deadline > this.#clock.now() ? lease : null
  }

  settle(settlements: readonly Settlement[]): boolean[] {
    const ledger = this.#ledger()
    const now = ledger.now
    const tokens = settlements.map(({ lease }) => parseToken(lease.token))
    const found = new Map<string, LeaseRow>()
    for (const row of this.#sql.leasesOf.all(JSON.stringify(tokens))) {
      const lease = toLeaseRow(row)
      if (lease.deadline > now) found.set(`${lease.link}:${lease.epoch}`, lease)
    }
    const done: number[] = []
    const ended: LeaseRow[] = []
    const doneByWorker = new Map<WorkerId, { done: number; failed: number }>()
    const links = new Map<CrawlRow, Link[]>()
    const endings = new Map<CrawlRow, number>()
    const answers = settlements.map(({ lease: ref, outcome }, index) => {
      const [num, epoch] = tokens[index] ?? [0, 0]
      const lease = found.get(`${num}:${epoch}`)
      if (lease === undefined) return this.#settledBefore(ledger, ref, num, epoch)
      found.delete(`${num}:${epoch}`)
      ended.push(lease)
      const crawl = ledger.crawl(lease.crawl)
      const lane = ledger.lane(lease.lane)
      lane.leased--
      crawl.leased--
      const tally = doneByWorker.get(lease.worker) ?? { done: 0, failed: 0 }
      doneByWorker.set(lease.worker, tally)
      if (outcome.kind === 'done') {
        done.push(lease.link)
        crawl.done++
        crawl.bytes += outcome.bytes
        lane.done++
        tally.done++
        if (outcome.links.length > 0 && crawl.state !== 'cancelled') {
          const all = links.get(crawl)
          if (all === undefined) links.set(crawl, [...outcome.links])
          else all.push(...outcome.links)
        }
      } else {
        this.#settleOther(ledger, lease, crawl, lane, outcome)
        if (outcome.kind === 'dead' || (outcome.kind === 'retry' && outcome.countsAsAttempt)) tally.failed++
      }
      if (outcome.kind === 'done' || outcome.kind === 'dead' || outcome.kind === 'skipped') endings.set(crawl, (endings.get(crawl) ?? 0) + 1)
      return true
    })
    if (done.length > 0) this.#sql.setDone.run(now, JSON.stringify(done))
    for (const [crawl, all] of links) this.#addLinks(ledger, crawl, all, true)
    this.#dropLeases(ledger, ended)
    for (const [crawl, count] of endings) this.#countEndings(crawl, count, now)
    for (const [worker, tally] of doneByWorker) this.#sql.tallyWorker.run(tally.done, tally.failed, now, worker)
    ledger.flush()
    return answers
  }

  /** The lease is not there: settled by an earlier try of this very call, or lost. */
  #settledBefore(ledger: Ledger, ref: LeaseRef, num: number, epoch: number): boolean {
    if (this.#sql.settledAs.get(num, epoch) !== undefined) return true
    if (this.#ledgerSql.crawlNum.get(ref.crawl) !== undefined) ledger.crawlById(ref.crawl).stale++
    return false
  }

  #settleOther(ledger: Ledger, lease: LeaseRow, crawl: CrawlRow, lane: LaneRow, outcome: Exclude<Outcome, { kind: 'done' }>): void {
    const { now } = ledger
    const [priority, attempts, failures, rank, seq] = this.#sql.linkForSettle.get(lease.link) ?? []
    const link = { priority: Number(priority), attempts: Number(attempts), rank: Number(rank), seq: Number(seq) }
    switch (outcome.kind) {
      case 'back': {
        this.#comeBack(ledger, lease.link, lane, crawl, { ...link, afterMs: outcome.afterMs, throttled: 0 }, failures ?? null, null)
        return
      }
      case 'retry': {
        const counts = outcome.countsAsAttempt
        const lower = counts ? clampPriority(link.priority - crawl.spec.retryPriorityStep) : link.priority
        const nextSeq = counts ? crawl.nextSeq++ : link.seq
        const next = {
          priority: lower,
          attempts: link.attempts + (counts ? 1 : 0),
          rank: counts ? rankOf(crawl.spec.order, lower, nextSeq) : link.rank,
          seq: nextSeq,
          afterMs: outcome.afterMs,
          throttled: counts ? 0 : 1,
        }
        if (counts) {
          crawl.failed++
          crawl.retried++
          lane.failed++
        } else crawl.throttled++
        this.#comeBack(ledger, lease.link, lane, crawl, next, addFailure(failures, outcome.failure, now), outcome.failure.code)
        return
      }
      case 'dead':
      case 'skipped': {
        const dead = outcome.kind === 'dead'
        this.#sql.setEnded.run(
          dead ? STATE.dead : STATE.skipped, now, link.attempts + (dead ? 1 : 0), outcome.failure.code, addFailure(failures, outcome.failure, now), lease.link,
        )
        if (dead) {
          crawl.dead++
          crawl.failed++
          lane.dead++
          lane.failed++
        } else crawl.skipped++
      }
    }
  }

  /** A link returns to the queue, now or later. */
  #comeBack(
    ledger: Ledger,
    num: number,
    lane: LaneRow,
    crawl: CrawlRow,
    next: { priority: number; attempts: number; rank: number; seq: number; afterMs: number; throttled: number },
    failures: SqlValue,
    code: string | null,
  ): void {
    const delayed = next.afterMs > 0
    this.#sql.setBack.run(
      delayed ? STATE.delayed : STATE.queued, ledger.now + Math.max(0, next.afterMs), next.priority, next.attempts, next.rank, next.seq,
      next.throttled, failures, code, num,
    )
    if (delayed) {
      lane.delayed++
      crawl.delayed++
    } else {
      lane.queued++
      crawl.queued++
    }
  }

  /** Takes leases away with every slot they hold. */
  #dropLeases(ledger: Ledger, leases: readonly LeaseRow[]): void {
    if (leases.length === 0) return
    const ids = JSON.stringify(leases.map(({ link }) => link))
    for (const [host] of this.#sql.slotsOf.all(ids)) {
      const row = ledger.host(Number(host))
      row.inFlight = Math.max(0, row.inFlight - 1)
    }
    for (const lease of leases) {
      if (!lease.held) continue
      const host = ledger.host(lease.host)
      host.inFlight = Math.max(0, host.inFlight - 1)
      const lane = ledger.lane(lease.lane)
      lane.inFlight = Math.max(0, lane.inFlight - 1)
    }
    this.#sql.removeLeases.run(ids)
    this.#sql.removeSlots.run(ids)
  }

  #countEndings(crawl: CrawlRow, count: number, now: number): void {
    const second = Math.floor(now / 1000)
    if (this.#sql.countEnding.run(crawl.num, second, count) === 1) this.#sql.forgetEndings.run(crawl.num, second - RATE_WINDOW_S)
  }

  reap(limit: number): number {
    return this.#reclaim(this.#sql.expiredLeases.all(this.#clock.now(), limit).map(toLeaseRow))
  }

  forfeit(worker: WorkerId): number {
    return this.#reclaim(this.#sql.leasesOfWorker.all(worker).map(toLeaseRow))
  }

  /** Leases that ran out: their links go back, or die when they have killed too many workers by themselves. */
  #reclaim(leases: readonly LeaseRow[]): number {
    if (leases.length === 0) return 0
    const ledger = this.#ledger()
    for (const lease of leases) {
      const crawl = ledger.crawl(lease.crawl)
      const lane = ledger.lane(lease.lane)
      lane.leased--
      crawl.leased--
      crawl.reclaimed++
      const [soloReclaims, failures] = this.#sql.reclaimed.get(lease.solo ? 0 : 1, lease.solo ? 1 : 0, lease.link) ?? []
      if (lease.solo && Number(soloReclaims) >= crawl.spec.maxReclaims) {
        const failure: Failure = { code: 'poison', message: 'the worker died or lost its lease each time it visited this URL alone' }
        this.#sql.poison.run(ledger.now, addFailure(failures, failure, ledger.now), lease.link)
        crawl.dead++
        crawl.failed++
        lane.dead++
        lane.failed++
        this.#countEndings(crawl, 1, ledger.now)
      } else {
        lane.queued++
        crawl.queued++
      }
    }
    this.#dropLeases(ledger, leases)
    ledger.flush()
    return leases.length
  }

  setState(id: CrawlId, state: 'running' | 'paused' | 'cancelled'): void {
    const ledger = this.#ledger()
    const crawl = ledger.crawlById(id)
    if (crawl.state === state) return
    if (crawl.state === 'finished' || crawl.state === 'cancelled') {
      throw new ShoalError('crawl_ended', `crawl ${id} is ${crawl.state}`)
    }
    crawl.state = state
    if (state === 'cancelled') crawl.finishedAt = ledger.now
    ledger.flush()
  }

  remove(id: CrawlId): void {
    const ledger = this.#ledger()
    const crawl = ledger.crawlById(id)
    if (crawl.state !== 'finished' && crawl.state !== 'cancelled') {
      throw new ShoalError('usage', `crawl ${id} is ${crawl.state}`, { hint: `Cancel it first: shoal cancel ${id}` })
    }
    this.#dropLeases(ledger, this.#sql.leasesOfCrawl.all(crawl.num).map(toLeaseRow))
    ledger.flush()
    for (const table of ['links', 'lanes', 'endings']) this.db.prepare(`DELETE FROM ${table} WHERE crawl = ?`).run(crawl.num)
    this.db.prepare('DELETE FROM crawls WHERE num = ?').run(crawl.num)
    this.rolledBack()
  }

  replay(id: CrawlId, filter: DeadFilter): number {
    const ledger = this.#ledger()
    const crawl = ledger.crawlById(id)
    const dead = this.#deadLinks(crawl, filter)
    for (const [num, laneNum] of dead) {
      const lane = ledger.lane(Number(laneNum))
      lane.dead--
      lane.queued++
      crawl.dead--
      crawl.queued++
      this.#sql.revive.run(ledger.now, Number(num))
    }
    if (dead.length > 0 && crawl.state === 'finished') reopen(crawl)
    ledger.flush()
    return dead.length
  }

  purge(id: CrawlId, filter: DeadFilter): number {
    const ledger = this.#ledger()
    const crawl = ledger.crawlById(id)
    const dead = this.#deadLinks(crawl, filter)
    for (const [num, laneNum] of dead) {
      ledger.lane(Number(laneNum)).dead--
      crawl.dead--
      crawl.skipped++
      this.#sql.giveUp.run(Number(num))
    }
    ledger.flush()
    return dead.length
  }

  #deadLinks(crawl: CrawlRow, filter: DeadFilter): SqlValue[][] {
    return this.#sql.deadLinks.all(
      crawl.num, filter.fp === undefined ? null : toSigned(filter.fp), filter.code ?? null, filter.host ?? null,
    )
  }

  setHost(hostKey: HostKey, settings: HostSettings): void {
    const ledger = this.#ledger()
    const host = ledger.host(ledger.hostNum(hostKey))
    if (settings.delayMs !== undefined) host.setDelay = settings.delayMs
    if (settings.concurrency !== undefined) host.setConcurrency = settings.concurrency
    if (settings.floorMs !== undefined) host.floor = settings.floorMs
    ledger.flush()
  }
}

function byScore(a: { score: number; lane: number }, b: { score: number; lane: number }): number {
  return a.score - b.score || a.lane - b.lane
}

function reopen(crawl: CrawlRow): void {
  crawl.state = 'running'
  crawl.endedBy = null
  crawl.finishedAt = null
}

/** Smallest first. Within a rank, by sequence. */
function rankOf(order: CrawlSpec['order'], priority: number, seq: number): number {
  if (order === 'priority') return -priority
  return order === 'fifo' ? 0 : -seq
}

/** SQLite's integers are signed: the same 64 bits, as decimal digits. */
export function toSigned(fp: string): string {
  return BigInt.asIntN(64, BigInt(`0x${fp}`)).toString()
}

function parseToken(token: string): [link: number, epoch: number] {
  const colon = token.indexOf(':')
  return [Number(token.slice(0, colon)), Number(token.slice(colon + 1))]
}

function toLease(columns: LinkColumns, host: HostKey, spec: CrawlSpec, epoch: number, permitMs: number): Lease {
  const [num, fp, url, route, depth, priority, attempts, throttles, , bypass, request, data] = columns
  return {
    crawl: spec.id,
    token: `${num}:${epoch}`,
    link: { url, fp, host, route, depth, priority, ...(request === null ? {} : { request }), ...(data === null ? {} : { data }) },
    attempt: attempts + 1,
    throttles,
    gen: spec.gen,
    epoch: String(epoch),
    permitMs,
    visibilityMs: spec.visibilityMs,
    bypassFresh: bypass === 1,
  }
}

function toLeaseRow(v: SqlValue[]): LeaseRow {
  return {
    link: Number(v[0]), crawl: Number(v[1]), lane: Number(v[2]), host: Number(v[3]), worker: String(v[4]), epoch: Number(v[5]),
    grantedAt: Number(v[6]), deadline: Number(v[7]), held: v[8] === 1, solo: v[9] === 1,
  }
}

function addFailure(failures: SqlValue | undefined, failure: Failure, at: number): string {
  const all = typeof failures === 'string' ? (JSON.parse(failures) as unknown[]) : []
  all.push({ ...failure, at })
  return JSON.stringify(all.slice(-FAILURES_KEPT))
}

const LEASE_COLUMNS = 'link, crawl, lane, host, worker, epoch, granted_at, deadline, held, solo'

function prepareEngine(db: SqliteDb) {
  const statement = (sql: string): Statement => db.prepare(sql)
  return {
    crawlHash: statement('SELECT spider_hash, state FROM crawls WHERE id = ?'),
    addCrawl: statement("INSERT INTO crawls (id, spider, spider_hash, spec, state, created_at) VALUES (?, ?, ?, ?, 'running', ?)"),
    changeCrawl: statement('UPDATE crawls SET spider_hash = ?, spider_changes = spider_changes + ?, spec = ? WHERE id = ?'),
    lanesOfCrawl: statement('SELECT num FROM lanes WHERE crawl = ? AND queued > 0'),
    runningCrawls: statement("SELECT num, spider FROM crawls WHERE state = 'running' ORDER BY num"),

    known: statement('SELECT 1 FROM links WHERE crawl = ? AND fp = CAST(? AS INTEGER)'),
    hostTotal: statement('SELECT sum(l.total) FROM lanes l JOIN hosts h ON h.num = l.host WHERE l.crawl = ? AND h.host = ?'),
    saveLaneTotal: statement('UPDATE lanes SET total = ? WHERE num = ?'),
    addLinks: statement(
      `INSERT OR IGNORE INTO links (crawl, added_at, fp, lane, state, rank, seq, route, depth, priority, due_at, url, request, data)
       SELECT ?1, ?2, value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7, value->>8, value->>9, value->>10, value->>11
       FROM json_each(?3) WHERE true RETURNING lane, state`,
    ),

    workerSeq: statement('SELECT last_seq FROM workers WHERE worker = ?'),
    seenWorker: statement(
      `INSERT INTO workers (worker, last_seq, started_at, seen_at) VALUES (?1, ?2, ?3, ?3)
       ON CONFLICT (worker) DO UPDATE SET last_seq = excluded.last_seq, seen_at = excluded.seen_at`,
    ),
    touchWorker: statement('UPDATE workers SET seen_at = ? WHERE worker = ?'),
    tallyWorker: statement('UPDATE workers SET done = done + ?, failed = failed + ?, seen_at = ? WHERE worker = ?'),

    dueLinks: statement('SELECT num, lane, crawl FROM links WHERE state = 1 AND due_at <= ? ORDER BY due_at LIMIT ?'),
    setQueued: statement('UPDATE links SET state = 0 WHERE num IN (SELECT value FROM json_each(?))'),
    wokenLanes: statement(`SELECT num FROM lanes WHERE crawl = ? AND phase = ${PHASE.waiting} AND wake_at <= ? ORDER BY wake_at LIMIT ?`),
    readyLanes: statement(`SELECT num, score FROM lanes WHERE crawl = ? AND phase = ${PHASE.ready} ORDER BY score, num LIMIT ?`),
    headLinks: statement(
      `SELECT json_group_array(json(link)) FROM (SELECT ${LINK_JSON} AS link FROM links WHERE lane = ? AND state = 0 ORDER BY rank, seq LIMIT ?)`,
    ),
    nextWake: statement(`SELECT min(wake_at) FROM lanes WHERE crawl = ? AND phase = ${PHASE.waiting}`),
    nextDue: statement('SELECT min(due_at) FROM links WHERE state = 1'),
    nextDeadline: statement('SELECT min(deadline) FROM leases'),
    lastEpoch: statement("SELECT value FROM frontier_meta WHERE name = 'epoch'"),
    saveEpoch: statement("UPDATE frontier_meta SET value = ? WHERE name = 'epoch'"),
    setLeased: statement(
      'UPDATE links SET state = 2, epoch = j.value->>4 FROM json_each(?) AS j WHERE links.num = j.value->>0',
    ),
    addLeases: statement(
      `INSERT INTO leases (link, crawl, lane, host, worker, seq, epoch, granted_at, deadline, held, solo)
       SELECT value->>0, value->>1, value->>2, value->>3, ?1, ?2, value->>4, ?3, value->>5, 1, value->>6 FROM json_each(?4)`,
    ),
    heldBatch: statement(
      `SELECT ${LINK_JSON.replace('num,', 'links.num,').replace('epoch', 'links.epoch')}, leases.crawl, leases.host, leases.epoch
       FROM leases JOIN links ON links.num = leases.link WHERE leases.worker = ? AND leases.seq = ? ORDER BY leases.epoch`,
    ),
    heldByWorker: statement('SELECT 1 FROM leases WHERE worker = ? LIMIT 1'),

    lease: statement(`SELECT ${LEASE_COLUMNS} FROM leases WHERE link = ? AND epoch = ?`),
    leasesOf: statement(
      `SELECT ${LEASE_COLUMNS} FROM json_each(?) AS j JOIN leases ON leases.link = j.value->>0 AND leases.epoch = j.value->>1`,
    ),
    leasesOfWorker: statement(`SELECT ${LEASE_COLUMNS} FROM leases WHERE worker = ? ORDER BY epoch`),
    leasesOfCrawl: statement(`SELECT ${LEASE_COLUMNS} FROM leases WHERE crawl = ?`),
    expiredLeases: statement(`SELECT ${LEASE_COLUMNS} FROM leases WHERE deadline <= ? ORDER BY deadline, epoch LIMIT ?`),
    extendLeases: statement('UPDATE leases SET deadline = j.value->>1 FROM json_each(?) AS j WHERE leases.link = j.value->>0'),
    unhold: statement('UPDATE leases SET held = 0 WHERE link = ?'),
    removeLeases: statement('DELETE FROM leases WHERE link IN (SELECT value FROM json_each(?))'),
    slot: statement('SELECT granted_at FROM slots WHERE link = ? AND host = ?'),
    slotsOf: statement('SELECT host FROM slots WHERE link IN (SELECT value FROM json_each(?))'),
    addSlot: statement('INSERT INTO slots (link, host, granted_at) VALUES (?, ?, ?)'),
    removeSlot: statement('DELETE FROM slots WHERE link = ? AND host = ?'),
    removeSlots: statement('DELETE FROM slots WHERE link IN (SELECT value FROM json_each(?))'),

    setDone: statement('UPDATE links SET state = 3, ended_at = ?, code = NULL WHERE num IN (SELECT value FROM json_each(?))'),
    settledAs: statement('SELECT 1 FROM links WHERE num = ? AND epoch = ? AND state <> 2'),
    linkForSettle: statement('SELECT priority, attempts, failures, rank, seq FROM links WHERE num = ?'),
    setBack: statement(
      'UPDATE links SET state = ?, due_at = ?, priority = ?, attempts = ?, rank = ?, seq = ?, throttles = throttles + ?, failures = ?, code = ? WHERE num = ?',
    ),
    setEnded: statement('UPDATE links SET state = ?, ended_at = ?, attempts = ?, code = ?, failures = ? WHERE num = ?'),
    countEnding: statement(
      'INSERT INTO endings (crawl, second, count) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count',
    ),
    forgetEndings: statement('DELETE FROM endings WHERE crawl = ? AND second < ?'),

    // epoch 0: a settle of the lost lease must not be taken for a repeated one.
    reclaimed: statement(
      `UPDATE links SET state = 0, epoch = 0, reclaims = reclaims + ?, solo_reclaims = solo_reclaims + ? WHERE num = ?
       RETURNING solo_reclaims, failures`,
    ),
    poison: statement("UPDATE links SET state = 4, ended_at = ?, attempts = attempts + 1, code = 'poison', failures = ? WHERE num = ?"),
    deadLinks: statement(
      `SELECT links.num, links.lane FROM links WHERE crawl = ?1 AND state = 4 AND (?2 IS NULL OR fp = CAST(?2 AS INTEGER))
       AND (?3 IS NULL OR code = ?3) AND (?4 IS NULL OR lane IN (SELECT l.num FROM lanes l JOIN hosts h ON h.num = l.host WHERE h.host = ?4))
       ORDER BY links.num`,
    ),
    revive: statement(
      `UPDATE links SET state = 0, due_at = ?, attempts = 0, throttles = 0, reclaims = 0, solo_reclaims = 0, bypass_fresh = 1,
       ended_at = NULL, code = NULL WHERE num = ?`,
    ),
    giveUp: statement('UPDATE links SET state = 5 WHERE num = ?'),
  }
}
