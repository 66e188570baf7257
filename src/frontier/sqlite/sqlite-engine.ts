import { randomUUID } from 'node:crypto'
import type { Clock } from '../../clock.js'
import type { SqliteDb } from '../../sqlite/db.js'
import type { SqliteEngine } from '../../sqlite/engine.js'
import type { Fingerprint, HostKey, Link } from '../../url/link.js'
import type {
  AddResult,
  CrawlId,
  CrawlInfo,
  CrawlSpec,
  DeadFilter,
  HostSettings,
  LeaseRef,
  LeaseReply,
  LeaseRequest,
  LinkSteer,
  LinkSteered,
  Permit,
  Release,
  RestoredLink,
  Settlement,
  WorkerId,
} from '../frontier.js'
import { crawlEnded, hasEnded, refuseCancelled, refuseUnended, refuseUnpaused } from '../refusals.js'
import { addLinks, restoreLink } from './add-links.js'
import { type CountersSql, prepareCounters } from './counter-rows.js'
import { Counters } from './counters.js'
import { leaseLinks } from './lease-links.js'
import { beatWorker, takeFromLost } from './lost-workers.js'
import { leaseOf, reopen, reserve, toLeaseRow } from './rows.js'
import { MIGRATIONS } from './schema.js'
import { dropLeases, markResume, reclaimLeases, settleLeases } from './settle-leases.js'
import { permitRequest, releaseSlots } from './slots.js'
import { type EngineSql, prepareEngine, type Transaction } from './statements.js'
import { type DeadMoved, purgeDead, replayDead, steerLink } from './steer-links.js'
import { SqliteViews } from './views.js'

/** Rows of hosts, lanes and crawls kept from one transaction to the next; about 400 bytes each. */
const ROWS_KEPT = 50_000
/** Less than this is a clock being adjusted. */
const CLOCK_STEP_MS = 1_000

/**
 * The frontier on SQLite. Synchronous, inside the caller's transaction. Each method loads the rows it needs into a Counters, changes them,
 * and flushes; links and leases themselves are changed by set statements over JSON arrays, because a call per row costs three times as much.
 * What each call does is in the file named after it (add-links.ts, lease-links.ts, settle-leases.ts …).
 */
