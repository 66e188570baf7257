import type { Clock } from '../clock.js'
import type { EventLoop } from '../event-loop.js'
import { type Capacity, FIRST_SLOTS, nextCapacity, type WorkerLoad } from './capacity.js'

/** Everything but a step up is decided after this time; a step up is taken as soon as the measurements allow it. */
const DECIDE_MS = 250
/** Once CPU is the limit, chance matters more than speed: whether a few slow responses come together. */
const SETTLED_MS = 1_000
/** Shorter, and the share of time in which the event loop was busy says nothing. */
const LEAST_MS = 10
/** Bytes of bodies that wait for handlers, and their share of the heap's limit: a handler makes text and trees of them. */
const MOST_BODY_BYTES = 64 * 1024 * 1024
const BODY_SHARE_OF_HEAP = 1 / 8
/** Memory is too full above this share. */
const MEMORY_FULL = 0.9
/** Below this share it is no limit at all. Between two collections of garbage every heap is half full. */
const MEMORY_FREE = 0.8

/** What the slots need to know of a visit. */
export interface BodyHolder {
  /** Bytes of the body that its handler has not dealt with yet. */
  bodyBytes: number
}

export interface WorkerSlotsOptions {
  /** The ceiling. */
  readonly most: number
  /** Visits that may wait for their commit without a slot. */
  readonly mostCommitting: number
  readonly clock: Pick<Clock, 'mono'>
  readonly loop: Pick<EventLoop, 'idleMs'>
  /** How full the memory is, 0 … 1. */
  readonly memory: () => number
  readonly heapLimitBytes: number
  readonly onChange: (capacity: Capacity) => void
}

/** Measures what `nextCapacity` decides from. Called for every page: plain numbers, nothing allocated between decisions. */
export class WorkerSlots {
  readonly #options: WorkerSlotsOptions
  readonly #mostBodyBytes: number
  #capacity: Capacity
  #changedAt: number
  /** Of the current measurement. */
  #since: number
  #idleMs: number
  #responses = 0
  #waitedMs = 0
  #mostInUse = 0
  /** Since the number of slots changed. */
  #seen = 0
  #filled = false
  #bodyBytes = 0

  constructor(options: WorkerSlotsOptions) {
    this.#options = options
    this.#mostBodyBytes = Math.min(MOST_BODY_BYTES, options.heapLimitBytes * BODY_SHARE_OF_HEAP)
    this.#capacity = { slots: Math.min(FIRST_SLOTS, options.most), because: 'growing' }
    this.#since = options.clock.mono()
    this.#changedAt = this.#since
    this.#idleMs = options.loop.idleMs()
  }

  get now(): number {
    return this.#capacity.slots
  }

  get most(): number {
    return this.#options.most
  }

  get because(): Capacity['because'] {
    return this.#capacity.because
  }

  /** No further page may be fetched until a handler has dealt with one. */
  get isFullOfBodies(): boolean {
    return this.#bodyBytes > this.#mostBodyBytes
  }

  /** A response was read: when its request was sent, for how long it waited for the event loop, and the body that its handler gets. */
  answered(visit: BodyHolder, sentAt: number, waitedMs: number, bodyBytes: number): void {
    this.#bodyBytes += bodyBytes - visit.bodyBytes
    visit.bodyBytes = bodyBytes
    // What was sent before waited behind the pages of another number of slots.
    if (sentAt < this.#changedAt) return
    this.#seen++
    this.#responses++
    this.#waitedMs += waitedMs
  }

  handled(visit: BodyHolder): void {
    this.#bodyBytes -= visit.bodyBytes
    visit.bodyBytes = 0
  }

  /** The queue was asked for `wanted` links and returned `got`; `inUse` slots are in use now. */
  leased(wanted: number, got: number, inUse: number): void {
    this.#filled = got >= wanted
    this.#mostInUse = Math.max(this.#mostInUse, inUse)
  }

  /** Decides if it is time to. True: there are more slots now. */
  decide(inUse: number, committing: number): boolean {
    const now = this.#options.clock.mono()
    const before = this.#capacity
    const isDue = now - this.#since >= (before.because === 'cpu' ? SETTLED_MS : DECIDE_MS)
    const isOpen = before.because === 'growing' || before.because === 'work'
    const mayGrow = isOpen && this.#filled && this.#seen * 2 >= before.slots
    if (!isDue && !(mayGrow && now - this.#since >= LEAST_MS)) return false
    const next = nextCapacity(before, this.#load(now, inUse, committing))
    if (!isDue && next.slots <= before.slots) return false
    this.#capacity = next
    if (next.slots !== before.slots) {
      this.#changedAt = now
      this.#seen = 0
    }
    this.#since = now
    this.#idleMs = this.#options.loop.idleMs()
    this.#responses = 0
    this.#waitedMs = 0
    this.#mostInUse = inUse
    if (next.slots !== before.slots || next.because !== before.because) this.#options.onChange(next)
    return next.slots > before.slots
  }

  #load(now: number, inUse: number, committing: number): WorkerLoad {
    const { most, mostCommitting, loop, memory } = this.#options
    const ms = now - this.#since
    return {
      ...{ most, ms, inUse, responses: this.#responses, waitedMs: this.#waitedMs, seen: this.#seen },
      loopBusy: Math.max(0, 1 - (loop.idleMs() - this.#idleMs) / ms),
      unchangedMs: now - this.#changedAt,
      mostInUse: Math.max(inUse, this.#mostInUse),
      filled: this.#filled,
      memory: memoryLevel(memory()),
      bodies: this.#bodyBytes / this.#mostBodyBytes,
      outbox: committing / mostCommitting,
    }
  }
}

function memoryLevel(share: number): number {
  return share < MEMORY_FREE ? 0 : share / MEMORY_FULL
}
