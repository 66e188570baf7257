import type { BlobEntry, BlobIndex } from '../blob-index.js'
import type { PackCheck, PackProgress } from '../pack-maintenance.js'
import { unpacked } from './codec.js'
import { HEAD_BYTES, PACK_MAGIC } from './pack-format.js'
import type { PackPlace } from './pack-place.js'
import { indexed, isReadable, isSame, isSettled, listPacks, readPack, removeIdle } from './pack-reading.js'

/**
 * The packs first, each read whole, page by page by its headers; then the index, which may know pages in packs that are gone,
 * and pages behind a damaged head.
 */
export async function checkPacks(
  index: BlobIndex,
  place: PackPlace,
  now: number,
  onProgress: (progress: PackProgress) => void,
): Promise<PackCheck> {
  const id = await place.id()
  const totals = { packs: 0, pages: 0, pageBytes: 0, storedBytes: 0, idleBytes: 0 }
  const damaged: BlobEntry[] = []
  const packs = id === null ? [] : await listPacks(place)
  if (id === null) return { ...totals, unreferenced: [], damaged }

  const count = ({ bytes }: BlobEntry) => {
    totals.pages++
    totals.pageBytes += bytes
  }
  const intact = new Set<string>()
  /** Where the checked pages begin, in packs whose headers do not list all of them. */
  const lookedAt = new Map<string, Set<number>>()
  for (const [at, info] of packs.entries()) {
    const read = await readPack(index, id, place, info)
    for (const { entry, packed } of read.live) {
      if ((await unpacked(packed, entry)) !== null) count(entry)
      else damaged.push(entry)
    }
    if (read.intact) intact.add(info.pack)
    else lookedAt.set(info.pack, new Set(read.live.map(({ entry }) => entry.start)))
    const used = read.live.reduce((sum, { entry }) => sum + HEAD_BYTES + entry.length, PACK_MAGIC.length)
    totals.packs++
    totals.storedBytes += info.bytes
    totals.idleBytes += Math.max(0, info.bytes - used)
    onProgress({ packs: at + 1, of: packs.length })
  }

  const referenced = new Set<string>()
  for await (const entry of indexed(index, id)) {
    referenced.add(entry.pack)
    if (intact.has(entry.pack) || lookedAt.get(entry.pack)?.has(entry.start)) continue
    if (await isReadable(place, entry)) count(entry)
    else if (await isStillThere(index, id, entry)) damaged.push(entry)
  }
  const unreferenced = packs
    .filter((info) => !referenced.has(info.pack) && isSettled(info, now))
    .map(({ pack, bytes }) => ({ pack, bytes, where: place.where(pack) }))
  return { ...totals, unreferenced, damaged }
}

export async function cleanPacks(
  index: BlobIndex,
  place: PackPlace,
  { unreferenced, damaged }: Pick<PackCheck, 'unreferenced' | 'damaged'>,
): Promise<void> {
  const id = await place.id()
  if (id === null) return
  await index.remove(id, damaged)
  for (const { pack, bytes } of unreferenced) {
    await removeIdle(index, id, place, await readPack(index, id, place, { pack, bytes, writtenAt: 0 }))
  }
}

/** Not if a compaction moved it since the index was read. */
async function isStillThere(index: BlobIndex, id: string, entry: BlobEntry): Promise<boolean> {
  const now = (await index.find(id, [entry.hash])).get(entry.hash)
  return now !== undefined && isSame(now, entry)
}
