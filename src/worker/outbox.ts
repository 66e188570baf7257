import type { Clock } from '../clock.js'
import { isAway, ShoalError } from '../errors.js'
import type { Frontier, LeaseRef, Outcome, Release } from '../frontier/frontier.js'
import type { Meter } from '../observe/vitals/meter.js'
import type { BlobRef, BlobStore } from '../store/blob-store.js'
import type { RecordStore, WriteBatch, WriteStatus } from '../store/record-store.js'
import type { LastVisit } from '../store/visits.js'
import type { Fingerprint } from '../url/link.js'
import type { BackendPart, BackendWatch } from '../while-away.js'

/**
 * Under load a flush waits this long for more calls to batch, or until there are enough. A message to the database thread and back costs about
 * 300 µs of CPU, most of it waking threads, and a commit 50: shared by twenty pages they cost a twentieth. A free slot waits no longer than this for
 * its lease call.
 */
const GATHER_MS = 10
/**
 * A flush waits longer while there is more work than slots: nobody waits for the hosts that it would open. A polite crawl sent two or three links a call,
 * and the fixed cost of the call was most of what a page cost Redis.
 */
const GATHER_IN_PLENTY_MS = 40
const ENOUGH = 192
/**
 * Batches in flight to the store: one is being written while the next arrives. Writes that come meanwhile wait and make the next batch larger,
 * so that a slow store gets fewer and larger batches.
 */
const MOST_WRITING = 2
/** With fewer visits than this in flight there is nothing to batch: every flush goes at once, and a free slot never waits. */
const FEW = 8
/** More bytes of raw pages than this waiting to be kept, and visits wait for theirs. */
const KEEPING_BYTES = 32 * 1024 * 1024

const NONE: readonly never[] = []

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

interface OutboxParts {
  readonly frontier: Pick<Frontier, 'release' | 'settle'>
  readonly store: {
    readonly records: Pick<RecordStore['records'], 'write'>
    readonly visits: Pick<RecordStore['visits'], 'last'>
  }
  readonly clock: Clock
  readonly meter: Meter
  readonly backends: BackendWatch
  /** How many visits could still add to a batch. */
  readonly inFlight: () => number
  /** The queue had less work than the worker has slots: they wait for what a release or a settle may open. */
  readonly isShort: () => boolean
  /** Called in the same turn as the calls of a flush, so that a lease for the freed slots travels with them. */
  readonly onFlush: () => void
  /** A backend cannot be used. One that is down is waited for. */
  readonly onFailure: (error: unknown) => void
}

/**
 * The calls of all visits to store and queue, batched: visits share one statement and one settle call, and each waits for its own
 * commit. Records are always committed before their link is settled, because a visit settles only after its write has resolved.
 */
export class Outbox {
  readonly #parts: OutboxParts
  #writes: Waiting<WriteBatch, WriteStatus[]>[] = []
  /** By spider. */
  readonly #lookups = new Map<string, Waiting<Fingerprint, LastVisit | null>[]>()
  #releases: Release[] = []
  #settlements: Waiting<{ lease: LeaseRef; outcome: () => Outcome }, boolean>[] = []
  /** How many visits wait for their page to be kept. */
  #keeping = 0
  #keepingBytes = 0
  #writing = 0
  #immediate = false
  /** The exchange with the queue that is under way; null: none is. */
  #exchange: Promise<unknown> | null = null
  #releasing: Promise<void> = Promise.resolve()
  #cancelGather: (() => void) | null = null
  #cancelLease: (() => void) | null = null
  #givenUp = false
  /** Called to make visits stop waiting for their page to be kept. */
  readonly #stopKeeping = new Set<(error: unknown) => void>()

  constructor(parts: OutboxParts) {
    this.#parts = parts
  }

  write(batch: WriteBatch): Promise<WriteStatus[]> {
    return new Promise((resolve, reject) => {
      this.#writes.push({ item: batch, resolve, reject })
      this.#schedule()
    })
  }

