import type { ExitId } from './proxy.js'

/** Rows of exits by pool and site or host. Maps in maps: names put together would be new texts at every look, and cost more than the rest of it. */
export class ByPlace<Row> {
  readonly #pools = new Map<string, Map<string, Map<ExitId, Row>>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  get(pool: string, place: string, exit: ExitId): Row | undefined {
    return this.#pools.get(pool)?.get(place)?.get(exit)
  }

  set(pool: string, place: string, exit: ExitId, row: Row): void {
    const places = childOf(this.#pools, pool)
    const exits = childOf(places, place)
    if (!exits.has(exit)) this.#size++
    exits.set(exit, row)
  }

  /** Those of one pool, in no order. */
  *of(pool: string): Generator<[place: string, exit: ExitId, row: Row]> {
    for (const [place, exits] of this.#pools.get(pool) ?? []) for (const [exit, row] of exits) yield [place, exit, row]
  }

  removeWhere(gone: (row: Row) => boolean): void {
    for (const [pool, places] of this.#pools) {
      for (const [place, exits] of places) {
        for (const [exit, row] of exits) if (gone(row) && exits.delete(exit)) this.#size--
        if (exits.size === 0) places.delete(place)
      }
      if (places.size === 0) this.#pools.delete(pool)
    }
  }
}

function childOf<Child>(parent: Map<string, Map<string, Child>>, name: string): Map<string, Child> {
  let child = parent.get(name)
  if (child === undefined) {
    child = new Map()
    parent.set(name, child)
  }
  return child
}
