import type { Limits } from '../frontier/frontier.js'
import { adapted, FRESH_HOST, type HostPace } from '../frontier/pace.js'

/** A link that was tried before, or that had to wait: those that are due are leased by (attempts, place), like in a lane of the queue. */
export interface TriedLink {
  readonly id: number
  host: SimulatedHost
  attempts: number
  throttles: number
  place: number
  dueAt: number
}

type Mutable<Shape> = { -readonly [Key in keyof Shape]: Shape[Key] }

/** A host, its lane in the queue and its part of the web. Links that were never tried are all the same: only their number is kept. */
export class SimulatedHost {
  readonly id: number
  /** One object for ever, into which the results of pace.ts are copied: 100 M visits leave no garbage in old memory. */
  readonly pace: Mutable<HostPace> = { ...FRESH_HOST }
  /** What the spider, robots.txt and proxies say, and the same with the delay that the host's latency makes of it. */
  #limits: Limits
  #adapted: Mutable<Limits>
  #latencyMs: number | null = null
  /** Not tried yet: queued, and not found yet. */
  fresh = 0
  unknown: number
  /** When the oldest fresh link was added. */
  freshAt = 0
  servedAt = 0
  /** Tried links that are due, as a binary heap. */
  readonly due: TriedLink[] = []
  /** New links found, below one. */
  found = 0
  ended = 0
  endedAt = 0
  robots: 'unknown' | 'asked' | 'known' = 'unknown'
  robotsFailures = 0
  robotsRetryAt = 0
  /** Crawl-delay of its robots.txt. */
  floorMs = 0
  /** Proxies that rest on it. */
  resting = 0

  constructor(id: number, urls: number, limits: Limits) {
    this.id = id
    this.unknown = urls
    this.#limits = limits
    this.#adapted = { ...limits }
  }

  get limits(): Limits {
    return this.#limits
  }

  set limits(limits: Limits) {
    this.#limits = limits
    this.#adapted = { ...limits }
    this.#adapt()
  }

  /** Asked for several times per visit, and changed once. */
  get adaptedLimits(): Limits {
    return this.#adapted
  }

  get latencyMs(): number | null {
    return this.#latencyMs
  }

  set latencyMs(ms: number | null) {
    this.#latencyMs = ms
    this.#adapt()
  }

  #adapt(): void {
    this.#adapted.delayMs = adapted(this.#limits, this.#latencyMs).delayMs
  }

  get hasWork(): boolean {
    return this.fresh > 0 || this.due.length > 0
  }

  setPace(next: HostPace): void {
    const { pace } = this
    pace.startedAt = next.startedAt
    pace.arrivalAt = next.arrivalAt
    pace.inFlight = next.inFlight
    pace.blockedUntil = next.blockedUntil
    pace.blockedAt = next.blockedAt
    pace.throttleLevel = next.throttleLevel
  }
}

/** Links that keep their place come first, then those that were never tried, then the others by how often they failed. */
function comesBefore(a: TriedLink, b: TriedLink): boolean {
  return a.attempts < b.attempts || (a.attempts === b.attempts && a.place < b.place)
}

export function pushDue(heap: TriedLink[], link: TriedLink): void {
  let place = heap.length
  heap.push(link)
  while (place > 0) {
    const above = (place - 1) >> 1
    const other = heap[above]
    if (other === undefined || !comesBefore(link, other)) break
    heap[place] = other
    place = above
  }
  heap[place] = link
}

export function popDue(heap: TriedLink[]): TriedLink | undefined {
  const first = heap[0]
  const last = heap.pop()
  if (first === undefined || last === undefined || heap.length === 0) return first
  let place = 0
  for (;;) {
    let below = 2 * place + 1
    let next = heap[below]
    if (next === undefined) break
    const right = heap[below + 1]
    if (right !== undefined && comesBefore(right, next)) {
      below++
      next = right
    }
    if (!comesBefore(next, last)) break
    heap[place] = next
    place = below
  }
  heap[place] = last
  return first
}
