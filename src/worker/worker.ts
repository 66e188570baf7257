import type { Clock } from '../clock.js'
import { asShoalError, isAway, type ShoalError } from '../errors.js'
import type { CrawlId, Frontier, Lease, LeaseReply, WorkerAbout, WorkerId } from '../frontier/frontier.js'
import type { Log } from '../log.js'
import { type Meter, NOTHING, type Reading } from '../observe/vitals/meter.js'
import { IN_FLIGHT_REPORTED, type InFlight } from '../observe/vitals/vitals.js'
import type { RecordStore } from '../store/record-store.js'
import { BackendWatch } from '../while-away.js'
import { Outbox } from './outbox.js'
import { grantTime } from './permits.js'
import { visit } from './visit.js'
import type { Visit, VisitParts } from './visit-parts.js'

/** Visits whose page is read and whose commit is on its way do not count as visits at once; but a slow backends must slow the leasing. */
const MOST_COMMITTING = 256
/** A queue that is away is asked again after this long. */
const AWAY_NAP_MS = 1_000
/** Of a crawl whose spider this worker does not have. */
const NOT_OURS_MS = 5_000

export interface WorkerOptions {
  readonly id: WorkerId
  readonly concurrency: number
  readonly frontier: Frontier
  readonly store: RecordStore
  readonly clock: Clock
  readonly log: Log
  readonly meter: Meter
  readonly spiders: readonly string[]
  readonly about: WorkerAbout
  /** Everything a visit needs but the outbox, which is the worker's own. */
  readonly partsFor: (outbox: Outbox) => PartsOf
  /** Called in the same turn as the calls of the outbox: what is said then travels with them. */
  readonly onFlush?: () => void
}

/** What the visits of a crawl work with; null when its spider is none of this worker's. A promise only when the queue must be asked. */
export type PartsOf = (crawl: CrawlId) => VisitParts | null | Promise<VisitParts | null>

/**
 * The loop: room → lease → visit → settle. It never fetches, parses or stores by itself, and holds nothing that may be lost: what is in hand
 * is leased, and what is not settled is handed out again.
 */
export class CrawlWorker {
  readonly #options: WorkerOptions
  readonly #outbox: Outbox
  readonly #partsOf: PartsOf
  readonly #backends: BackendWatch
  readonly #inFlight = new Map<string, Visit>()
  #fetching = 0
  #seq = 0
  #leasing = false
  /** The queue does not know yet where this worker runs. */
  #aboutDue = true
  #stopping = false
  /** The queue asked for empty hands: a link that killed workers waits to be leased alone. */
  #draining = false
  #cancelNap: () => void = () => {}
  #failure: ShoalError | null = null
  readonly #ended: Promise<void>
  #end: () => void = () => {}

