import { IDLE_MAX_MS, type Lease, type LeaseReply, type LeaseRequest, type Limits, PERMIT_MAX_MS } from '../frontier.js'
import { afterStart, gapMs, permitMs, startsAllowed } from '../pace.js'
import { isSolo } from '../transitions.js'
import { roomFor } from '../turns.js'
import { type CrawlRow, type HostRow, type LaneRow, lanePace } from './counter-rows.js'
import { moveLink, overBudget, scoreOf } from './counters.js'
import { ReadyLanes } from './ready-lanes.js'
import { type LinkColumns, startLane, toLease } from './rows.js'
import type { Transaction } from './statements.js'
import { contestOf, saveTurns } from './turn-rows.js'

/** Lanes and due links checked in one lease call at most: a long line of them is worked off over several calls. */
const PROMOTE_LIMIT = 500

/** What a lease call has read of a lane so far. */
interface LaneQueue {
  links: LinkColumns[]
  next: number
  loaded: number
  /** There may be more than was read. */
  more: boolean
  readonly hostLimits: Limits
}

interface Taken {
  readonly columns: LinkColumns
  readonly lane: LaneRow
  readonly host: HostRow
  readonly crawl: CrawlRow
  readonly solo: boolean
  readonly permitMs: number
  readonly gapMs: number
  /** It holds a slot of its host. */
  readonly held: boolean
}

export function leaseLinks(tx: Transaction, request: LeaseRequest): LeaseReply {
  const { sql, counters } = tx
  const lastSeq = Number(sql.workerSeq.get(request.worker)?.[0] ?? 0)
  const about = request.about === undefined ? null : JSON.stringify(request.about)
  sql.seenWorker.run(request.worker, request.seq, counters.now, about)

  const crawls = servableCrawls(tx, request.spiders)
  for (const crawl of crawls) {
    promoteDue(tx, crawl)
    for (const [lane] of sql.wokenLanes.all(crawl.num, counters.now, PROMOTE_LIMIT)) counters.lane(Number(lane))
  }
  // Writes the phases that the time has changed, so that the search below sees them.
  counters.flush()

  if (lastSeq > request.seq) return { leases: [], idleMs: idleMs(tx, crawls), drain: false }
  if (lastSeq === request.seq) return { leases: heldBatch(tx, request), idleMs: idleMs(tx, crawls), drain: false }
  const contest = contestOf(tx, request)
  const want = contest === null ? request.want : roomFor(contest)
  const { taken, drain } = want > 0 ? takeBest(tx, crawls, { ...request, want }) : { taken: [], drain: false }
  const leases = grant(tx, taken, request)
  const askAgainMs = idleAfter(tx, crawls, leases.length > 0 && leases.length === want)
  if (contest === null) return { leases, idleMs: askAgainMs, drain }
  const count = leases.length
  const short = count < request.want && !drain && crawls.some(({ queued }) => queued > 0)
  const gapsMs = taken.reduce((sum, { gapMs }) => sum + gapMs, 0)
  return { leases, idleMs: saveTurns(tx, request, contest, { count, gapsMs, short, idleMs: askAgainMs }), drain }
}

/** All that was asked for: there may be more at once. Otherwise the phases of the lanes decide. */
function idleAfter(tx: Transaction, crawls: readonly CrawlRow[], gotAll: boolean): number {
  if (gotAll) return 1
  tx.counters.flush()
  return idleMs(tx, crawls)
}

function servableCrawls({ sql, counters }: Transaction, spiders: readonly string[]): CrawlRow[] {
  const servable: CrawlRow[] = []
  for (const [num, spider] of sql.runningCrawls.all()) {
    if (!spiders.includes(String(spider))) continue
    const crawl = counters.crawl(Number(num))
    if (overBudget(crawl, counters.now) === null) servable.push(crawl)
  }
  return servable
}

/** Links whose time has come join their lanes. */
function promoteDue({ sql, counters }: Transaction, crawl: CrawlRow): void {
  const due = sql.dueLinks.all(crawl.num, counters.now, PROMOTE_LIMIT)
  if (due.length === 0) return
  sql.setQueued.run(JSON.stringify(due.map(([num]) => num)))
  for (const [, lane] of due) moveLink(crawl, counters.lane(Number(lane)), 'delayed', 'queued')
}

