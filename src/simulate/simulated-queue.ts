import type { HostReport, Limits } from '../frontier/frontier.js'
import {
  afterEnd,
  afterReport,
  afterStart,
  earliestStart,
  laneScore,
  meanLatency,
  sentFor,
  withSettings,
} from '../frontier/pace.js'
import { clampPriority } from '../url/link.js'
import { IndexedHeap } from './heap.js'
import type { Profile } from './profile.js'
import { popDue, pushDue, SimulatedHost, type TriedLink } from './simulated-host.js'
import type { VirtualTime } from './simulated-worker.js'

/** What a lease is about; the same object for every one of them. */
export interface LeasedLink {
  /** Of the visit that begins: 1 is the first. */
  attempt: number
  throttles: number
  place: number
}

/**
 * The queue on a virtual clock: every time and every order is decided by the functions of frontier/pace.ts, as in the real ones; test/simulate holds it
 * to the memory frontier, start by start. Hosts wait in two heaps: `waiting` until their pace opens, `ready` in the order in which lanes are served.
 */
export class SimulatedQueue {
  readonly hosts: readonly SimulatedHost[]
  readonly ready: IndexedHeap
  readonly waiting: IndexedHeap
  /** Tried links that are not due yet. */
  readonly delayed = new IndexedHeap(1_024)
  readonly leased: LeasedLink = { attempt: 1, throttles: 0, place: 0 }
  /** Links added so far, those that are queued or delayed, and the most that ever were. */
  added = 0
  pending = 0
  mostPending = 0
  /** Over `maxPending` or a budget of pages. */
  refused = 0
  /** Hosts from which something was asked. */
  hostsAsked = 0
  /** Hosts with links, all of whose slots are taken. */
  full = 0
  readonly #profile: Profile
  readonly #time: VirtualTime
  readonly #isFull: Uint8Array
  readonly #links: TriedLink[] = []
  readonly #unused: TriedLink[] = []
  #lastPlace = 0

  constructor(profile: Profile, urls: Float64Array, time: VirtualTime) {
    const { spec } = profile
    const most = spec.budget.pagesPerHost ?? Number.POSITIVE_INFINITY
    this.#profile = profile
    this.#time = time
    this.hosts = Array.from(urls, (count, id) => new SimulatedHost(id, Math.min(count, most), spec.limits))
    this.refused = urls.reduce((all, count) => all + Math.max(0, count - most), 0)
    this.ready = new IndexedHeap(urls.length)
    this.waiting = new IndexedHeap(urls.length)
    this.#isFull = new Uint8Array(urls.length)
  }

  /** When time itself changes something; Infinity: never. */
  get nextAt(): number {
    return Math.min(this.waiting.firstKey, this.delayed.firstKey)
  }

  /** Links that fell due and hosts that opened. */
  advance(): void {
    const { now } = this.#time
    while (this.delayed.firstKey <= now) {
      const link = this.#links[this.delayed.pop()]
      if (link === undefined) break
      pushDue(link.host.due, link)
      this.place(link.host)
    }
    while (this.waiting.firstKey <= now) {
      const host = this.hosts[this.waiting.first]
      if (host === undefined) break
      this.place(host)
    }
  }

  /** Adds up to `count` of the host's URLs that are not known yet. Answers how many. */
  add(host: SimulatedHost, count: number, isSeed = false): number {
    const { budget, maxPending, overflow } = this.#profile.spec
    const room = isSeed || overflow === 'keep' ? Number.POSITIVE_INFINITY : maxPending - this.pending
    const left = (budget.pages ?? Number.POSITIVE_INFINITY) - this.added
    const wanted = Math.min(count, host.unknown)
    const added = Math.max(0, Math.min(wanted, room, left))
    // Over `maxPending` a link is not remembered: it may be found again, and be counted again.
    this.refused += wanted - added
    if (added === 0) return 0
    if (host.fresh === 0) host.freshAt = this.#time.now
    host.fresh += added
    host.unknown -= added
    this.added += added
    this.pending += added
    this.mostPending = Math.max(this.mostPending, this.pending)
    this.place(host)
    return added
  }