  constructor(options: WorkerOptions) {
    this.#options = options
    this.#backends = new BackendWatch(options.log, options.clock)
    this.#ended = new Promise((resolve) => {
      this.#end = resolve
    })
    this.#outbox = new Outbox({
      frontier: options.frontier,
      store: options.store,
      clock: options.clock,
      inFlight: () => this.#inFlight.size,
      onFlush: () => {
        options.onFlush?.()
        this.#leaseMore()
      },
      backends: this.#backends,
      onFailure: (error) => this.#failed(error),
      meter: options.meter,
    })
    this.#partsOf = options.partsFor(this.#outbox)
  }

  /** Runs until stopped. Rejects when our own backends cannot be used. */
  async run(): Promise<void> {
    this.#options.log.info('worker.started', { worker: this.#options.id, concurrency: this.#options.concurrency })
    this.#leaseMore()
    await this.#ended
    if (this.#failure !== null) throw this.#failure
  }

  /** Finishes what is in hand within `graceMs`, hands back the rest. */
  async stop(graceMs: number): Promise<void> {
    const { log, clock, id } = this.#options
    if (!this.#stopping) log.info('worker.draining', { worker: id, inFlight: this.#inFlight.size })
    this.#stopping = true
    this.#options.meter.heldUpBy('idle')
    this.#cancelNap()
    const cancel = clock.after(graceMs, () => {
      this.#outbox.giveUp()
      for (const { stop } of this.#inFlight.values()) stop.aborted = true
    })
    this.#endIfEmpty()
    await this.#ended
    cancel()
  }

  /** Something was added that it should not sleep over. */
  wake(): void {
    this.#leaseMore()
  }

  /** Leases that the keeper found lost: their fetch is given up and nothing of them is written. */
  lost(tokens: readonly string[]): void {
    for (const token of tokens) {
      const current = this.#inFlight.get(token)
      // Its settle is on the way, and knows better.
      if (current === undefined || current.settling) continue
      if (!current.lost) this.#options.meter.lost()
      current.lost = true
      current.stop.aborted = true
      const { fp, url } = current.lease.link
      this.#options.log.warn('lease.lost', { fp, url, worker: this.#options.id })
    }
  }

  /** What is in hand and not being settled. */
  get held(): Lease[] {
    return [...this.#inFlight.values()].filter(({ settling }) => !settling).map(({ lease }) => lease)
  }

  /** How it is doing, for its vitals. */
  get reading(): Reading {
    return this.#options.meter.read(this.#inFlight.values())
  }

  /** What is in hand, longest first. */
  get longestInFlight(): InFlight[] {
    const now = this.#options.clock.mono()
    const told: InFlight[] = []
    for (const { lease, proxy, grantedAt } of this.#inFlight.values()) {
      if (told.length === IN_FLIGHT_REPORTED) break
      told.push({
        crawl: lease.crawl,
        fp: lease.link.fp,
        proxy: proxyShown(proxy),
        forMs: Math.max(0, now - grantedAt),
      })
    }
    return told
  }

  /** All that is in hand, with whether its end is on its way. */
  get holdings(): { token: string; epoch: string; settling: boolean; waiting: boolean }[] {
    return [...this.#inFlight.values()].map(({ lease: { token, epoch }, settling, produced: waiting }) => ({
      ...{ token, epoch, settling, waiting },
    }))
  }

  /** Asks for as many links as there is room for, unless it is asking already. Called with every flush and when a nap is over. */
  #leaseMore(): void {
    if (this.#stopping || this.#leasing || this.#failure !== null) return
    const room = Math.min(
      this.#options.concurrency - this.#fetching,
      MOST_COMMITTING + this.#options.concurrency - this.#inFlight.size,
    )
    const { frontier, id, spiders, clock, about, meter } = this.#options
    if (room <= 0 || (this.#draining && this.#inFlight.size > 0)) {
      if (this.#fetching < this.#options.concurrency) meter.heldUpBy(room <= 0 ? this.#slowBackends() : 'idle')
      return
    }
    this.#leasing = true
    this.#cancelNap()
    meter.asked()
    const askedAt = clock.mono()
    frontier
      .lease({ worker: id, seq: ++this.#seq, want: room, spiders, ...(this.#aboutDue ? { about } : {}) })
      .then((reply) => {
        meter.answered(reply.leases.length, room)
        this.#take(reply, grantTime(askedAt, clock.mono()))
      })
      .catch((error: unknown) => this.#leaseFailed(error))
  }

  /** Too many commits are under way for another visit: what most of them wait for. */
  #slowBackends(): 'store' | 'queue' {
    let settling = 0
    for (const visit of this.#inFlight.values()) if (visit.settling) settling++
    return settling > this.#inFlight.size / 2 ? 'queue' : 'store'
  }

  #take({ leases, idleMs, drain }: LeaseReply, grantedAt: number): void {
    this.#leasing = false
    // A queue that was away may have come back without its memory of workers.
    this.#aboutDue = this.#backends.answered('queue')
    this.#draining = drain
    if (this.#stopping) {
      // Asked for before the stop was: not begun, so they go back as they were. The end waits for them as for an answer.
      this.#leasing = true
      void Promise.allSettled(
        leases.map((lease) => this.#outbox.settle(lease, () => ({ kind: 'back', afterMs: 0 }))),
      ).then(() => {
        this.#leasing = false
        this.#endIfEmpty()
      })
      return
    }
    for (const lease of leases) {
      const current: Visit = {
        lease,
        grantedAt,
        stop: { aborted: false },
        lost: false,
        permitUsed: false,
        proxy: null,
        started: false,
        produced: false,
        settling: false,
        doing: NOTHING,
        since: 0,
      }
      this.#inFlight.set(lease.token, current)
      if (this.#options.log.verbose) this.#logLease(lease)
      this.#fetching++
      this.#options.meter.begin(current)
      void this.#visit(current)
    }
    // A release or settle asks again by itself; this is for what the passing of time changes.
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
      fetching = false
    }
    try {
      const found = this.#partsOf(current.lease.crawl)
      const parts = found instanceof Promise ? await found : found
      if (parts === null) await this.#outbox.settle(current.lease, () => ({ kind: 'back', afterMs: NOT_OURS_MS }))
      else await visit(current, parts, read)
    } catch (error) {
      // Neither written nor settled: the lease runs out and the link is handed out again.
      if (!isAway(error)) this.#failed(error)
    } finally {
      read()
      this.#inFlight.delete(current.lease.token)
      this.#endIfEmpty()
      if (!this.#stopping) this.#outbox.poke()
    }
  }

  #leaseFailed(error: unknown): void {
    this.#leasing = false
    this.#options.meter.answered(null, 1)
    if (isAway(error)) {
      this.#backends.away('queue', error)
      // The reply may have been lost, not the call: the same number again returns the same batch.
      this.#seq--
      if (!this.#stopping) this.#nap(AWAY_NAP_MS)
    } else this.#failed(error)
    this.#endIfEmpty()
  }

  /** A backends that cannot be used ends the worker, and loses nothing. */
  #failed(thrown: unknown): void {
    const error = asShoalError(thrown)
    // Each visit in hand meets it; it is told by whoever runs the worker.
    if (this.#failure === null) this.#options.log.info('backend.waiting', { code: error.code, message: error.message })
    this.#failure ??= error
    this.#stopping = true
    for (const { stop } of this.#inFlight.values()) stop.aborted = true
    this.#endIfEmpty()
  }

  #endIfEmpty(): void {
    if (!this.#stopping || this.#leasing || this.#inFlight.size > 0) return
    this.#cancelNap()
    this.#options.log.info('worker.stopped', { worker: this.#options.id })
    this.#end()
  }
}

/** From pool/proxy. */
function proxyShown(proxy: string | null): InFlight['proxy'] {
  if (proxy === null) return null
  const slash = proxy.indexOf('/')
  return { pool: proxy.slice(0, slash), proxy: proxy.slice(slash + 1) }
}
