import type { BlobEntry, BlobIndex } from '../blob-index.js'
import { unpacked } from './codec.js'
import type { PackPlace } from './pack-place.js'
import { isSame } from './pack-reading.js'

/** Entries asked for at once. */
const LOOKUP = 500
/**
 * Pages stored at about the same time are near each other in a pack, and a read from S3 costs 2 ms of CPU and a line on the bill: what is less than this
 * apart is read in one piece, up to so many bytes.
 */
const GAP_BYTES = 64 * 1024
const PIECE_BYTES = 8 * 1024 * 1024
/** Pages read one after the other, in the order of the pack, come in pieces of this size from a place on a server. */
const AHEAD_BYTES = 1024 * 1024

interface Wanted {
  readonly hash: string
  readonly resolve: (page: Uint8Array | null) => void
  readonly reject: (error: unknown) => void
}

interface Found extends Wanted {
  readonly entry: BlobEntry
}

/** Reads pages; those that are asked for in one turn of the event loop share a call of the index, and reads. */
export class PackReader {
  readonly #index: BlobIndex
  readonly #place: PackPlace
  #wanted: Wanted[] = []
  /** What was read last from a place on a server. */
  #last: { readonly pack: string; readonly start: number; readonly bytes: Uint8Array } | null = null

  constructor(index: BlobIndex, place: PackPlace) {
    this.#index = index
    this.#place = place
  }

  /** Null: there is no such page, or it is damaged. */
  read(hash: string): Promise<Uint8Array | null> {
    return new Promise((resolve, reject) => {
      if (this.#wanted.length === 0) queueMicrotask(() => this.#readWanted())
      this.#wanted.push({ hash, resolve, reject })
    })
  }

  async find(hash: string): Promise<BlobEntry | null> {
    return (await this.#lookUp([hash])).get(hash) ?? null
  }

  #readWanted(): void {
    const wanted = this.#wanted
    this.#wanted = []
    for (let first = 0; first < wanted.length; first += LOOKUP) void this.#readAll(wanted.slice(first, first + LOOKUP))
  }

  async #readAll(wanted: readonly Wanted[]): Promise<void> {
    try {
      const entries = await this.#lookUp([...new Set(wanted.map(({ hash }) => hash))])
      const found: Found[] = []
      for (const one of wanted) {
        const entry = entries.get(one.hash)
        if (entry === undefined) one.resolve(null)
        else found.push({ ...one, entry })
      }
      await Promise.all(piecesOf(found).map((piece) => this.#readPiece(piece)))
    } catch (error) {
      for (const { reject } of wanted) reject(error)
    }
  }

  async #readPiece(piece: readonly Found[]): Promise<void> {
    try {
      const [first, last] = [piece[0], piece.at(-1)]
      if (first === undefined || last === undefined) return
      const { pack, start } = first.entry
      const bytes = await this.#readBytes(pack, start, last.entry.start + last.entry.length - start)
      for (const { entry, resolve, reject } of piece) {
        const from = entry.start - start
        const page = bytes === null ? null : await unpacked(bytes.subarray(from, from + entry.length), entry)
        if (page !== null) resolve(page)
        else this.#readAgain(entry, piece.length > 1).then(resolve, reject)
      }
    } catch (error) {
      for (const { reject } of piece) reject(error)
    }
  }

  async #readBytes(pack: string, start: number, length: number): Promise<Uint8Array | null> {
    const last = this.#last?.pack === pack ? this.#last : null
    const from = start - (last?.start ?? 0)
    const end = last?.bytes.length ?? 0
    if (last !== null && from >= 0 && from + length <= end) return last.bytes.subarray(from, from + length)
    const next = this.#place.remote && last !== null && from >= 0 && from <= end + GAP_BYTES
    const bytes = await this.#place.read(pack, start, next ? Math.max(length, AHEAD_BYTES) : length)
    this.#last = bytes === null || !this.#place.remote ? null : { pack, start, bytes }
    return bytes
  }

  /** A compaction may have moved it meanwhile; and a pack that was cut short must not hide the pages before the cut. */
  async #readAgain(seen: BlobEntry, wasNotAlone: boolean): Promise<Uint8Array | null> {
    const entry = await this.find(seen.hash)
    if (entry === null) return null
    const moved = !isSame(entry, seen)
    if (!moved && !wasNotAlone) return null
    const bytes = await this.#place.read(entry.pack, entry.start, entry.length)
    const page = bytes === null ? null : await unpacked(bytes, entry)
    return page !== null || !moved ? page : this.#readAgain(entry, false)
  }

  async #lookUp(hashes: readonly string[]): Promise<Map<string, BlobEntry>> {
    const id = await this.#place.id()
    return id === null ? new Map<string, BlobEntry>() : this.#index.find(id, hashes)
  }
}

/** Neighbours together, in the order of the pack. */
function piecesOf(found: readonly Found[]): Found[][] {
  const sorted = found.toSorted((a, b) =>
    a.entry.pack < b.entry.pack ? -1 : a.entry.pack > b.entry.pack ? 1 : a.entry.start - b.entry.start,
  )
  const pieces: Found[][] = []
  for (const one of sorted) {
    const piece = pieces.at(-1)
    const [first, last] = [piece?.[0]?.entry, piece?.at(-1)?.entry]
    const { pack, start, length } = one.entry
    const near = last !== undefined && last.pack === pack && start - (last.start + last.length) <= GAP_BYTES
    if (near && first !== undefined && start + length - first.start <= PIECE_BYTES) piece?.push(one)
    else pieces.push([one])
  }
  return pieces
}