  /** The last visit of a link; null when there was none. Links that were leased together are looked up together. */
  lastVisit(spider: string, fp: Fingerprint): Promise<LastVisit | null> {
    return new Promise((resolve, reject) => {
      const waiting = this.#lookups.get(spider)
      waiting?.push({ item: fp, resolve, reject })
      if (waiting !== undefined) return
      this.#lookups.set(spider, [{ item: fp, resolve, reject }])
      queueMicrotask(() => void this.#lookUp(spider))
    })
  }

  async #lookUp(spider: string): Promise<void> {
    const waiting = this.#lookups.get(spider) ?? []
    this.#lookups.delete(spider)
    const fps = waiting.map(({ item }) => item)
    try {
      const found = await this.#untilDone('store', () => this.#parts.store.visits.last(spider, fps))
      const visits = new Map(found.map((visit) => [visit.fp, visit]))
      for (const { item, resolve } of waiting) resolve(visits.get(item) ?? null)
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
  }

  release(release: Release): void {
    this.#releases.push(release)
    this.#schedule()
    this.#scheduleLease()
  }

  /**
   * Resolves when every release so far has reached the queue. Awaited before asking for a permit: one that overtook a release of the same
   * lease would count as already held, and the release would then free the slot of a request in flight.
   */
  async released(): Promise<void> {
    if (this.#releases.length > 0) {
      await this.#exchange
      this.#flush()
    }
    await this.#releasing
  }

  /** `outcome` is called each time it is sent: the queue may have been restored from an older state since the last time. */
  settle(lease: LeaseRef, outcome: () => Outcome): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#settlements.push({ item: { lease: { crawl: lease.crawl, token: lease.token }, outcome }, resolve, reject })
      this.#schedule()
    })
  }

  /** A raw page; the store does its own batching. The caller awaits the result later, so a failure before that is not unhandled. */
  keep(pages: BlobStore, page: Uint8Array, type: string): Promise<BlobRef> {
    const kept = this.#keep(pages, page, type)
    kept.catch(() => {})
    return kept
  }

  async #keep(pages: BlobStore, page: Uint8Array, type: string): Promise<BlobRef> {
    if (this.#givenUp) throw notKept()
    this.#keeping++
    this.#keepingBytes += page.length
    const kept = this.#untilDone('pages', () => {
      const put = pages.put(page, type)
      // All visits in flight wait for theirs: no more pages will come for this batch.
      if (this.#keeping >= this.#parts.inFlight()) pages.hurry()
      return put
    })
    let stop: (error: unknown) => void = () => {}
    try {
      return await new Promise((resolve, reject) => {
        stop = reject
        this.#stopKeeping.add(stop)
        kept.then(resolve, reject)
      })
    } finally {
      this.#stopKeeping.delete(stop)
      this.#keeping--
      this.#keepingBytes -= page.length
    }
  }

  /** Too many bytes wait to be kept. */
  get crowded(): boolean {
    return this.#keepingBytes > KEEPING_BYTES
  }

  /** From now on nothing waits for a backend that is down: links that could not be settled are handed out again when their lease runs out. */
  giveUp(): void {
    this.#givenUp = true
    // Storage that hangs would answer only at its own deadline.
    for (const stop of this.#stopKeeping) stop(notKept())
  }

  /** A visit has ended and there is room for another: the next flush, even an empty one, leases more. */
  poke(): void {
    if (this.#parts.inFlight() < FEW) this.#schedule()
    else this.#scheduleLease()
  }

  #schedule(): void {
    if (this.#immediate) return
    if (this.#parts.inFlight() < FEW || this.#sendable() >= ENOUGH) {
      // In a microtask: calls of other visits in this turn of the event loop are batched too.
      this.#immediate = true
      queueMicrotask(() => this.#flush())
    } else if (this.#cancelGather === null) {
      const ms = this.#parts.isShort() ? GATHER_MS : GATHER_IN_PLENTY_MS
      this.#cancelGather = this.#parts.clock.after(ms, () => this.#flush())
    }
  }

  /** A slot is free, or about to be: it waits for a lease, but not for everything else to be sent. */
  #scheduleLease(): void {
    if (this.#immediate) return
    this.#cancelLease ??= this.#parts.clock.after(GATHER_MS, () => this.#leaseMore())
  }

  /** What the next flush would send. */
  #sendable(): number {
    const writes = this.#writing < MOST_WRITING ? this.#writes.length : 0
    return writes + (this.#exchange === null ? this.#releases.length + this.#settlements.length : 0)
  }

  #flush(): void {
    this.#immediate = false
    this.#cancelGather?.()
    this.#cancelGather = null
    if (this.#writing < MOST_WRITING && this.#writes.length > 0) {
      const writes = this.#writes
      this.#writes = []
      void this.#sendWrites(writes)
    }
    if (this.#exchange === null && this.#releases.length + this.#settlements.length > 0) this.#sendToQueue()
    this.#leaseMore()
  }

  #leaseMore(): void {
    this.#cancelLease?.()
    this.#cancelLease = null
    this.#parts.onFlush()
  }

  /**
   * One exchange at a time: what comes meanwhile makes the next one larger, so that a slow queue gets fewer calls instead of more that wait for one another.
   * The releases go first: a settle that overtook the release of its own lease would take what it reports about the host with it.
   */
  #sendToQueue(): void {
    const releases = this.#releases
    const settlements = this.#settlements
    this.#releases = []
    this.#settlements = []
    const sent: Promise<unknown>[] = []
    if (releases.length > 0) {
      this.#releasing = this.#untilDone('queue', () => this.#parts.frontier.release(releases)).catch(() => {})
      sent.push(this.#releasing)
    }
    if (settlements.length > 0) sent.push(this.#sendSettlements(settlements))
    this.#exchange = Promise.all(sent).then(() => {
      this.#exchange = null
      // Their time to gather may have passed meanwhile.
      if (this.#cancelGather === null && this.#sendable() > 0) this.#flush()
    })
  }

  async #sendWrites(writes: readonly Waiting<WriteBatch, WriteStatus[]>[]): Promise<void> {
    const batch: WriteBatch = {
      records: writes.flatMap(({ item }) => item.records),
      rejected: writes.flatMap(({ item }) => item.rejected),
      fetches: writes.flatMap(({ item }) => item.fetches),
      visits: writes.flatMap(({ item }) => item.visits ?? NONE),
      confirmed: writes.flatMap(({ item }) => item.confirmed ?? NONE),
    }
    this.#writing++
    const began = this.#parts.clock.mono()
    try {
      const statuses = await this.#untilDone('store', () => this.#parts.store.records.write(batch))
      this.#parts.meter.took('store', this.#parts.clock.mono() - began)
      let next = 0
      for (const { item, resolve } of writes) {
        resolve(statuses.slice(next, next + item.records.length))
        next += item.records.length
      }
    } catch (error) {
      for (const { reject } of writes) reject(error)
    } finally {
      this.#writing--
      if (this.#writes.length > 0) this.#schedule()
    }
  }

  async #sendSettlements(
    settlements: readonly Waiting<{ lease: LeaseRef; outcome: () => Outcome }, boolean>[],
  ): Promise<void> {
    const began = this.#parts.clock.mono()
    try {
      const answers = await this.#untilDone('queue', () =>
        this.#parts.frontier.settle(settlements.map(({ item: { lease, outcome } }) => ({ lease, outcome: outcome() }))),
      )
      this.#parts.meter.took('settle', this.#parts.clock.mono() - began)
      settlements.forEach(({ resolve }, index) => {
        resolve(answers[index] ?? false)
      })
    } catch (error) {
      for (const { reject } of settlements) reject(error)
    }
  }

  /** Waits for a backend that is down: leases are renewed meanwhile, and no attempt is used up. Every call here can be repeated. */
  async #untilDone<T>(part: BackendPart, call: () => Promise<T>): Promise<T> {
    try {
      return await this.#parts.backends.wait(part, call, async (ms, error) => {
        if (this.#givenUp) throw error
        await this.#parts.clock.sleep(ms)
      })
    } catch (error) {
      if (!isAway(error)) this.#parts.onFailure(error)
      throw error
    }
  }
}

function notKept(): ShoalError {
  return new ShoalError('aborted', 'the worker stopped before the page was kept')
}
