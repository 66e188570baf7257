import { type Random, seededRandom } from '../clock.js'
import { type Outcome, SLOT_WAIT_MS } from '../frontier/frontier.js'
import { permitMs } from '../frontier/pace.js'
import { afterSettle } from '../frontier/transitions.js'
import { outcomeOf } from '../worker/outcome.js'
import { robotsWaitMs } from '../worker/retry-waits.js'
import { Bottleneck } from './bottleneck.js'
import { streamSeed } from './chance.js'
import { IndexedHeap } from './heap.js'
import { LinksFound } from './links-found.js'
import type { Profile } from './profile.js'
import { Series } from './series.js'
import type { SimulatedHost } from './simulated-host.js'
import { SimulatedProxies } from './simulated-proxies.js'
import { SimulatedQueue } from './simulated-queue.js'
import { ERROR_OF, newVisit, PROXIES_RESTING, ROBOTS_UNREACHABLE, reportOf, type Visit } from './simulated-visit.js'
import { SimulatedWorker, type VirtualTime } from './simulated-worker.js'
import { type Answer, Web } from './web.js'

/** Virtual time begins here: 0 means "never" to the queue. */
export const BEGIN = 1_000_000_000_000
/** A worker reviews its slots this often (worker.ts). */
const REVIEW_MS = 250
/** A visit waits this long for its host's next slot (waits.ts). */
const PATIENCE_MS = 5_000
/** A host that no proxy can reach is asked again after this long at the latest (borrow-proxy.ts). */
const LONGEST_CLOSED_MS = 30_000
/** A proxy that does not work is noticed after this long. */
const BROKEN_MS = 50
/** No rest of a proxy and no Retry-After is this long. */
const STALLED_MS = 6 * 3_600_000

/** `stalled`: nothing can end any more, such as with proxies none of which works. A real crawl would wait for somebody to help. */
export type EndedBy = 'budget_bytes' | 'budget_time' | 'stalled'

/** What has happened so far. */
export interface Totals {
  done: number
  dead: number
  requests: number
  retries: number
  /** Answers of 429, and refusals of a proxy. */
  throttled: number
  banned: number
  bytes: number
  /** Milliseconds of all slots, of all cores of workers, and of the queue's server. */
  slotMs: number
  queueMs: number
}

/** Something that happened, for tests that compare it with the real thing. */
export type Watch = (event: 'start' | 'end', at: number, host: number) => void

/**
 * A crawl on a virtual clock. Which link is visited when, how often it is retried, how many pages a worker takes at once and which proxies rest is decided
 * by the code that decides it in production; the web, the network, the CPU of handlers and the queue's server are modelled. One event at a time.
 */
export class Simulation {
  readonly profile: Profile
  readonly queue: SimulatedQueue
  readonly web: Web
  readonly series = new Series()
  readonly workers: readonly SimulatedWorker[]
  readonly totals: Totals = {
    ...{ done: 0, dead: 0, requests: 0, retries: 0, throttled: 0, banned: 0, bytes: 0, slotMs: 0, queueMs: 0 },
  }
  /** Why it ended before its links did. */
  endedBy: EndedBy | null = null
  /** When the last link ended. */
  endedAt = BEGIN
  readonly #time: VirtualTime = { now: BEGIN }
  readonly #events = new IndexedHeap(1_024)
  readonly #visits: Visit[] = []
  readonly #unused: Visit[] = []
  readonly #answer: Answer = { kind: 'page', latencyMs: 0 }
  readonly #jitter: Random
  readonly #render: Random
  readonly #proxies: SimulatedProxies | null
  readonly #watch: Watch | null
  /** Visits that wait for somebody else's request for the robots.txt of their host. */
  readonly #robotsWaiters = new Map<number, Visit[]>()
  readonly #served: SimulatedWorker[] = []
  readonly #stalledMs: number
  readonly #bottleneck: Bottleneck
  readonly #links: LinksFound
  #nextWorker = 0
  /** No worker has a free slot: nobody looks for one until a visit ends or slots are reviewed. */
  #isFull = false
  #queueFreeAt = BEGIN
  #reviewAt = BEGIN + REVIEW_MS
  #sampleAt: number
  #inFlight = 0
  #slotsSince = BEGIN

