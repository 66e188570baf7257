/**
 * Which pack holds each raw page, and where in it. Duties of every driver:
 *  - An entry belongs to one place (a folder, a bucket): the same page may be kept in several, and each is asked for its own.
 *  - `add` is durable when it resolves and can be repeated: the first of several entries for a page wins.
 *  - `move` and `remove` change only an entry that is still where the caller saw it, and can be repeated.
 */
export interface BlobIndex {
  /** By hash; unknown ones are left out. */
  find(place: string, hashes: readonly string[]): Promise<Map<string, BlobEntry>>
  add(place: string, entries: readonly BlobEntry[]): Promise<void>
  move(place: string, moves: readonly BlobMove[]): Promise<void>
  remove(place: string, entries: readonly BlobEntry[]): Promise<void>
  /** In order of their hashes, after this one: at most `limit`. */
  after(place: string, hash: string, limit: number): Promise<BlobEntry[]>
}

export interface BlobEntry {
  /** SHA-256 of the page, 64 hex digits. */
  readonly hash: string
  readonly pack: string
  /** Where its bytes begin in the pack, and how many there are. */
  readonly start: number
  readonly length: number
  readonly codec: Codec
  /** Of the page itself. */
  readonly bytes: number
}

/** How its bytes are packed. */
export type Codec = 'br' | 'raw'

/** Both of one hash. */
export interface BlobMove {
  readonly from: BlobEntry
  readonly to: BlobEntry
}
