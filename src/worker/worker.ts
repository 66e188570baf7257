import type { Clock } from '../clock.js'
import { asShoalError, isAway, type ShoalError } from '../errors.js'
import type { CrawlId, Frontier, Lease, LeaseReply, WorkerAbout, WorkerId } from '../frontier/frontier.js'
import type { Log } from '../log.js'
import type { Meter, Reading } from '../observe/vitals/meter.js'
import { IN_FLIGHT_REPORTED, type InFlight, type Vitals } from '../observe/vitals/vitals.js'
import { awayPause, type BackendWatch } from '../while-away.js'
import type { Outbox } from './outbox.js'
import { visit } from './visit.js'
import { newVisit, type Visit, type VisitParts } from './visit-parts.js'
import { grantTime } from './waits.js'
import type { WorkerSlots } from './worker-slots.js'

/** Visits that only wait for their commit take no slot. More of them than this, and slow backends slow down the leasing. */
export const MOST_COMMITTING = 256
/** How often the number of slots is reviewed while nothing else happens. */
const REVIEW_MS = 250
/** Links of a crawl whose spider this worker does not have go back for this long. */
const NOT_OURS_MS = 5_000

export interface WorkerOptions {
  readonly id: WorkerId
  readonly slots: WorkerSlots
  readonly frontier: Pick<Frontier, 'lease'>
  readonly outbox: Pick<Outbox, 'settle' | 'poke' | 'giveUp'>
  readonly backends: BackendWatch
  readonly clock: Clock
  readonly log: Log
  readonly meter: Meter
  readonly spiders: readonly string[]
  readonly about: WorkerAbout
  readonly partsOf: PartsOf
  /** True while its pages come from a cache: see `LeaseRequest`. Left out: never. */
  readonly withoutPermit?: () => boolean
}

/** What the visits of a crawl work with; null when its spider is none of this worker's. A promise only when the queue must be asked. */
export type PartsOf = (crawl: CrawlId) => VisitParts | null | Promise<VisitParts | null>

/**
 * The loop: room → lease → visit → settle. It does not fetch, parse or store, and has nothing to lose: links in flight are leased, and those that
 * are not settled are handed out again.
 */
export class CrawlWorker {
  readonly #options: WorkerOptions
  readonly #inFlight = new Map<string, Visit>()
  #fetching = 0
  #seq = 0
  #leasing = false
  #short = true
  /** The queue does not know yet where this worker runs. */
  #aboutDue = true
  #stopping = false
  /** The queue asked this worker to finish what it has: a link that killed workers is to be leased alone. */
  #draining = false
  #cancelNap: () => void = () => {}
  #cancelReview: () => void = () => {}
  /** The last pause while the queue was down; 0: it is not. */
  #awayMs = 0
  #failure: ShoalError | null = null
  readonly #ended: Promise<void>
  #end: () => void = () => {}