  constructor(profile: Profile, watch: Watch | null = null) {
    this.profile = profile
    this.#watch = watch
    this.web = new Web(profile)
    this.queue = new SimulatedQueue(profile, this.web.urls, this.#time)
    this.#jitter = seededRandom(streamSeed(profile.seed, 'jitter'))
    this.#render = seededRandom(streamSeed(profile.seed, 'render'))
    this.#proxies = profile.proxies === null ? null : new SimulatedProxies(profile, profile.proxies)
    this.#stalledMs = STALLED_MS + 4 * Math.max(profile.robots.delayMs, profile.spec.limits.delayMs)
    this.#sampleAt = BEGIN + this.series.widthMs
    this.workers = Array.from({ length: profile.workers }, (_, id) => new SimulatedWorker(id, profile, this.#time))
    this.#bottleneck = new Bottleneck(profile, this.queue, this.workers)
    this.#links = new LinksFound(profile, this.queue, this.web)
    this.#links.seed()
    this.#dispatch(null)
  }

  /** Milliseconds since the start. */
  get elapsedMs(): number {
    return this.#time.now - BEGIN
  }

  get ended(): number {
    return this.totals.done + this.totals.dead
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** As many events as given, or until nothing is left to do. True: it has ended. */
  run(events: number): boolean {
    for (let left = events; left > 0; left--) if (!this.#step()) return true
    return false
  }

  /** False: nothing is left to do. */
  #step(): boolean {
    const { queue } = this
    const next = Math.min(this.#events.firstKey, queue.nextAt)
    if (next === Number.POSITIVE_INFINITY && queue.ready.size === 0) return false
    if (this.#overBudget()) return false
    const tick = Math.min(this.#sampleAt, queue.ready.size > 0 ? this.#reviewAt : Number.POSITIVE_INFINITY)
    const at = Math.min(next, tick)
    this.totals.slotMs += this.#inFlight * (at - this.#slotsSince)
    this.#slotsSince = at
    this.#time.now = at
    if (at >= this.#sampleAt) this.#sample()
    let freed: SimulatedWorker | null = null
    if (this.#events.firstKey <= at) freed = this.#advance(this.#events.first)
    queue.advance()
    if (queue.ready.size > 0) this.#dispatch(freed)
    // Only where every slot is taken: with slots to spare, a review changes nothing.
    if (queue.ready.size > 0 && at >= this.#reviewAt) this.#review()
    return true
  }

  /**
   * The worker that has a free slot now, if one has. The visit stays in the heap: it moves to its next event, or leaves when it ends, which is one walk
   * through the heap instead of two.
   */
  #advance(id: number): SimulatedWorker | null {
    const visit = this.#visits[id]
    if (visit === undefined) return null
    switch (visit.next) {
      case 'robots':
        return this.#robotsAnswered(visit)
      case 'permit':
        return this.#askForPermit(visit)
      case 'answer':
        this.#answered(visit)
        return null
      case 'read':
        this.#read(visit)
        return null
      case 'handled':
        return this.#handled(visit)
    }
  }

  #then(visit: Visit, next: Visit['next'], at: number): void {
    visit.next = next
    this.#events.set(visit.id, at)
  }

  /** Hands out links while there are links and slots: to the worker that has just asked, otherwise to each in turn, as turns.ts makes it come out. */
  #dispatch(asking: SimulatedWorker | null): void {
    const served = this.#served
    while (this.queue.ready.size > 0) {
      const worker = asking !== null && asking.free > 0 ? asking : this.#workerInTurn()
      if (worker === null) break
      if (worker.got === 0) {
        worker.wanted = worker.free
        served.push(worker)
      }
      worker.got++
      this.#start(worker)
    }
    for (const worker of served) {
      worker.slots.leased(worker.wanted, worker.got, worker.busy)
      worker.got = 0
    }
    served.length = 0
  }

  #workerInTurn(): SimulatedWorker | null {
    const { workers } = this
    if (this.#isFull) return null
    for (let tries = 0; tries < workers.length; tries++) {
      this.#nextWorker = this.#nextWorker + 1 < workers.length ? this.#nextWorker + 1 : 0
      const worker = workers[this.#nextWorker]
      if (worker !== undefined && worker.free > 0) return worker
    }
    this.#isFull = true
    return null
  }

  #start(worker: SimulatedWorker): void {
    const host = this.queue.lease()
    if (host === null) return
    const { now } = this.#time
    const { leased } = this.queue
    const visit = this.#unused.pop() ?? this.#newVisit(host, worker)
    visit.host = host
    visit.worker = worker
    visit.attempt = leased.attempt
    visit.throttles = leased.throttles
    visit.place = leased.place
    visit.grantedAt = now
    visit.giveUpAt = 0
    worker.busy++
    this.#inFlight++
    this.#watch?.('start', now, host.id)
    const at = this.#queueCall(now)
    if (!this.profile.robots.enabled || host.robots === 'known') this.#send(visit, at)
    else if (host.robots === 'asked') this.#waitForRobots(visit)
    else if (host.robotsRetryAt > now) this.#robotsFailed(visit)
    else this.#askForRobots(visit, at)
  }

  /** When the reply of the queue is there: its server works on one call after the other. */
  #queueCall(now: number): number {
    const { callMs, cpuMs } = this.profile.queue
    this.#queueFreeAt = Math.max(this.#queueFreeAt, now) + cpuMs
    this.totals.queueMs += cpuMs
    return this.#queueFreeAt + callMs
  }

  #send(visit: Visit, at: number): void {
    const { host, worker } = visit
    const { page, render, bandwidth } = this.profile
    let sentAt = at
    if (this.#proxies !== null) {
      sentAt = this.#borrowProxy(visit, this.#proxies, at)
      if (sentAt < 0) return
    }
    const answer = this.#answer
    this.web.answer(host.id, sentAt, answer)
    visit.kind = answer.kind
    visit.latencyMs = answer.latencyMs
    visit.dispatchedAt = sentAt
    this.totals.requests++
    let endAt = sentAt + answer.latencyMs
    if (answer.kind === 'page') {
      endAt = worker.receive(endAt, page.bytes, bandwidth)
      if (render.share > 0 && this.#render() < render.share) endAt = worker.render(endAt, render.ms)
    }
    this.#then(visit, 'answer', endAt)
  }

  /** When the request leaves; −1: every proxy rests, and the link went back. */
  #borrowProxy(visit: Visit, proxies: SimulatedProxies, at: number): number {
    const { host, grantedAt } = visit
    const { now } = this.#time
    let sentAt = at
    for (;;) {
      visit.proxy = proxies.choose(host, now)
      if (visit.proxy < 0) break
      if (!proxies.doesNotWork(visit.proxy)) return sentAt
      proxies.report(host, visit.proxy, { kind: 'broken' }, grantedAt, now)
      sentAt += BROKEN_MS
    }
    const waitMs = Math.min(LONGEST_CLOSED_MS, Math.ceil(proxies.firstBack(host, now) - now))
    this.queue.release(host, { kind: 'wait', ms: waitMs }, grantedAt, 0, 0)
    this.#settle(visit, outcomeOf(PROXIES_RESTING, visit, this.profile, this.#jitter, waitMs))
    this.#free(visit)
    return -1
  }

  #answered(visit: Visit): void {
    const { worker } = visit
    const { now } = this.#time
    const { cpuMs, cpuBusyMs } = this.profile.page
    visit.arrivedAt = now
    const readAt = worker.compute(now, cpuMs, cpuBusyMs)
    if (readAt > now) this.#then(visit, 'read', readAt)
    else this.#read(visit)
  }

  /** The body is read: the slot of the host is free. The page keeps that of the worker until it is handled. */
  #read(visit: Visit): void {
    const { host, worker, kind, dispatchedAt, arrivedAt } = visit
    const { now } = this.#time
    this.queue.release(
      host,
      reportOf(kind, this.profile.rateLimits?.retryAfterMs ?? null),
      visit.grantedAt,
      now - dispatchedAt,
      visit.latencyMs,
    )
    const bytes = kind === 'page' ? this.profile.page.bytes : 0
    this.totals.bytes += bytes
    worker.slots.answered(visit, dispatchedAt, now - arrivedAt, bytes)
    if (this.#proxies !== null) this.#judgeProxy(visit, this.#proxies)
    this.#then(visit, 'handled', worker.cpuFreeAt)
  }

  #judgeProxy({ host, kind, proxy, grantedAt }: Visit, proxies: SimulatedProxies): void {
    const { now } = this.#time
    if (kind === 'banned') proxies.report(host, proxy, { kind: 'banned', retryAfterMs: null }, grantedAt, now)
    else if (kind === 'page' || kind === 'not_found') proxies.report(host, proxy, { kind: 'good' }, grantedAt, now)
    const limits = proxies.limitsFor(host, now)
    if (limits !== null) this.queue.setLimits(host, limits)
  }

  #handled(visit: Visit): SimulatedWorker {
    const { host, kind } = visit
    if (kind === 'page') {
      this.totals.done++
      this.#ended(host)
    } else {
      if (kind === 'throttled') this.totals.throttled++
      else if (kind === 'banned') this.totals.banned++
      this.#settle(visit, outcomeOf(ERROR_OF[kind], visit, this.profile, this.#jitter))
    }
    return this.#free(visit)
  }

  /** A visit that brought no page. */
  #settle(visit: Visit, outcome: Outcome): void {
    const { host, attempt, throttles, place } = visit
    const { to, afterMs, attempts, throttles: throttled, demoted } = afterSettle(outcome)
    if (to === 'pending') {
      if (attempts > 0) this.totals.retries++
      this.queue.requeue(host, attempt - 1 + attempts, throttles + throttled, place, afterMs, demoted)
      return
    }
    this.totals.dead++
    this.#ended(host)
  }

  #ended(host: SimulatedHost): void {
    const { now } = this.#time
    host.ended++
    host.endedAt = now
    this.endedAt = now
    this.#watch?.('end', now, host.id)
    this.#links.ended(host)
  }