/** Best head first over all lanes that may serve now; a lane is placed again after each link it gives. */
function takeBest(
  tx: Transaction,
  crawls: readonly CrawlRow[],
  request: LeaseRequest,
): { readonly taken: readonly Taken[]; readonly drain: boolean } {
  const { sql, counters } = tx
  const { now } = counters
  // A link that killed workers is alone in its worker until it is settled.
  const held = sql.heldByWorker.get(request.worker)
  if (held !== undefined && Number(held[0]) === 1) return { taken: [], drain: true }
  let drain = false
  const ready = new ReadyLanes(
    sql.readyLanes,
    crawls.map(({ num }) => num),
  )
  const taken: Taken[] = []
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
    const wanted = Math.min(request.withoutPermit ? request.want : allowed, request.want - taken.length)
    const columns = nextOf(tx, queue, lane, Math.ceil(wanted / (ready.others + 1)) + 1)
    if (columns === undefined) continue
    const solo = isSolo(columns[8])
    if (solo && (held !== undefined || taken.length > 0)) {
      drain = true
      continue
    }
    queue.next++
    const permit = request.withoutPermit ? NO_PERMIT : startOn(host, hostLimits, lane, laneLimits, now)
    lane.servedAt = now
    moveLink(crawl, lane, 'queued', 'leased')
    crawl.startedAt ??= now
    taken.push({ columns, lane, host, crawl, solo, ...permit })
    if (solo) break
    const head = taken.length < request.want ? nextOf(tx, queue, lane, wanted) : undefined
    if (head !== undefined) {
      ready.putBack({ lane: lane.num, crawl: crawl.num, score: scoreOf(crawl.spec, now, now, head[5]) })
    }
  }
  return { taken, drain }
}

const NO_PERMIT = { permitMs: 0, gapMs: 0, held: false }

/** Counts a start of the host and of the lane, and takes a slot of both. */
function startOn(
  host: HostRow,
  hostLimits: Limits,
  lane: LaneRow,
  laneLimits: Limits | null,
  now: number,
): Pick<Taken, 'permitMs' | 'gapMs' | 'held'> {
  Object.assign(host, afterStart(host, hostLimits, now))
  if (laneLimits !== null) startLane(lane, laneLimits, now)
  lane.inFlight++
  return {
    permitMs: Math.min(permitMs(hostLimits), laneLimits === null ? PERMIT_MAX_MS : permitMs(laneLimits)),
    gapMs: Math.max(gapMs(hostLimits), laneLimits === null ? 0 : gapMs(laneLimits)),
    held: true,
  }
}

/** The next link of the lane, read ahead by no more than this lease call will need of it. */
function nextOf({ sql }: Transaction, queue: LaneQueue, lane: LaneRow, ahead: number): LinkColumns | undefined {
  if (queue.next === queue.links.length && queue.more) {
    const rows = sql.headLinks.get(lane.num, ahead, queue.loaded)
    queue.links = JSON.parse(String(rows?.[0])) as LinkColumns[]
    queue.next = 0
    queue.loaded += queue.links.length
    queue.more = queue.links.length === ahead
  }
  return queue.links[queue.next]
}

function grant({ sql, counters }: Transaction, taken: readonly Taken[], request: LeaseRequest): Lease[] {
  if (taken.length === 0) return []
  const { now } = counters
  const firstEpoch = Math.max(Number(sql.lastEpoch.get()?.[0] ?? 0) + 1, now * 1000)
  sql.saveEpoch.run(firstEpoch + taken.length - 1)
  sql.setLeased.run(firstEpoch, JSON.stringify(taken.map(({ columns }) => columns[0])))
  return taken.map(({ columns, lane, host, crawl, solo, permitMs, held }, index) => {
    const epoch = firstEpoch + index
    const { visibilityMs } = crawl.spec
    sql.addLease.run(
      columns[0],
      crawl.num,
      lane.num,
      lane.host,
      request.worker,
      request.seq,
      epoch,
      now,
      now + visibilityMs,
      permitMs,
      now,
      held ? 1 : 0,
      solo ? 1 : 0,
    )
    return toLease(columns, host.host, crawl.spec, epoch, permitMs, visibilityMs)
  })
}

/** The reply to the same call was lost: those of its leases that are still held, with what is left of permit and lease. */
function heldBatch({ sql, counters }: Transaction, request: LeaseRequest): Lease[] {
  const { now } = counters
  return sql.heldBatch
    .all(request.worker, request.seq, now)
    .map(([json, crawl, host, epoch, permit, grantedAt, deadline]) =>
      toLease(
        JSON.parse(String(json)) as LinkColumns,
        String(host),
        counters.spec(Number(crawl)),
        Number(epoch),
        Math.max(0, Number(permit) - (now - Number(grantedAt))),
        Number(deadline) - now,
      ),
    )
}

/** Until the first thing that time alone changes: a lane wakes, a link is due, a lease runs out. */
function idleMs({ sql, counters }: Transaction, crawls: readonly CrawlRow[]): number {
  const { now } = counters
  let next = Number(sql.nextDeadline.get(now)?.[0] ?? Number.POSITIVE_INFINITY)
  for (const { num } of crawls) {
    if (sql.anyReady.get(num) !== undefined) return 1
    const wake = Number(sql.nextWake.get(num)?.[0] ?? next)
    const due = Number(sql.nextDue.get(num)?.[0] ?? next)
    next = Math.min(next, wake, due)
  }
  return Math.max(1, Math.min(IDLE_MAX_MS, Math.ceil(next - now)))
}
