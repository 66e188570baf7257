import type { BlobIndex } from '../blob-index.js'
import type { PackCompaction, PackProgress } from '../pack-maintenance.js'
import { unpacked } from './codec.js'
import { HEAD_BYTES } from './pack-format.js'
import { PACK_BYTES, type PackPlace } from './pack-place.js'
import { isSettled, listPacks, type ReadPack, readPack, removeIdle } from './pack-reading.js'
import { writeRun } from './write-run.js'

/** A pack smaller than this is worth rewriting together with others. */
const SMALL_BYTES = PACK_BYTES / 4
/** Entries moved in one call of the index. */
const PART = 1_000

/**
 * Copies first, then the index, then the old packs go: a reader finds a page in the old place or in the new one, and one that was on its way to
 * the old place asks the index again. A pack with a damaged page is left as it is, for `check`.
 */
export async function compactPacks(
  index: BlobIndex,
  place: PackPlace,
  now: number,
  onProgress: (progress: PackProgress) => void,
): Promise<PackCompaction> {
  const id = await place.id()
  const all = id === null ? [] : await listPacks(place)
  const small = all.filter((info) => info.bytes < SMALL_BYTES && isSettled(info, now))
  const done = { pages: 0, bytesBefore: 0, bytesAfter: 0 }
  if (id !== null && small.length > 1) {
    let group: Group = emptyGroup()
    const finish = async () => {
      if (group.packs.length > 1) {
        done.pages += group.packs.reduce((sum, { live }) => sum + live.length, 0)
        done.bytesBefore += group.packs.reduce((sum, { info }) => sum + info.bytes, 0)
        done.bytesAfter += await moveGroup(index, id, place, group)
      }
      group = emptyGroup()
    }
    for (const [at, info] of small.entries()) {
      const read = await readPack(index, id, place, info)
      if (read.intact && (await isSound(read))) {
        group.packs.push(read)
        group.bytes += read.live.reduce((sum, { packed }) => sum + HEAD_BYTES + packed.length, 0)
      }
      if (group.bytes >= PACK_BYTES - SMALL_BYTES) await finish()
      onProgress({ packs: at + 1, of: small.length })
    }
    await finish()
  }
  const after = id === null ? [] : await listPacks(place)
  return { packsBefore: all.length, packsAfter: after.length, ...done }
}

interface Group {
  readonly packs: ReadPack[]
  /** Of their pages. */
  bytes: number
}

function emptyGroup(): Group {
  return { packs: [], bytes: 0 }
}

async function isSound({ live }: ReadPack): Promise<boolean> {
  for (const { entry, packed } of live) if ((await unpacked(packed, entry)) === null) return false
  return true
}

/** How many bytes it takes now. */
async function moveGroup(index: BlobIndex, id: string, place: PackPlace, { packs, bytes }: Group): Promise<number> {
  const live = packs.flatMap((read) => read.live)
  if (live.length > 0) {
    const pages = live.map(({ entry: { hash, codec, bytes }, packed }) => ({ hash, codec, bytes, packed }))
    const entries = await writeRun(place, pages)
    const moves = live.flatMap(({ entry: from }, at) => {
      const to = entries[at]
      return to === undefined ? [] : [{ from, to }]
    })
    for (let first = 0; first < moves.length; first += PART) {
      await index.move(id, moves.slice(first, first + PART))
    }
  }
  for (const read of packs) await removeIdle(index, id, place, read)
  return bytes
}