  #free(visit: Visit): SimulatedWorker {
    const { worker } = visit
    this.#events.remove(visit.id)
    worker.busy--
    this.#isFull = false
    worker.slots.handled(visit)
    this.#inFlight--
    this.#unused.push(visit)
    // A worker with slots to spare would decide to leave them as they are.
    if (this.queue.ready.size > 0) worker.slots.decide(worker.busy, 0)
    return worker
  }

  #askForRobots(visit: Visit, at: number): void {
    const { host } = visit
    host.robots = 'asked'
    this.web.answer(host.id, at, this.#answer)
    this.totals.requests++
    visit.dispatchedAt = at
    this.#then(visit, 'robots', at + this.#answer.latencyMs)
  }

  #waitForRobots(visit: Visit): void {
    const waiters = this.#robotsWaiters.get(visit.host.id)
    if (waiters === undefined) this.#robotsWaiters.set(visit.host.id, [visit])
    else waiters.push(visit)
  }

  #robotsAnswered(visit: Visit): SimulatedWorker | null {
    const { host, worker } = visit
    const { now } = this.#time
    const waiters = this.#robotsWaiters.get(host.id) ?? []
    this.#robotsWaiters.delete(host.id)
    if (this.web.isDown(host.id)) {
      host.robots = 'unknown'
      host.robotsFailures++
      host.robotsRetryAt = now + robotsWaitMs([this.profile], host.robotsFailures)
      this.#robotsFailed(visit)
      for (const waiter of waiters) this.#robotsFailed(waiter)
      return worker
    }
    host.robots = 'known'
    this.queue.endSilently(host)
    const floorMs = this.web.crawlDelayMs(host.id)
    if (floorMs !== null) this.queue.setFloor(host, floorMs)
    const freshMs = permitMs(this.queue.limitsOf(host))
    for (const waiter of waiters) {
      if (now - waiter.grantedAt <= freshMs) this.#send(waiter, now)
      else {
        this.queue.endSilently(host)
        this.#askForPermit(waiter)
      }
    }
    return this.#askForPermit(visit)
  }

  /** Its failures count for every link of the host (failed-visit.ts). */
  #robotsFailed(visit: Visit): void {
    const { host } = visit
    const { now } = this.#time
    this.queue.endSilently(host)
    const attempt = Math.max(visit.attempt, host.robotsFailures)
    const lease = { attempt, throttles: visit.throttles }
    this.#settle(
      visit,
      outcomeOf(ROBOTS_UNREACHABLE, lease, this.profile, this.#jitter, Math.max(0, host.robotsRetryAt - now)),
    )
    this.#free(visit)
  }

  /** The worker, if the visit gave up its slot. */
  #askForPermit(visit: Visit): SimulatedWorker | null {
    const { now } = this.#time
    const waitMs = this.queue.permit(visit.host, SLOT_WAIT_MS)
    if (waitMs === 0) {
      visit.grantedAt = now
      this.#send(visit, this.#queueCall(now))
      return null
    }
    if (visit.giveUpAt === 0) visit.giveUpAt = now + PATIENCE_MS
    if (now + waitMs <= visit.giveUpAt) {
      this.#then(visit, 'permit', now + waitMs)
      return null
    }
    this.#settle(visit, { kind: 'back', afterMs: 0 })
    return this.#free(visit)
  }

  #overBudget(): boolean {
    const { bytes, ms } = this.profile.spec.budget
    if (bytes !== undefined && this.totals.bytes >= bytes) this.endedBy = 'budget_bytes'
    else if (ms !== undefined && this.#time.now - BEGIN >= ms) this.endedBy = 'budget_time'
    else if (this.#time.now - this.endedAt > this.#stalledMs) this.endedBy = 'stalled'
    return this.endedBy !== null
  }

  /** Slots that only wait are doubled by time alone. */
  #review(): void {
    for (const worker of this.workers) worker.slots.decide(worker.busy, 0)
    this.#reviewAt = this.#time.now + REVIEW_MS
    this.#isFull = false
    this.#dispatch(null)
  }

  #sample(): void {
    const { totals, queue, series } = this
    series.add(
      {
        ended: this.ended,
        requests: totals.requests,
        retries: totals.retries,
        throttled: totals.throttled + totals.banned,
        pending: queue.pending,
        workers: this.workers.length,
        busy: this.#inFlight,
      },
      this.#bottleneck.sample(totals.queueMs, this.#inFlight, series.widthMs),
    )
    this.#sampleAt = BEGIN + (series.stretches.length + 1) * series.widthMs
  }

  #newVisit(host: SimulatedHost, worker: SimulatedWorker): Visit {
    const visit = newVisit(this.#visits.length, host, worker)
    this.#visits.push(visit)
    return visit
  }
}
