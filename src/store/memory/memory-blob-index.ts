import type { BlobEntry, BlobIndex, BlobMove } from '../blob-index.js'

export class MemoryBlobIndex implements BlobIndex {
  readonly #places = new Map<string, Map<string, BlobEntry>>()

  async find(place: string, hashes: readonly string[]): Promise<Map<string, BlobEntry>> {
    const entries = this.#of(place)
    return new Map([...entries].filter(([hash]) => hashes.includes(hash)))
  }

  async add(place: string, entries: readonly BlobEntry[]): Promise<void> {
    const known = this.#of(place)
    for (const entry of entries) if (!known.has(entry.hash)) known.set(entry.hash, entry)
  }

  async move(place: string, moves: readonly BlobMove[]): Promise<void> {
    for (const { from, to } of moves) if (this.#isThere(place, from)) this.#of(place).set(to.hash, to)
  }

  async remove(place: string, entries: readonly BlobEntry[]): Promise<void> {
    for (const entry of entries) if (this.#isThere(place, entry)) this.#of(place).delete(entry.hash)
  }

  async after(place: string, hash: string, limit: number): Promise<BlobEntry[]> {
    const later = [...this.#of(place).values()].filter((entry) => entry.hash > hash)
    return later.sort((a, b) => (a.hash < b.hash ? -1 : 1)).slice(0, limit)
  }

  #isThere(place: string, { hash, pack, start }: BlobEntry): boolean {
    const now = this.#of(place).get(hash)
    return now?.pack === pack && now.start === start
  }

  #of(place: string): Map<string, BlobEntry> {
    const entries = this.#places.get(place) ?? new Map<string, BlobEntry>()
    this.#places.set(place, entries)
    return entries
  }
}
