/**
 * How many values are distinct, in a kilobyte: the 256 smallest hashes of all values (KMV). With fewer than 256 distinct values the
 * number is exact; above, its standard error is 1/√254 = 6.3 %. Sketches of parts unite into the sketch of the whole, in any order
 * and any number of times.
 */
export const SKETCH_SIZE = 256

/** At most SKETCH_SIZE signed 32-bit hashes, each once, ascending. */
export type Sketch = readonly number[]

export function unite(a: Sketch, b: Sketch): Sketch {
  if (b.length === 0) return a
  if (a.length === 0) return b
  const hashes = Int32Array.from([...a, ...b])
  return smallest(hashes, hashes.length)
}

/** An estimate. */
export function distinctValues(sketch: Sketch): number {
  const largest = sketch[SKETCH_SIZE - 1]
  if (largest === undefined) return sketch.length
  // The hashes are spread evenly: 256 of them in this share of all 2^32.
  const share = (largest + 2 ** 31 + 1) / 2 ** 32
  return Math.round((SKETCH_SIZE - 1) / share)
}

/** Builds a sketch. Hashes are collected and sorted now and then, which costs about 30 ns a value. */
export class Sketcher {
  readonly #hashes = new Int32Array(SKETCH_SIZE * 2)
  #count = 0
  #last = 0
  /** Hashes from here on are too large to matter. */
  #bound = 2 ** 31

  add(hash: number): void {
    if (hash >= this.#bound || (hash === this.#last && this.#count > 0)) return
    this.#last = hash
    if (this.#count === this.#hashes.length) this.#compact()
    this.#hashes[this.#count++] = hash
  }

  /** What was added since the last time. */
  take(): Sketch {
    const sketch = smallest(this.#hashes, this.#count)
    this.#count = 0
    this.#bound = 2 ** 31
    return sketch
  }

  #compact(): void {
    const kept = smallest(this.#hashes, this.#count)
    this.#hashes.set(kept)
    this.#count = kept.length
    this.#bound = kept[SKETCH_SIZE - 1] ?? this.#bound
  }
}

/** Sorts the first `count` hashes in place. */
function smallest(hashes: Int32Array, count: number): number[] {
  const sorted = hashes.subarray(0, count).sort()
  const kept: number[] = []
  for (const hash of sorted) {
    if (kept.at(-1) === hash) continue
    kept.push(hash)
    if (kept.length === SKETCH_SIZE) break
  }
  return kept
}
