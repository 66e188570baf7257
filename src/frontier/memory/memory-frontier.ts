import { randomUUID } from 'node:crypto'
import type { Clock } from '../../clock.js'
import { clampPriority, type Fingerprint, type HostKey, type Link, PRIORITY_MAX } from '../../url/link.js'
import { addNamedCounts } from '../counts.js'
import { addFiltered } from '../filtered.js'
import {
  type AddResult,
  type Capabilities,
  type CrawlId,
  type CrawlInfo,
  type CrawlSpec,
  type CrawlStats,
  type DeadFilter,
  FAILURES_KEPT,
  type Frontier,
  type HostInfo,
  type HostPage,
  type HostSettings,
  IDLE_MAX_MS,
  type Lease,
  type LeaseRef,
  type LeaseReply,
  type LeaseRequest,
  type Limits,
  type LinkInfo,
  type LinkQuery,
  type LinkSteer,
  type LinkSteered,
  type Permit,
  POSITION_CAP,
  type Release,
  type RestoredLink,
  type Settlement,
  SLOT_WAIT_MS,
  type Whereabouts,
  type WorkerId,
  type WorkerInfo,
} from '../frontier.js'
import { type Beat, beatNow, LOST_AT_ONCE, startAgain, wasUnwatched } from '../liveness.js'
import {
  adapted,
  afterEnd,
  afterReport,
  FRESH_HOST,
  gapMs,
  laneScore,
  limitsFor,
  meanLatency,
  notAhead,
  permitMs,
  sentFor,
  strictest,
  waitUntil,
  withSettings,
} from '../pace.js'
import {
  checkSeen,
  crawlEnded,
  hasEnded,
  refuseCancelled,
  refuseUnended,
  refuseUnpaused,
  unknownCrawl,
} from '../refusals.js'
import { AFTER_REMOVAL, afterReclaim, afterSettle, isSolo, steerStep, type Transition } from '../transitions.js'
import { afterLease, type Contest, NO_TURNS, roomFor, type Turns, turnsName } from '../turns.js'
import { canStart, type Gate, openingOf, start } from './gates.js'
import {
  budgetSpent,
  type Crawl,
  deadOf,
  type Entry,
  givesLeases,
  type Hold,
  type Host,
  isFull,
  type Lane,
  pendingOf,
  queueOf,
  stateOf,
  type Worker,
} from './model.js'
import { type DeadGroup, deadGroupsOf, hostInfoOf, infoOf, linkInfoOf, matching, statsOf } from './views.js'

/** For a route that had limits when its lane was created and has none any more: its slots are still counted. */
const UNLIMITED: Limits = { delayMs: 0, concurrency: Number.POSITIVE_INFINITY }

/**
 * The reference model: every question is answered by looking through everything, so that it is obviously right. Other drivers are
 * tested against it; small crawls may run on it.
 */
export class MemoryFrontier implements Frontier {
  readonly can: Capabilities = {
    priorities: 'exact',
    shared: false,
    durable: false,
    ended: 'kept',
    seen: [],
    leasesWithoutPermit: true,
  }
  readonly #clock: Clock
  readonly #identity = randomUUID()
  readonly #crawls = new Map<CrawlId, Crawl>()
  readonly #hosts = new Map<HostKey, Host>()
  readonly #workers = new Map<WorkerId, Worker>()
  /** Of workers that are expected to beat again. */
  readonly #beats = new Map<WorkerId, Beat>()
  /** The last reap. */
  #watchedAt: number | null = null
  #watchedSince: number | null = null
  /** Of workers that ask for the same spiders. */
  readonly #turns = new Map<string, Turns>()
  /** In the order in which they were created. */
  #lanes: Lane[] = []
  /** By token, in the order in which they were granted. */
  readonly #holds = new Map<string, Hold>()
  #lastEpoch = 0n
  #lastMark = 0
  #lastId = 0
  /** Of the link promoted last: in front of all others. */
  #frontPlace = 0

  constructor(options: { clock: Clock }) {
    this.#clock = options.clock
  }

  async identity(): Promise<string> {
    return this.#identity
  }

