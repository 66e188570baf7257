import type { Statement } from '../../sqlite/db.js'

export interface ReadyLane {
  readonly lane: number
  readonly crawl: number
  readonly score: number
}

/** Lanes read from a crawl's index at a time. */
const CHUNK = 32

/**
 * The ready lanes of several crawls, best first, read from their indexes only as far as they are asked for. A lane that has given a link is
 * put back at its new place.
 */
export class ReadyLanes {
  readonly #statement: Statement
  /** Sorted; holds everything up to `#readTo` of each crawl. */
  readonly #lanes: ReadyLane[] = []
  /** Crawl → the last lane read; absent when the crawl has no more. */
  readonly #readTo = new Map<number, ReadyLane>()

  /** `statement`: (crawl, score, lane, limit) → lanes behind that place, in order. */
  constructor(statement: Statement, crawls: readonly number[]) {
    this.#statement = statement
    for (const crawl of crawls) this.#read({ crawl, score: Number.MIN_SAFE_INTEGER, lane: 0 })
  }

  next(): ReadyLane | undefined {
    for (;;) {
      const best = this.#lanes[0]
      const unread = [...this.#readTo.values()].find((last) => best === undefined || compare(last, best) <= 0)
      if (unread === undefined) return this.#lanes.shift()
      this.#read(unread)
    }
  }

  /** Others that are known to be ready. */
  get others(): number {
    return this.#lanes.length
  }

  putBack(lane: ReadyLane): void {
    const place = this.#lanes.findIndex((other) => compare(lane, other) < 0)
    this.#lanes.splice(place < 0 ? this.#lanes.length : place, 0, lane)
  }

  #read(after: ReadyLane): void {
    const rows = this.#statement.all(after.crawl, after.score, after.lane, CHUNK)
    const lanes = rows.map(([lane, score]) => ({ lane: Number(lane), score: Number(score), crawl: after.crawl }))
    for (const lane of lanes) this.putBack(lane)
    const last = lanes.at(-1)
    if (last === undefined || lanes.length < CHUNK) this.#readTo.delete(after.crawl)
    else this.#readTo.set(after.crawl, last)
  }
}

function compare(a: ReadyLane, b: ReadyLane): number {
  return a.score - b.score || a.lane - b.lane
}