export class SqliteFrontierEngine extends SqliteViews implements SqliteEngine {
  readonly reads = new Set(['identity', 'crawls', 'stats', 'hosts', 'workers', 'links', 'explain', 'deadByError'])
  readonly #clock: Clock
  readonly #countersSql: CountersSql
  readonly #sql: EngineSql
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
    this.#countersSql = prepareCounters(db)
    this.#sql = prepareEngine(db)
  }

  static migrate(db: SqliteDb): void {
    db.migrate('frontier', MIGRATIONS)
    if (db.access === 'read') return
    db.prepare("INSERT OR IGNORE INTO frontier_meta (name, value) VALUES ('identity', ?), ('epoch', 0)").run(
      randomUUID(),
    )
  }

  /** All calls of a transaction share one Counters; what they changed is written here, once. */
  beforeCommit(): void {
    this.#open?.flush()
    this.#open = null
  }

  /** What was read or changed inside a transaction that was rolled back is no longer true. */
  rolledBack(): void {
    this.#open = null
    this.#kept = null
    this.#names.hosts.clear()
    this.#names.lanes.clear()
  }

  /**
   * Rows loaded by earlier transactions stay valid while no other connection has written: SQLite's data_version says so. With one process,
   * the usual case, hosts and lanes are read once.
   */
  #counters(): Counters {
    if (this.#open !== null) return this.#open
    const version = Number(this.#sql.dataVersion.get()?.[0])
    if (this.#kept === null || version !== this.#keptVersion || this.#kept.size > ROWS_KEPT) {
      this.#kept = new Counters(this.#countersSql, this.#names)
      this.#keptVersion = version
    }
    this.#open = this.#kept
    const now = this.#clock.now()
    // The clock stepped back: lanes that were to wake by the old time are checked by the new one.
    if (now < this.#lastNow - CLOCK_STEP_MS) this.#sql.wakeAll.run(now)
    this.#lastNow = now
    this.#open.begin(now)
    return this.#open
  }

  #transaction(): Transaction {
    return { sql: this.#sql, counters: this.#counters() }
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
      // Other limits: each lane must be scheduled again.
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
    refuseCancelled(id, crawl.state)
    const { added, refused } = addLinks(this.#transaction(), crawl, links)
    if (added > 0 && crawl.state === 'finished') reopen(crawl)
    return { added, known: links.length - added - refused, refused, pending: crawl.queued + crawl.delayed }
  }

  restore(id: CrawlId, links: readonly RestoredLink[]): number {
    const tx = this.#transaction()
    const crawl = tx.counters.crawlById(id)
    refuseUnpaused(id, crawl.state)
    const firstSeq = reserve(crawl, links.length)
    return links.filter((restored, index) => restoreLink(tx, crawl, restored, firstSeq + index)).length
  }

  lease(request: LeaseRequest): LeaseReply {
    return leaseLinks(this.#transaction(), request)
  }

  permit(ref: LeaseRef, host: HostKey): Permit {
    return permitRequest(this.#transaction(), ref, host)
  }

  release(releases: readonly Release[]): void {
    releaseSlots(this.#transaction(), releases)
  }

  extend(worker: WorkerId, tokens: readonly string[]): string[] {
    const counters = this.#counters()
    const { now } = counters
    const lost: string[] = []
    const held: [number, number][] = []
    for (const token of tokens) {
      const lease = leaseOf(this.#sql.lease, token)
      if (lease === null || lease.worker !== worker || lease.deadline <= now) lost.push(token)
      else held.push([lease.link, now + counters.spec(lease.crawl).visibilityMs])
    }
    if (held.length > 0) this.#sql.extendLeases.run(JSON.stringify(held))
    this.#sql.touchWorker.run(now, worker)
    return lost
  }

  settle(settlements: readonly Settlement[]): boolean[] {
    return settleLeases(this.#transaction(), settlements)
  }

  beat(worker: WorkerId, lostAfterMs: number): boolean {
    return beatWorker(this.#transaction(), worker, lostAfterMs)
  }

  reap(limit: number): number {
    const tx = this.#transaction()
    const expired = this.#sql.expiredLeases.all(tx.counters.now, limit).map(toLeaseRow)
    const reclaimed = reclaimLeases(tx, expired)
    return reclaimed + reclaimLeases(tx, takeFromLost(tx, limit - reclaimed))
  }

  forfeit(worker: WorkerId, cause?: string): number {
    const held = this.#sql.leasesOfWorker.all(worker).map(toLeaseRow)
    const reclaimed = reclaimLeases(this.#transaction(), held, cause)
    this.#sql.forgetWorker.run(worker)
    this.#sql.forgetBeat.run(worker)
    this.#sql.forgetUsage.run(worker)
    return reclaimed
  }

  setState(id: CrawlId, state: 'running' | 'paused' | 'cancelled'): void {
    const counters = this.#counters()
    const crawl = counters.crawlById(id)
    if (crawl.state === state) return
    if (hasEnded(crawl.state)) throw crawlEnded(id, crawl.state)
    crawl.state = state
    if (state === 'cancelled') crawl.finishedAt = counters.now
    if (state === 'running') markResume(this.#transaction(), crawl.num)
    // Its limits start or stop counting for the other crawls of its hosts.
    for (const [host] of this.#sql.sharedHosts.all(crawl.num)) counters.host(Number(host))
    // While it was paused its lanes were not scheduled.
    if (state === 'running') for (const [lane] of this.#sql.lanesOfCrawl.all(crawl.num)) counters.lane(Number(lane))
  }

  remove(id: CrawlId): void {
    const counters = this.#counters()
    const crawl = counters.crawlById(id)
    refuseUnended(id, crawl.state)
    dropLeases(this.#transaction(), this.#sql.leasesOfCrawl.all(crawl.num).map(toLeaseRow))
    this.beforeCommit()
    for (const table of ['links', 'lanes', 'endings', 'filtered', 'counts'])
      this.db.prepare(`DELETE FROM ${table} WHERE crawl = ?`).run(crawl.num)
    this.db.prepare('DELETE FROM crawls WHERE num = ?').run(crawl.num)
    this.rolledBack()
  }

  replay(id: CrawlId, filter: DeadFilter, after: number): DeadMoved {
    const tx = this.#transaction()
    const crawl = tx.counters.crawlById(id)
    refuseCancelled(id, crawl.state)
    return replayDead(tx, crawl, filter, after)
  }

  purge(id: CrawlId, filter: DeadFilter, after: number): DeadMoved {
    const tx = this.#transaction()
    return purgeDead(tx, tx.counters.crawlById(id), filter, after)
  }

  steer(id: CrawlId, fp: Fingerprint, host: HostKey, order: LinkSteer): LinkSteered {
    const tx = this.#transaction()
    const crawl = tx.counters.crawlById(id)
    if (order !== 'remove') refuseCancelled(id, crawl.state)
    return steerLink(tx, crawl, fp, host, order)
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