  async mark(): Promise<number> {
    return ++this.#lastMark
  }

  async open(spec: CrawlSpec): Promise<CrawlInfo> {
    checkSeen(spec, this.can)
    const known = this.#crawls.get(spec.id)
    if (known === undefined) {
      this.#crawls.set(spec.id, {
        spec,
        state: 'running',
        endedBy: null,
        spiderChanges: 0,
        createdAt: this.#clock.now(),
        startedAt: null,
        resumedAt: null,
        finishedAt: null,
        seeding: true,
        entries: [],
        byFp: new Map(),
        failedByHost: new Map(),
        retried: 0,
        throttled: 0,
        reclaimed: 0,
        stale: 0,
        refused: 0,
        bytes: 0,
        filtered: new Map(),
        counts: new Map(),
      })
    } else if (known.state === 'running' || known.state === 'paused') {
      if (known.spec.spiderHash !== spec.spiderHash) known.spiderChanges++
      known.spec = spec
    }
    return infoOf(this.#crawl(spec.id))
  }

  async add(id: CrawlId, links: readonly Link[]): Promise<AddResult> {
    const crawl = this.#crawl(id)
    refuseCancelled(id, crawl.state)
    const result = this.#addLinks(crawl, links)
    if (result.added > 0) this.#wake(crawl)
    this.#endIfDone(crawl)
    return result
  }

  async restore(id: CrawlId, links: readonly RestoredLink[]): Promise<number> {
    const crawl = this.#crawl(id)
    refuseUnpaused(id, crawl.state)
    const unknown = links.filter(({ link }, index) => {
      const first = links.findIndex((other) => other.link.fp === link.fp)
      return first === index && !crawl.byFp.has(link.fp)
    })
    for (const restored of unknown) this.#enter(crawl, restored.link, historyOf(restored))
    return unknown.length
  }

  async seeded(id: CrawlId): Promise<void> {
    const crawl = this.#crawl(id)
    crawl.seeding = false
    this.#endIfDone(crawl)
  }

  async lease(request: LeaseRequest): Promise<LeaseReply> {
    const now = this.#clock.now()
    const worker = this.#worker(request.worker)
    worker.seenAt = now
    worker.about = request.about ?? worker.about
    const crawls = [...this.#crawls.values()].filter((crawl) => request.spiders.includes(crawl.spec.spider))
    for (const crawl of crawls) this.#endIfDone(crawl)

    if (worker.lastSeq !== null && worker.lastSeq > request.seq)
      return { leases: [], idleMs: this.#idleMs(crawls), drain: false }
    if (worker.lastSeq === request.seq) {
      const batch = this.#inFlight(request.worker).filter((hold) => hold.seq === request.seq && hold.expiresAt > now)
      return { leases: batch.map((hold) => this.#leaseOf(hold)), idleMs: this.#idleMs(crawls), drain: false }
    }
    worker.lastSeq = request.seq

    const contest = this.#contest(request)
    const room = contest === null ? request.want : roomFor(contest)
    const leases: Lease[] = []
    const skipped = new Set<Lane>()
    let drain = false
    let gapsMs = 0
    while (leases.length < room) {
      const inFlight = this.#inFlight(request.worker)
      if (inFlight.some((hold) => hold.solo)) {
        drain = leases.length === 0
        break
      }
      const lane = this.#bestLane(crawls, skipped)
      if (lane === undefined) break
      const head = queueOf(lane, now)[0]
      if (head === undefined) break
      if (isSolo(head.reclaims) && inFlight.length > 0) {
        drain = true
        skipped.add(lane)
        continue
      }
      if (!request.withoutPermit) gapsMs += Math.max(...this.#laneGates(lane).map((gate) => gapMs(gate.limits)))
      leases.push(this.#leaseOf(this.#grant(head, request)))
    }
    const idleMs = this.#idleMs(crawls)
    if (contest === null) return { leases, idleMs, drain }
    const short = leases.length < request.want && !drain && this.#anyQueued(crawls)
    const after = afterLease(contest, { count: leases.length, gapsMs, short, idleMs })
    worker.usage = after.usage
    this.#turns.set(turnsName(request.spiders), after.turns)
    return { leases, idleMs: after.idleMs, drain }
  }

  async permit(ref: LeaseRef, host: HostKey): Promise<Permit> {
    const now = this.#clock.now()
    const hold = this.#liveHold(ref)
    if (hold === undefined) return { ok: false, waitMs: 0, lost: true }
    const gates = this.#gates(hold, host)
    const hasSlot = hold.slots.has(host)
    const opensAt = openingOf(gates)
    if (opensAt > now) return { ok: false, waitMs: waitUntil(opensAt, now), lost: false }
    if (!hasSlot && !canStart(gates, now)) return { ok: false, waitMs: SLOT_WAIT_MS, lost: false }
    start(gates, now, !hasSlot)
    hold.slots.set(host, now)
    return { ok: true, permitMs: Math.min(...gates.map((gate) => permitMs(gate.limits))) }
  }

  async release(releases: readonly Release[]): Promise<void> {
    const now = this.#clock.now()
    for (const { lease, host: hostKey, elapsedMs, latencyMs = elapsedMs, report } of releases) {
      const hold = this.#hold(lease)
      const grantedAt = hold?.slots.get(hostKey)
      if (hold === undefined || grantedAt === undefined) continue
      this.#freeSlot(hold, hostKey, sentFor(report, elapsedMs))
      const host = this.#host(hostKey)
      host.pace = afterReport(host.pace, report, grantedAt, now)
      host.latencyMs = meanLatency(host.latencyMs, report, latencyMs)
    }
  }

  async extend(workerId: WorkerId, tokens: readonly string[]): Promise<string[]> {
    const now = this.#clock.now()
    const worker = this.#workers.get(workerId)
    if (worker !== undefined) worker.seenAt = now
    return tokens.filter((token) => {
      const hold = this.#holds.get(token)
      if (hold === undefined || hold.worker !== workerId || hold.state !== 'held' || hold.expiresAt <= now) return true
      hold.expiresAt = now + hold.entry.lane.crawl.spec.visibilityMs
      return false
    })
  }

  async beat(workerId: WorkerId, lostAfterMs: number): Promise<boolean> {
    const now = this.#clock.now()
    const worker = this.#workers.get(workerId)
    if (worker !== undefined) worker.seenAt = now
    const expected = this.#beats.has(workerId)
    this.#beats.set(workerId, beatNow(now, lostAfterMs))
    return expected
  }

  async settle(settlements: readonly Settlement[]): Promise<boolean[]> {
    return settlements.map(({ lease, outcome }) => {
      if (this.#hold(lease)?.state === 'settled') return true
      const hold = this.#liveHold(lease)
      if (hold === undefined) {
        const crawl = this.#crawls.get(lease.crawl)
        if (crawl !== undefined) crawl.stale++
        return false
      }
      hold.state = 'settled'
      for (const host of [...hold.slots.keys()]) this.#freeSlot(hold, host, null)
      const { entry } = hold
      const { crawl } = entry.lane
      const transition = afterSettle(outcome)
      this.#apply(transition, entry)
      if (outcome.kind === 'done') {
        addFiltered(crawl.filtered, outcome.filtered ?? [])
        addNamedCounts(crawl.counts, outcome.counts ?? [])
      }
      if (outcome.kind === 'done' && crawl.state !== 'cancelled') this.#addLinks(crawl, outcome.links)
      const worker = this.#worker(hold.worker)
      worker.seenAt = this.#clock.now()
      worker.done += transition.to === 'done' ? 1 : 0
      worker.failed += transition.counts.failed ?? 0
      if (entry.endedAt !== null) worker.progressAt = entry.endedAt
      this.#endIfDone(crawl)
      return true
    })
  }

  async reap(limit: number): Promise<number> {
    const now = this.#clock.now()
    const expired = [...this.#holds.values()].filter((hold) => hold.state === 'held' && hold.expiresAt <= now)
    const batch = expired.sort((a, b) => a.expiresAt - b.expiresAt).slice(0, Math.max(0, limit))
    for (const hold of batch) this.#reclaim(hold)
    return batch.length + this.#reapLost(limit - batch.length)
  }

  #reapLost(limit: number): number {
    const now = this.#clock.now()
    if (wasUnwatched(this.#watchedAt, now)) {
      for (const [worker, beat] of this.#beats) this.#beats.set(worker, startAgain(beat, now))
      this.#watchedSince = now
    }
    this.#watchedAt = now
    const lost = [...this.#beats]
      .filter(([, { lostAt }]) => lostAt <= now)
      .sort(([a, first], [b, second]) => first.lostAt - second.lostAt || (a < b ? -1 : 1))
      .slice(0, LOST_AT_ONCE)
    let reaped = 0
    for (const [worker] of lost) {
      const held = this.#inFlight(worker)
      const batch = held.slice(0, Math.max(0, limit - reaped))
      for (const hold of batch) this.#reclaim(hold)
      reaped += batch.length
      if (batch.length < held.length) break
      this.#beats.delete(worker)
    }
    return reaped
  }

  async forfeit(worker: WorkerId, cause?: string): Promise<number> {
    const batch = this.#inFlight(worker)
    for (const hold of batch) this.#reclaim(hold, cause)
    this.#workers.delete(worker)
    this.#beats.delete(worker)
    return batch.length
  }

  async setState(id: CrawlId, state: 'running' | 'paused' | 'cancelled'): Promise<void> {
    const crawl = this.#crawl(id)
    if (crawl.state === state) return
    if (hasEnded(crawl.state)) throw crawlEnded(id, crawl.state)
    crawl.state = state
    if (state === 'running') crawl.resumedAt = this.#clock.now()
    if (state === 'cancelled') crawl.finishedAt = this.#clock.now()
    this.#endIfDone(crawl)
  }

  async remove(id: CrawlId): Promise<void> {
    const crawl = this.#crawl(id)
    refuseUnended(id, crawl.state)
    for (const hold of [...this.#holds.values()].filter((hold) => hold.entry.lane.crawl === crawl)) {
      for (const host of [...hold.slots.keys()]) this.#freeSlot(hold, host, null)
      this.#holds.delete(hold.token)
    }
    this.#lanes = this.#lanes.filter((lane) => lane.crawl !== crawl)
    this.#crawls.delete(id)
  }

  async crawls(): Promise<CrawlInfo[]> {
    return [...this.#crawls.values()].map(infoOf)
  }

  async stats(id: CrawlId): Promise<CrawlStats> {
    return statsOf(this.#crawl(id), this.#watchedSince, this.#clock.now())
  }

  async hosts(id: CrawlId, page: HostPage): Promise<HostInfo[]> {
    const crawl = this.#crawl(id)
    const hosts = new Set(crawl.entries.map((entry) => entry.link.host))
    const infos = [...hosts]
      .filter((host) => page.after === undefined || host > page.after)
      .filter((host) => host.startsWith(page.begins ?? ''))
      .sort()
      .map((host) => this.#hostInfo(crawl, host))
    if (page.busiest && page.begins === undefined) infos.sort((a, b) => b.pending - a.pending)
    return infos.slice(0, page.limit)
  }

  async workers(): Promise<WorkerInfo[]> {
    return [...this.#workers]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([worker, { startedAt, seenAt, progressAt, about, done, failed }]) => {
        const inFlight = this.#inFlight(worker).length
        const { beatAt, lostAt } = this.#beats.get(worker) ?? { beatAt: null, lostAt: null }
        return { worker, inFlight, done, failed, startedAt, seenAt, progressAt, beatAt, lostAt, about }
      })
  }

  async links(query: LinkQuery): Promise<LinkInfo[]> {
    const now = this.#clock.now()
    return matching(this.#crawl(query.crawl), query, now).map((entry) => linkInfoOf(entry, this.#holdOf(entry), now))
  }

  async explain(id: CrawlId, fp: Fingerprint): Promise<Whereabouts> {
    const crawl = this.#crawl(id)
    const now = this.#clock.now()
    const entry = crawl.byFp.get(fp)
    if (entry === undefined) return { state: 'unknown' }
    const place = queueOf(entry.lane, now).indexOf(entry)
    return {
      state: stateOf(entry, now),
      link: linkInfoOf(entry, this.#holdOf(entry), now),
      host: this.#hostInfo(crawl, entry.link.host),
      position: place < 0 ? null : Math.min(place, POSITION_CAP),
      crawlState: crawl.state,
    }
  }

  async deadByError(id: CrawlId): Promise<DeadGroup[]> {
    return deadGroupsOf(this.#crawl(id))
  }

  async replay(id: CrawlId, filter: DeadFilter): Promise<number> {
    const crawl = this.#crawl(id)
    refuseCancelled(id, crawl.state)
    const dead = deadOf(crawl, filter)
    for (const entry of dead) this.#revive(entry, 0)
    if (dead.length > 0) this.#wake(crawl)
    this.#endIfDone(crawl)
    return dead.length
  }

  async purge(id: CrawlId, filter: DeadFilter): Promise<number> {
    const dead = deadOf(this.#crawl(id), filter)
    for (const entry of dead) entry.state = 'skipped'
    return dead.length
  }

  async steer(id: CrawlId, fp: Fingerprint, host: HostKey, order: LinkSteer): Promise<LinkSteered> {
    const crawl = this.#crawl(id)
    if (order !== 'remove') refuseCancelled(id, crawl.state)
    const entry = crawl.byFp.get(fp)
    if (entry === undefined || entry.link.host !== host) return 'unknown'
    const steered = this.#steer(entry, order)
    this.#endIfDone(crawl)
    return steered
  }

  #steer(entry: Entry, order: LinkSteer): LinkSteered {
    const { crawl } = entry.lane
    const now = this.#clock.now()
    const step = steerStep(stateOf(entry, now), order)
    switch (step) {
      case 'in_flight':
      case 'ended':
        return step
      case 'nothing':
        break
      case 'due':
        entry.dueAt = now
        break
      case 'promote':
        if (crawl.spec.order === 'priority') entry.link = { ...entry.link, priority: PRIORITY_MAX }
        entry.place = crawl.spec.order === 'lifo' ? ++this.#lastId : --this.#frontPlace
        entry.dueAt = now
        break
      case 'replay':
        this.#revive(entry, 0)
        this.#wake(crawl)
        break
      case 'skip': {
        const { endedAt } = entry
        this.#apply(AFTER_REMOVAL, entry)
        if (endedAt === null) entry.lane.servedAt = now
        else entry.endedAt = endedAt
      }
    }
    return 'ok'
  }

  async setHost(key: HostKey, settings: HostSettings): Promise<void> {
    const host = this.#host(key)
    const {
      delayMs = host.settings.delayMs,
      concurrency = host.settings.concurrency,
      floorMs = host.settings.floorMs,
      blocked = host.settings.blocked,
    } = settings
    host.settings = {
      delayMs: delayMs ?? null,
      concurrency: concurrency ?? null,
      floorMs: floorMs ?? null,
      blocked: blocked ?? null,
    }
    host.pace = { ...host.pace, closed: blocked === true }
  }

  async close(): Promise<void> {}

  #crawl(id: CrawlId): Crawl {
    const crawl = this.#crawls.get(id)
    if (crawl === undefined) throw unknownCrawl(id)
    return crawl
  }

  #host(key: HostKey): Host {
    let host = this.#hosts.get(key)
    if (host === undefined) {
      host = { pace: FRESH_HOST, settings: {}, latencyMs: null }
      this.#hosts.set(key, host)
    }
    host.pace = notAhead(host.pace, this.#clock.now())
    return host
  }

  #worker(id: WorkerId): Worker {
    let worker = this.#workers.get(id)
    if (worker === undefined) {
      const now = this.#clock.now()
      worker = {
        startedAt: now,
        seenAt: now,
        progressAt: null,
        about: null,
        lastSeq: null,
        usage: null,
        done: 0,
        failed: 0,
      }
      this.#workers.set(id, worker)
    }
    return worker
  }

  #lane(crawl: Crawl, link: Link): Lane {
    const route = Object.hasOwn(crawl.spec.routeLimits, link.route) ? link.route : ''
    let lane = this.#lanes.find((lane) => lane.crawl === crawl && lane.host === link.host && lane.route === route)
    if (lane === undefined) {
      lane = { crawl, host: link.host, route, pace: FRESH_HOST, servedAt: 0 }
      this.#lanes.push(lane)
    }
    return lane
  }

  #addLinks(crawl: Crawl, links: readonly Link[]): AddResult {
    let added = 0
    let known = 0
    let refused = 0
    for (const link of links) {
      const before = crawl.byFp.get(link.fp)
      const waits = before !== undefined && (before.state === 'pending' || before.state === 'leased')
      if (before !== undefined && (waits || !link.again)) {
        known++
      } else if (isFull(crawl, link.host)) {
        refused++
      } else {
        added++
        if (before === undefined) this.#enter(crawl, link)
        else this.#visitAgain(before, link)
      }
    }
    crawl.refused += refused
    return { added, known, refused, pending: pendingOf(crawl) }
  }

  #enter(crawl: Crawl, link: Link, history: Partial<Entry> = {}): void {
    const now = this.#clock.now()
    const id = ++this.#lastId
    const entry: Entry = {
      id,
      link: withoutAgain(link),
      lane: this.#lane(crawl, link),
      place: id,
      state: 'pending',
      dueAt: now + Math.max(0, link.delayMs ?? 0),
      attempts: 0,
      throttles: 0,
      reclaims: 0,
      bypassFresh: false,
      addedAt: now,
      endedAt: null,
      failures: [],
      ...history,
    }
    crawl.entries.push(entry)
    crawl.byFp.set(link.fp, entry)
  }

  #visitAgain(entry: Entry, link: Link): void {
    entry.link = withoutAgain(link)
    entry.lane = this.#lane(entry.lane.crawl, link)
    entry.place = ++this.#lastId
    this.#revive(entry, link.delayMs ?? 0)
  }

  #revive(entry: Entry, afterMs: number): void {
    this.#requeue(entry, afterMs)
    entry.attempts = 0
    entry.throttles = 0
    entry.reclaims = 0
    entry.endedAt = null
    entry.bypassFresh = true
  }

  /** A finished crawl that got work runs again. */
  #wake(crawl: Crawl): void {
    if (crawl.state !== 'finished') return
    crawl.state = 'running'
    crawl.endedBy = null
    crawl.finishedAt = null
  }

  #endIfDone(crawl: Crawl): void {
    if (crawl.state !== 'running' || crawl.entries.some((entry) => entry.state === 'leased')) return
    const now = this.#clock.now()
    const nothingLeft = pendingOf(crawl) === 0 && !crawl.seeding
    const endedBy = nothingLeft ? null : budgetSpent(crawl, now)
    if (!nothingLeft && endedBy === null) return
    crawl.state = 'finished'
    crawl.endedBy = endedBy
    crawl.finishedAt = now
  }

  #contest({ worker, busy, want, spiders }: LeaseRequest): Contest | null {
    if (busy === undefined) return null
    const turns = this.#turns.get(turnsName(spiders)) ?? NO_TURNS
    const usageOf = (id: WorkerId | null) => (id === null ? null : (this.#workers.get(id)?.usage ?? null))
    const [own, lead, next] = [usageOf(worker), usageOf(turns.lead), usageOf(turns.next)]
    return { worker, busy, want, turns, own, lead, next, now: this.#clock.now() }
  }

  #anyQueued(crawls: readonly Crawl[]): boolean {
    const now = this.#clock.now()
    return crawls.some(
      (crawl) => givesLeases(crawl, now) && crawl.entries.some((entry) => stateOf(entry, now) === 'queued'),
    )
  }

  #bestLane(crawls: readonly Crawl[], skipped: ReadonlySet<Lane>): Lane | undefined {
    const now = this.#clock.now()
    let best: { lane: Lane; score: number } | undefined
    for (const lane of this.#lanes) {
      if (skipped.has(lane) || !crawls.includes(lane.crawl) || !givesLeases(lane.crawl, now)) continue
      const head = queueOf(lane, now)[0]
      if (head === undefined || !canStart(this.#laneGates(lane), now)) continue
      const { order, agingMs } = lane.crawl.spec
      const priority = order === 'priority' ? head.link.priority : 0
      const score = laneScore(Math.max(lane.servedAt, head.dueAt), priority, agingMs)
      if (best === undefined || score < best.score) best = { lane, score }
    }
    return best?.lane
  }

  #grant(entry: Entry, request: LeaseRequest): Hold {
    const now = this.#clock.now()
    const { lane } = entry
    const { crawl } = lane
    const gates = this.#laneGates(lane)
    const { withoutPermit = false } = request
    if (!withoutPermit) start(gates, now, true)
    lane.servedAt = now
    crawl.startedAt ??= now
    entry.state = 'leased'
    this.#lastEpoch = max(this.#lastEpoch + 1n, BigInt(Math.round(now * 1000)))
    const hold: Hold = {
      entry,
      worker: request.worker,
      seq: request.seq,
      token: `${entry.id}-${this.#lastEpoch}`,
      epoch: String(this.#lastEpoch),
      attempt: entry.attempts + 1,
      leasedAt: now,
      permitMs: withoutPermit ? 0 : Math.min(...gates.map((gate) => permitMs(gate.limits))),
      solo: isSolo(entry.reclaims),
      expiresAt: now + crawl.spec.visibilityMs,
      state: 'held',
      slots: new Map(withoutPermit ? [] : [[lane.host, now]]),
    }
    this.#holds.set(hold.token, hold)
    return hold
  }

  #leaseOf(hold: Hold): Lease {
    const now = this.#clock.now()
    const { entry, token, epoch, attempt } = hold
    const { id, gen } = entry.lane.crawl.spec
    return {
      crawl: id,
      token,
      link: ownCopy(entry.link),
      attempt,
      throttles: entry.throttles,
      gen,
      epoch,
      permitMs: Math.max(0, hold.permitMs - (now - hold.leasedAt)),
      visibilityMs: hold.expiresAt - now,
      bypassFresh: entry.bypassFresh,
    }
  }

  #inFlight(worker: WorkerId): Hold[] {
    return [...this.#holds.values()].filter((hold) => hold.worker === worker && hold.state === 'held')
  }

  #hold(ref: LeaseRef): Hold | undefined {
    const hold = this.#holds.get(ref.token)
    return hold?.entry.lane.crawl.spec.id === ref.crawl ? hold : undefined
  }

  #liveHold(ref: LeaseRef): Hold | undefined {
    const hold = this.#hold(ref)
    return hold?.state === 'held' && hold.expiresAt > this.#clock.now() ? hold : undefined
  }

  #idleMs(crawls: readonly Crawl[]): number {
    const now = this.#clock.now()
    const events = [...this.#holds.values()]
      .filter((hold) => hold.state === 'held' && hold.expiresAt > now)
      .map((hold) => hold.expiresAt)
    for (const lane of this.#lanes) {
      if (!crawls.includes(lane.crawl) || !givesLeases(lane.crawl, now)) continue
      for (const entry of lane.crawl.entries) {
        if (entry.lane === lane && stateOf(entry, now) === 'delayed') events.push(entry.dueAt)
      }
      const gates = this.#laneGates(lane)
      const opensAt = openingOf(gates)
      if (queueOf(lane, now).length > 0 && (opensAt > now || canStart(gates, now))) events.push(opensAt)
    }
    return Math.min(IDLE_MAX_MS, Math.max(1, Math.ceil(Math.min(...events) - now)))
  }

  #hostLimits(key: HostKey, asking: Crawl): Limits {
    return adapted(this.#setLimits(key, asking), this.#host(key).latencyMs)
  }

  /** Before the host's own answers have their say. */
  #setLimits(key: HostKey, asking: Crawl): Limits {
    const crawls = [...this.#crawls.values()].filter(
      (crawl) =>
        crawl === asking ||
        (crawl.state === 'running' &&
          crawl.entries.some(
            (entry) => entry.link.host === key && (entry.state === 'pending' || entry.state === 'leased'),
          )),
    )
    return withSettings(strictest(crawls.map((crawl) => limitsFor(crawl.spec, key))), this.#host(key).settings)
  }

  #laneGates(lane: Lane): Gate[] {
    const host = { paced: this.#host(lane.host), limits: this.#hostLimits(lane.host, lane.crawl) }
    if (lane.route === '') return [host]
    return [host, { paced: lane, limits: lane.crawl.spec.routeLimits[lane.route] ?? UNLIMITED }]
  }

  /** What a request of this lease to `host` must pass. */
  #gates(hold: Hold, host: HostKey): Gate[] {
    const { lane } = hold.entry
    if (host === lane.host) return this.#laneGates(lane)
    return [{ paced: this.#host(host), limits: this.#hostLimits(host, lane.crawl) }]
  }

  #freeSlot(hold: Hold, host: HostKey, elapsedMs: number | null): void {
    hold.slots.delete(host)
    for (const { paced } of this.#gates(hold, host)) paced.pace = afterEnd(paced.pace, this.#clock.now(), elapsedMs)
  }

  #apply(transition: Transition, entry: Entry): void {
    const { to, afterMs, attempts, throttles, demoted, failure, counts } = transition
    const { crawl, host } = entry.lane
    entry.attempts += attempts
    entry.throttles += throttles
    if (failure !== null)
      entry.failures = [...entry.failures, { ...failure, at: this.#clock.now() }].slice(-FAILURES_KEPT)
    if (demoted) {
      entry.link = { ...entry.link, priority: clampPriority(entry.link.priority - crawl.spec.retryPriorityStep) }
      entry.place = ++this.#lastId
    }
    if (to === 'pending') this.#requeue(entry, afterMs)
    else {
      entry.state = to
      entry.endedAt = this.#clock.now()
      entry.bypassFresh = false
    }
    crawl.bytes += counts.bytes ?? 0
    crawl.retried += counts.retried ?? 0
    crawl.throttled += counts.throttled ?? 0
    crawl.reclaimed += counts.reclaimed ?? 0
    crawl.failedByHost.set(host, (crawl.failedByHost.get(host) ?? 0) + (counts.failed ?? 0))
  }

  #requeue(entry: Entry, afterMs: number): void {
    entry.state = 'pending'
    entry.dueAt = this.#clock.now() + Math.max(0, afterMs)
  }

  /** The lease ran out, or its worker is dead. */
  #reclaim(hold: Hold, cause?: string): void {
    const { entry } = hold
    const { crawl } = entry.lane
    hold.state = 'lost'
    for (const host of [...hold.slots.keys()]) this.#freeSlot(hold, host, null)
    entry.reclaims++
    this.#apply(afterReclaim(entry.reclaims, crawl.spec.maxReclaims, cause), entry)
    this.#endIfDone(crawl)
  }

  #hostInfo(crawl: Crawl, key: HostKey): HostInfo {
    return hostInfoOf(crawl, key, this.#host(key), this.#setLimits(key, crawl), this.#clock.now())
  }

  #holdOf(entry: Entry): Hold | undefined {
    return [...this.#holds.values()].find((hold) => hold.entry === entry && hold.state === 'held')
  }
}

/** The data of a link is its handler's to change, and the next attempt gets it as it was. */
function ownCopy(link: Link): Link {
  return link.data === undefined ? link : { ...link, data: structuredClone(link.data) }
}

function withoutAgain({ again, ...link }: Link): Link {
  return link
}

function historyOf(restored: RestoredLink): Partial<Entry> {
  if (restored.state === 'done') return { state: 'done', attempts: 1 }
  const { state, attempts, throttles, reclaims, failures } = restored
  const endedAt = state === 'pending' ? null : (failures.at(-1)?.at ?? null)
  return { state, attempts, throttles, reclaims, endedAt, failures: failures.slice(-FAILURES_KEPT) }
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
