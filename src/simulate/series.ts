/** What holds a crawl up, in the words of `shoal status`; `links`: too few are known yet, `retries`: only links that wait for a retry are left. */
export const LIMITS = ['host_pace', 'hosts', 'proxies', 'queue', 'cpu', 'workers', 'links', 'retries', 'none'] as const
export type Limit = (typeof LIMITS)[number]

/** A stretch of the crawl. Counts are those of the stretch; the others are as of its end. */
export interface Stretch {
  fromMs: number
  ended: number
  requests: number
  retries: number
  throttled: number
  pending: number
  workers: number
  /** Slots in use, on average over the samples. */
  busy: number
  /** How many samples found each limit. */
  readonly limits: Record<Limit, number>
}

export type Sample = Pick<Stretch, 'ended' | 'requests' | 'retries' | 'throttled' | 'pending' | 'workers' | 'busy'>

/** Twice as many as a terminal has columns: halved, they still fill one. */
const MOST_STRETCHES = 256
const FIRST_WIDTH_MS = 100

/** The course of a crawl of unknown length in a bounded number of stretches: when there are too many, each two become one. */
export class Series {
  readonly stretches: Stretch[] = []
  /** Of a stretch. */
  widthMs = FIRST_WIDTH_MS
  #before: Sample = {
    ended: 0,
    requests: 0,
    retries: 0,
    throttled: 0,
    pending: 0,
    workers: 0,
    busy: 0,
  }

  /** The totals at the end of a stretch, and what held the crawl up then. */
  add(totals: Sample, limit: Limit): void {
    const before = this.#before
    const limits = Object.fromEntries(LIMITS.map((name) => [name, name === limit ? 1 : 0])) as Record<Limit, number>
    this.stretches.push({
      ...totals,
      fromMs: this.stretches.length * this.widthMs,
      ended: totals.ended - before.ended,
      requests: totals.requests - before.requests,
      retries: totals.retries - before.retries,
      throttled: totals.throttled - before.throttled,
      limits,
    })
    this.#before = totals
    if (this.stretches.length === MOST_STRETCHES) this.#halve()
  }

  #halve(): void {
    const before = this.stretches.splice(0)
    this.widthMs *= 2
    for (let at = 0; at + 1 < before.length; at += 2) {
      const [first, second] = [before[at], before[at + 1]]
      if (first === undefined || second === undefined) break
      for (const name of LIMITS) second.limits[name] += first.limits[name]
      this.stretches.push({
        ...second,
        fromMs: first.fromMs,
        ended: first.ended + second.ended,
        requests: first.requests + second.requests,
        retries: first.retries + second.retries,
        throttled: first.throttled + second.throttled,
        busy: (first.busy + second.busy) / 2,
      })
    }
  }
}
