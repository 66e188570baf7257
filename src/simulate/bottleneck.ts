import type { Profile } from './profile.js'
import type { Limit } from './series.js'
import type { SimulatedQueue } from './simulated-queue.js'
import type { SimulatedWorker } from './simulated-worker.js'

/** From this share of a core on, the queue's server or a worker is the limit (advice.ts). */
const CORE_FULL = 0.85
/** Hosts looked at to see what they wait for. */
const LOOKED_AT = 64

/** What holds a simulated crawl up, from one sample to the next, as `shoal status` would say. */
export class Bottleneck {
  readonly #profile: Profile
  readonly #queue: SimulatedQueue
  readonly #workers: readonly SimulatedWorker[]
  #queueMsBefore = 0
  #cpuMsBefore = 0

  constructor(profile: Profile, queue: SimulatedQueue, workers: readonly SimulatedWorker[]) {
    this.#profile = profile
    this.#queue = queue
    this.#workers = workers
  }

  /** `queueMs`: what the queue's server has worked in all; `sinceMs`: the time since the last sample. */
  sample(queueMs: number, inFlight: number, sinceMs: number): Limit {
    const queue = this.#queue
    const cpuMs = this.#workers.reduce((all, worker) => all + worker.cpuMs, 0)
    const cpuBusy = (cpuMs - this.#cpuMsBefore) / (sinceMs * this.#workers.length)
    const queueBusy = (queueMs - this.#queueMsBefore) / sinceMs
    this.#cpuMsBefore = cpuMs
    this.#queueMsBefore = queueMs
    if (queue.ready.size > 0) {
      if (queueBusy >= CORE_FULL) return 'queue'
      return cpuBusy >= CORE_FULL ? 'cpu' : 'workers'
    }
    if (queue.waiting.size === 0 && queue.full === 0) {
      if (inFlight > 0) return queue.added < this.#profile.urls - queue.refused ? 'links' : 'none'
      return queue.delayed.size > 0 ? 'retries' : 'none'
    }
    if (queue.full > queue.waiting.size) return 'hosts'
    return this.#paceLimit()
  }

  /** Of the hosts that open next, what most wait for: their pace, their slowness, or proxies. */
  #paceLimit(): Limit {
    const queue = this.#queue
    let slow = 0
    let looked = 0
    for (; looked < LOOKED_AT; looked++) {
      const host = queue.hosts[queue.waiting.peek(looked)]
      if (host === undefined) break
      if (queue.limitsOf(host).delayMs > host.limits.delayMs) slow++
    }
    if (slow * 2 > looked) return 'hosts'
    return this.#profile.proxies === null ? 'host_pace' : 'proxies'
  }
}