  /** The best link of the best lane (`leased` says what it is); null: no host may be asked now. */
  lease(): SimulatedHost | null {
    const host = this.hosts[this.ready.first]
    if (host === undefined) return null
    const { now } = this.#time
    if (host.servedAt === 0) this.hostsAsked++
    const tried = host.due[0]
    if (tried !== undefined && (tried.attempts === 0 || host.fresh === 0)) {
      popDue(host.due)
      this.leased.attempt = tried.attempts + 1
      this.leased.throttles = tried.throttles
      this.leased.place = tried.place
      this.#unused.push(tried)
    } else {
      host.fresh--
      this.leased.attempt = 1
      this.leased.throttles = 0
      this.leased.place = ++this.#lastPlace
    }
    this.pending--
    host.setPace(afterStart(host.pace, this.limitsOf(host), now))
    host.servedAt = now
    this.place(host)
    return host
  }

  /** A visit that already has a lease sends one more request: 0 when it may, otherwise how long it has to wait. */
  permit(host: SimulatedHost, slotWaitMs: number): number {
    const { now } = this.#time
    const limits = this.limitsOf(host)
    const opensAt = earliestStart(host.pace, limits)
    if (opensAt > now) return Math.ceil(opensAt - now)
    if (host.pace.inFlight >= limits.concurrency) return slotWaitMs
    host.setPace(afterStart(host.pace, limits, now))
    this.place(host)
    return 0
  }

  release(host: SimulatedHost, report: HostReport, grantedAt: number, elapsedMs: number, latencyMs: number): void {
    const { now } = this.#time
    host.setPace(afterEnd(host.pace, now, sentFor(report, elapsedMs)))
    host.setPace(afterReport(host.pace, report, grantedAt, now))
    host.latencyMs = meanLatency(host.latencyMs, report, latencyMs)
    this.place(host)
  }

  /** A link comes back. `isDemoted`: it lost an attempt, and waits behind its equals. */
  requeue(
    host: SimulatedHost,
    attempts: number,
    throttles: number,
    place: number,
    afterMs: number,
    isDemoted: boolean,
  ): void {
    const link = this.#unused.pop() ?? this.#newLink(host)
    link.host = host
    link.attempts = attempts
    link.throttles = throttles
    link.place = isDemoted ? ++this.#lastPlace : place
    link.dueAt = this.#time.now + afterMs
    this.pending++
    this.mostPending = Math.max(this.mostPending, this.pending)
    if (afterMs > 0) this.delayed.set(link.id, link.dueAt)
    else {
      pushDue(host.due, link)
      this.place(host)
    }
  }

  /** Nothing was sent after all. */
  endSilently(host: SimulatedHost): void {
    host.setPace(afterEnd(host.pace, this.#time.now, null))
    this.place(host)
  }

  /** Its robots.txt asks for a delay. */
  setFloor(host: SimulatedHost, floorMs: number): void {
    host.floorMs = floorMs
    host.limits = withSettings(host.limits, { floorMs })
  }

  /** Proxies went to rest on it, or are back. */
  setLimits(host: SimulatedHost, limits: Limits): void {
    host.limits = host.floorMs === 0 ? limits : withSettings(limits, { floorMs: host.floorMs })
    this.place(host)
  }

  limitsOf(host: SimulatedHost): Limits {
    return host.adaptedLimits
  }

  /** Puts the host into the heap where it belongs now. */
  place(host: SimulatedHost): void {
    const { id } = host
    const isFull = host.hasWork && host.pace.inFlight >= host.limits.concurrency
    if (isFull !== (this.#isFull[id] === 1)) {
      this.#isFull[id] = isFull ? 1 : 0
      this.full += isFull ? 1 : -1
    }
    if (isFull || !host.hasWork) {
      this.ready.remove(id)
      this.waiting.remove(id)
      return
    }
    const opensAt = earliestStart(host.pace, this.limitsOf(host))
    if (opensAt > this.#time.now) {
      this.ready.remove(id)
      this.waiting.set(id, opensAt)
    } else {
      this.waiting.remove(id)
      this.ready.set(id, this.#score(host))
    }
  }

  #score(host: SimulatedHost): number {
    const { agingMs, retryPriorityStep, order } = this.#profile.spec
    const tried = host.due[0]
    const isTried = tried !== undefined && (tried.attempts === 0 || host.fresh === 0)
    if (!isTried) return laneScore(Math.max(host.servedAt, host.freshAt), 0, agingMs)
    const priority = order === 'priority' ? clampPriority(-tried.attempts * retryPriorityStep) : 0
    return laneScore(Math.max(host.servedAt, tried.dueAt), priority, agingMs)
  }

  #newLink(host: SimulatedHost): TriedLink {
    const link: TriedLink = { id: this.#links.length, host, attempts: 0, throttles: 0, place: 0, dueAt: 0 }
    this.#links.push(link)
    return link
  }
}
