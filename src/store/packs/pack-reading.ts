import type { BlobEntry, BlobIndex } from '../blob-index.js'
import { unpacked } from './codec.js'
import { entriesIn } from './pack-format.js'
import { type PackInfo, type PackPlace, SETTLED_MS } from './pack-place.js'

/** Index entries asked for at once. */
const PART = 1_000

/** A pack as maintenance reads it: whole. */
export interface ReadPack {
  readonly info: PackInfo
  readonly entries: readonly BlobEntry[]
  /** Those that the index points to, each with its bytes; the rest is idle. */
  readonly live: readonly { readonly entry: BlobEntry; readonly packed: Uint8Array }[]
  /** Every header was valid up to the end. */
  readonly intact: boolean
}

export async function readPack(index: BlobIndex, id: string, place: PackPlace, info: PackInfo): Promise<ReadPack> {
  const content = (await place.read(info.pack, 0, info.bytes)) ?? new Uint8Array()
  const { entries, intact } = entriesIn(info.pack, content)
  const live = await liveOf(index, id, entries)
  return {
    info,
    entries,
    live: live.map((entry) => ({ entry, packed: content.subarray(entry.start, entry.start + entry.length) })),
    intact,
  }
}

/** Those that the index points to, as the index has them. */
async function liveOf(index: BlobIndex, id: string, entries: readonly BlobEntry[]): Promise<BlobEntry[]> {
  const live: BlobEntry[] = []
  for (let first = 0; first < entries.length; first += PART) {
    const part = entries.slice(first, first + PART)
    const hashes = [...new Set(part.map(({ hash }) => hash))]
    const found = await index.find(id, hashes)
    for (const entry of part) {
      const known = found.get(entry.hash)
      if (known !== undefined && isSame(known, entry)) live.push(known)
    }
  }
  return live
}

/** All of the place, in the order of their hashes. */
export async function* indexed(index: BlobIndex, id: string): AsyncGenerator<BlobEntry> {
  for (let after = ''; ; ) {
    const part = await index.after(id, after, PART)
    yield* part
    const last = part.at(-1)
    if (last === undefined) return
    after = last.hash
  }
}

export async function isReadable(place: PackPlace, entry: BlobEntry): Promise<boolean> {
  const packed = await place.read(entry.pack, entry.start, entry.length)
  return packed !== null && (await unpacked(packed, entry)) !== null
}

/** Oldest first. */
export async function listPacks(place: PackPlace): Promise<PackInfo[]> {
  const packs: PackInfo[] = []
  for await (const info of place.list()) packs.push(info)
  return packs.sort((a, b) => (a.pack < b.pack ? -1 : 1))
}

export function isSettled(info: PackInfo, now: number): boolean {
  return now - info.writtenAt > SETTLED_MS
}

export function isSame(a: BlobEntry, b: BlobEntry): boolean {
  return a.pack === b.pack && a.start === b.start
}

/** Deletes a pack unless a page is in it by now. */
export async function removeIdle(index: BlobIndex, id: string, place: PackPlace, read: ReadPack): Promise<void> {
  const live = await liveOf(index, id, read.entries)
  if (live.length === 0) await place.remove(read.info.pack)
}
