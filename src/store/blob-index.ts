/**
 * Where in which pack each raw page stands. Duties of every driver:
 *  - An entry belongs to one place (a folder, a bucket): the same page may be kept in several, and each is asked for its own.
 *  - `addBlobs` is durable when it resolves and can be repeated: of several that add a page the first stays.
 *  - `moveBlobs` and `removeBlobs` touch only an entry that still stands where the caller has seen it, and can be repeated.
 */
export interface BlobIndex {
  /** By hash; those that are not known are left out. */
  findBlobs(place: string, hashes: readonly string[]): Promise<Map<string, BlobEntry>>
  addBlobs(place: string, entries: readonly BlobEntry[]): Promise<void>
  moveBlobs(place: string, moves: readonly BlobMove[]): Promise<void>
  removeBlobs(place: string, entries: readonly BlobEntry[]): Promise<void>
  /** In order of their hashes, after this one: at most `limit`. */
  blobsAfter(place: string, hash: string, limit: number): Promise<BlobEntry[]>
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
