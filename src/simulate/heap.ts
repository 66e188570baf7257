/** A priority queue of small whole numbers (hosts, visits, links): smallest key first, of equal keys the smallest number. Each is in it once at most. */
export class IndexedHeap {
  #keys: Float64Array
  #ids: Int32Array
  /** By number: its place in the heap, or −1. */
  #places: Int32Array
  #size = 0

  constructor(capacity: number) {
    this.#keys = new Float64Array(capacity)
    this.#ids = new Int32Array(capacity)
    this.#places = new Int32Array(capacity).fill(-1)
  }

  get size(): number {
    return this.#size
  }

  has(id: number): boolean {
    return (this.#places[id] ?? -1) >= 0
  }

  /** Infinity when it is empty. */
  get firstKey(): number {
    return this.#size === 0 ? Number.POSITIVE_INFINITY : (this.#keys[0] ?? 0)
  }

  /** −1 when it is empty. */
  get first(): number {
    return this.#size === 0 ? -1 : (this.#ids[0] ?? -1)
  }

  /** The members in the order of the array, the first of them being `first`; for looking at some of them. */
  peek(index: number): number {
    return index < this.#size ? (this.#ids[index] ?? -1) : -1
  }

  /** Adds it, or moves it to another key. */
  set(id: number, key: number): void {
    if (id >= this.#places.length) this.#grow(id)
    const place = this.#places[id] ?? -1
    if (place < 0) this.#up(this.#size++, id, key)
    else if (this.#comesBefore(key, id, this.#keys[place] ?? 0, id)) this.#up(place, id, key)
    else this.#down(place, id, key)
  }

  /** Removes the first and answers it; −1 when it is empty. */
  pop(): number {
    const first = this.first
    if (first >= 0) this.remove(first)
    return first
  }

  remove(id: number): void {
    const place = this.#places[id] ?? -1
    if (place < 0) return
    this.#places[id] = -1
    const last = --this.#size
    if (place === last) return
    const moved = this.#ids[last] ?? 0
    const key = this.#keys[last] ?? 0
    const above = (place - 1) >> 1
    if (place > 0 && this.#comesBefore(key, moved, this.#keys[above] ?? 0, this.#ids[above] ?? 0))
      this.#up(place, moved, key)
    else this.#down(place, moved, key)
  }

  #comesBefore(key: number, id: number, otherKey: number, otherId: number): boolean {
    return key < otherKey || (key === otherKey && id < otherId)
  }

  #up(from: number, id: number, key: number): void {
    const keys = this.#keys
    const ids = this.#ids
    let place = from
    while (place > 0) {
      const above = (place - 1) >> 1
      const aboveKey = keys[above] ?? 0
      const aboveId = ids[above] ?? 0
      if (!this.#comesBefore(key, id, aboveKey, aboveId)) break
      this.#put(place, aboveId, aboveKey)
      place = above
    }
    this.#put(place, id, key)
  }

  #down(from: number, id: number, key: number): void {
    const keys = this.#keys
    const ids = this.#ids
    let place = from
    for (;;) {
      let below = 2 * place + 1
      if (below >= this.#size) break
      let belowKey = keys[below] ?? 0
      let belowId = ids[below] ?? 0
      const right = below + 1
      if (right < this.#size) {
        const rightKey = keys[right] ?? 0
        const rightId = ids[right] ?? 0
        if (this.#comesBefore(rightKey, rightId, belowKey, belowId)) {
          below = right
          belowKey = rightKey
          belowId = rightId
        }
      }
      if (this.#comesBefore(key, id, belowKey, belowId)) break
      this.#put(place, belowId, belowKey)
      place = below
    }
    this.#put(place, id, key)
  }

  #put(place: number, id: number, key: number): void {
    this.#keys[place] = key
    this.#ids[place] = id
    this.#places[id] = place
  }

  #grow(id: number): void {
    const capacity = Math.max(16, id + 1, this.#places.length * 2)
    const before = this.#places.length
    const keys = new Float64Array(capacity)
    keys.set(this.#keys)
    const ids = new Int32Array(capacity)
    ids.set(this.#ids)
    const places = new Int32Array(capacity).fill(-1, before)
    places.set(this.#places)
    this.#keys = keys
    this.#ids = ids
    this.#places = places
  }
}
