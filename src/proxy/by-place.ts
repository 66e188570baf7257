import type { ProxyId } from './proxy.js'

/** Rows of proxies by pool and site or host. Maps in maps: concatenated names would be new strings at every read, and cost more than all the rest. */
export class ByPlace<Row> {
  readonly #pools = new Map<string, Map<string, Map<ProxyId, Row>>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  get(pool: string, place: string, proxy: ProxyId): Row | undefined {
    return this.#pools.get(pool)?.get(place)?.get(proxy)
  }

  set(pool: string, place: string, proxy: ProxyId, row: Row): void {
    const places = childOf(this.#pools, pool)
    const proxies = childOf(places, place)
    if (!proxies.has(proxy)) this.#size++
    proxies.set(proxy, row)
  }

  /** Those of one pool, in no order. */
  *of(pool: string): Generator<[place: string, proxy: ProxyId, row: Row]> {
    for (const [place, proxies] of this.#pools.get(pool) ?? [])
      for (const [proxy, row] of proxies) yield [place, proxy, row]
  }

  removeWhere(gone: (row: Row) => boolean): void {
    for (const [pool, places] of this.#pools) {
      for (const [place, proxies] of places) {
        for (const [proxy, row] of proxies) if (gone(row) && proxies.delete(proxy)) this.#size--
        if (proxies.size === 0) places.delete(place)
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