  constructor(options: WorkerOptions) {
    this.#options = options
    this.#ended = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  /** Runs until stopped. Rejects when a backend cannot be used. */
  async run(): Promise<void> {
    this.#options.log.info('worker.started', { worker: this.#options.id, concurrency: this.#options.slots.most })
    this.#leaseMore()
    this.#reviewLater()
    await this.#ended
    if (this.#failure !== null) throw this.#failure
  }

  /** Finishes what is in flight within `graceMs`, and hands back the rest. */
  async stop(graceMs: number): Promise<void> {
    const { log, clock, id } = this.#options
    if (!this.#stopping) log.info('worker.draining', { worker: id, inFlight: this.#inFlight.size })
    this.#stopping = true
    this.#options.meter.heldUpBy('idle')
    this.#cancelNap()
    const cancel = clock.after(graceMs, () => {
      this.#options.outbox.giveUp()
      for (const { stop } of this.#inFlight.values()) stop.aborted = true
    })
    this.#endIfEmpty()
    await this.#ended
    cancel()
  }

  /** Leases more now if there is room: links were added, or slots are about to be free. */
  wake(): void {
    this.#leaseMore()
  }

  /** Leases that the keeper found lost: their fetches are given up and nothing of them is written. */
  lost(tokens: readonly string[]): void {
    for (const token of tokens) {
      const current = this.#inFlight.get(token)
      // Its settle is in flight and will show whether the lease is lost.
      if (current === undefined || current.settling) continue
      if (!current.lost) this.#options.meter.lost()
      current.lost = true
      current.stop.aborted = true
      const { fp, url } = current.lease.link
      this.#options.log.warn('lease.lost', { fp, url, worker: this.#options.id })
    }
  }

  /** How many visits are in flight, those that wait for their commit included. */
  get inFlight(): number {
    return this.#inFlight.size
  }

  /** The last lease call got fewer links than there were slots for. */
  get isShort(): boolean {
    return this.#short
  }

  /** What is in flight and not being settled. */
  get held(): Lease[] {
    return [...this.#inFlight.values()].filter(({ settling }) => !settling).map(({ lease }) => lease)
  }

  /** How it is doing, for its vitals. */
  get reading(): Reading & Pick<Vitals, 'most' | 'because'> {
    const { most, because } = this.#options.slots
    return { ...this.#options.meter.read(this.#inFlight.values()), most, because }
  }

  /** What is in flight, longest first. */
  get longestInFlight(): InFlight[] {
    const now = this.#options.clock.mono()
    const longest: InFlight[] = []
    for (const { lease, proxy, grantedAt } of this.#inFlight.values()) {
      if (longest.length === IN_FLIGHT_REPORTED) break
      longest.push({
        crawl: lease.crawl,
        fp: lease.link.fp,
        proxy: proxyShown(proxy),
        forMs: Math.max(0, now - grantedAt),
      })
    }
    return longest
  }

  /** Everything in flight, with whether its settle is. */
  get holdings(): { token: string; epoch: string; settling: boolean; waiting: boolean }[] {
    return [...this.#inFlight.values()].map(({ lease: { token, epoch }, settling, produced: waiting }) => ({
      ...{ token, epoch, settling, waiting },
    }))
  }

  /** Leases as many links as there is room for, unless a lease call is in flight. Called with every flush of the outbox and after a nap. */
  #leaseMore(): void {
    if (this.#stopping || this.#leasing || this.#failure !== null) return
    const { frontier, id, spiders, clock, about, meter, slots, withoutPermit } = this.#options
    slots.decide(this.#fetching, this.#committing)
    const free = slots.now - this.#fetching
    const room = Math.min(free, MOST_COMMITTING + free - this.#committing)
    if (room <= 0 || slots.isFullOfBodies || (this.#draining && this.#inFlight.size > 0)) {
      if (free > 0) meter.heldUpBy(room <= 0 ? this.#slowBackends() : slots.isFullOfBodies ? 'handler' : 'idle')
      return
    }
    this.#leasing = true
    this.#cancelNap()
    meter.asked()
    const askedAt = clock.mono()
    frontier
      .lease({
        ...{ worker: id, seq: ++this.#seq, want: room, busy: this.#fetching, spiders },
        ...(this.#aboutDue ? { about } : {}),
        ...(withoutPermit?.() && { withoutPermit: true }),
      })
      .then((reply) => {
        this.#short = reply.leases.length < room
        meter.answered(reply.leases.length, room)
        slots.leased(room, reply.leases.length, this.#fetching + reply.leases.length)
        this.#take(reply, grantTime(askedAt, clock.mono()))
      })
      .catch((error: unknown) => this.#leaseFailed(error))
  }

  /** Visits that only wait for their commit. */
  get #committing(): number {
    return this.#inFlight.size - this.#fetching
  }

  /** Slow pages lead to no lease call for seconds: more slots are found by time alone. */
  #reviewLater(): void {
    this.#cancelReview = this.#options.clock.after(REVIEW_MS, () => {
      if (this.#options.slots.decide(this.#fetching, this.#committing)) this.#leaseMore()
      this.#reviewLater()
    })
  }

  /** Too many commits are in flight for another visit: what most of them wait for. */
  #slowBackends(): 'store' | 'queue' {
    let settling = 0
    for (const visit of this.#inFlight.values()) if (visit.settling) settling++
    return settling > this.#inFlight.size / 2 ? 'queue' : 'store'
  }

  #take({ leases, idleMs, drain }: LeaseReply, grantedAt: number): void {
    this.#leasing = false
    this.#awayMs = 0
    // A queue that was down may have forgotten its workers.
    this.#aboutDue = this.#options.backends.answered('queue')
    this.#draining = drain
    if (this.#stopping) {
      // Requested before the stop, and not started: they go back as they were. The worker ends after that.
      this.#leasing = true
      void Promise.allSettled(
        leases.map((lease) => this.#options.outbox.settle(lease, () => ({ kind: 'back', afterMs: 0 }))),
      ).then(() => {
        this.#leasing = false
        this.#endIfEmpty()
      })
      return
    }
    for (const lease of leases) {
      const current = newVisit(lease, grantedAt)
      this.#inFlight.set(lease.token, current)
      if (this.#options.log.verbose) this.#logLease(lease)
      this.#fetching++
      this.#options.meter.begin(current)
      void this.#visit(current)
    }
    // Every release and settle leads to another lease call; this one is for what only time changes.
    this.#nap(idleMs)
  }

  #logLease({ crawl, link: { fp, url, route }, attempt }: Lease): void {
    this.#options.log.debug('lease.granted', { fp, url, crawl, route, attempt, worker: this.#options.id })
  }

  #nap(ms: number): void {
    this.#cancelNap()
    this.#cancelNap = this.#options.clock.after(ms, () => this.#leaseMore())
  }

  async #visit(current: Visit): Promise<void> {
    let fetching = true
    const read = () => {
      if (fetching) this.#fetching--
      this.#options.meter.end(current)
      this.#options.slots.handled(current)
      fetching = false
    }
    try {
      const found = this.#options.partsOf(current.lease.crawl)
      const parts = found instanceof Promise ? await found : found
      if (parts === null)
        await this.#options.outbox.settle(current.lease, () => ({ kind: 'back', afterMs: NOT_OURS_MS }))
      else await visit(current, parts, read)
    } catch (error) {
      // Not settled: the lease runs out and the link is handed out again.
      if (!isAway(error)) this.fail(error)
    } finally {
      read()
      this.#inFlight.delete(current.lease.token)
      this.#endIfEmpty()
      if (!this.#stopping) this.#options.outbox.poke()
    }
  }

  #leaseFailed(error: unknown): void {
    this.#leasing = false
    this.#options.meter.answered(null, 1)
    if (isAway(error)) {
      this.#options.backends.down('queue', error)
      // The call may have arrived and only its reply been lost: the same number again returns the same batch.
      this.#seq--
      this.#awayMs = awayPause(this.#awayMs)
      if (!this.#stopping) this.#nap(this.#awayMs)
    } else this.fail(error)
    this.#endIfEmpty()
  }

  /** A backend that cannot be used ends the worker; nothing is lost. */
  fail(thrown: unknown): void {
    const error = asShoalError(thrown)
    // Logged once, though every visit in flight fails with it. Whoever runs the worker reports it.
    if (this.#failure === null) this.#options.log.info('backend.waiting', { code: error.code, message: error.message })
    this.#failure ??= error
    this.#stopping = true
    for (const { stop } of this.#inFlight.values()) stop.aborted = true
    this.#endIfEmpty()
  }

  #endIfEmpty(): void {
    if (!this.#stopping || this.#leasing || this.#inFlight.size > 0) return
    this.#cancelNap()
    this.#cancelReview()
    this.#options.log.info('worker.stopped', { worker: this.#options.id })
    this.#end()
  }
}

/** Parses `pool/proxy`. */
function proxyShown(proxy: string | null): InFlight['proxy'] {
  if (proxy === null) return null
  const slash = proxy.indexOf('/')
  return { pool: proxy.slice(0, slash), proxy: proxy.slice(slash + 1) }
}
