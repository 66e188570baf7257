import { WorkerSlots } from '../worker/worker-slots.js'
import type { Profile } from './profile.js'

/** Node's own default on a machine with 4 GB; bodies that wait for a handler may take an eighth of it. */
const HEAP_BYTES = 2 * 1024 ** 3
/** Visits that wait for their commit take no slot: a store that keeps up is assumed. */
const MOST_COMMITTING = 256

export interface VirtualTime {
  now: number
}

/** A worker process: real slots (worker-slots.ts), one core, one network card, a few browser tabs. */
export class SimulatedWorker {
  readonly id: number
  readonly slots: WorkerSlots
  /** When its core, its network and each of its tabs are free. */
  cpuFreeAt = 0
  networkFreeAt = 0
  readonly tabsFreeAt: Float64Array
  cpuMs = 0
  busy = 0
  /** Slots that were free when links were handed out, and links that it got. */
  wanted = 0
  got = 0
  readonly startedAt: number

  constructor(id: number, profile: Profile, time: VirtualTime) {
    this.id = id
    this.startedAt = time.now
    this.cpuFreeAt = time.now
    this.tabsFreeAt = new Float64Array(profile.render.tabs)
    this.slots = new WorkerSlots({
      most: profile.concurrency,
      mostCommitting: MOST_COMMITTING,
      clock: { mono: () => time.now },
      loop: { idleMs: () => this.idleMs(time.now) },
      memory: () => 0,
      heapLimitBytes: HEAP_BYTES,
      onChange: () => {},
    })
  }

  get free(): number {
    return this.slots.isFullOfBodies ? 0 : Math.max(0, this.slots.now - this.busy)
  }

  /** Like the event loop counts it: all the time in which nothing was to be done. */
  idleMs(now: number): number {
    return now - this.startedAt - (this.cpuMs - Math.max(0, this.cpuFreeAt - now))
  }

  /** CPU for a page that arrived at `at`. Answers when it begins; `cpuFreeAt` is its end. */
  compute(at: number, alone: number, shared: number): number {
    const begin = Math.max(at, this.cpuFreeAt)
    const ms = begin > at ? shared : alone
    this.cpuMs += ms
    this.cpuFreeAt = begin + ms
    return begin
  }

  /** Bytes that arrive at `at` at the earliest. */
  receive(at: number, bytes: number, perMs: number): number {
    if (perMs === Number.POSITIVE_INFINITY) return at
    const ms = bytes / perMs
    this.networkFreeAt = Math.max(this.networkFreeAt, at - ms) + ms
    return Math.max(at, this.networkFreeAt)
  }

  /** A page that is rendered, by the first tab that is free. */
  render(at: number, ms: number): number {
    let first = 0
    for (let tab = 1; tab < this.tabsFreeAt.length; tab++)
      if ((this.tabsFreeAt[tab] ?? 0) < (this.tabsFreeAt[first] ?? 0)) first = tab
    const end = Math.max(at, this.tabsFreeAt[first] ?? 0) + ms
    this.tabsFreeAt[first] = end
    return end
  }
}
