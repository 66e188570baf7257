import type { BlobEntry } from '../blob-index.js'
import { layOut, type PackedPage } from './pack-format.js'
import type { PackPlace } from './pack-place.js'

/** Stores pages in one run; returns where they are. */
export async function writeRun(place: PackPlace, pages: readonly PackedPage[]): Promise<BlobEntry[]> {
  const { run, starts } = layOut(pages)
  const { pack, start } = await place.write(run)
  return pages.map(({ hash, codec, bytes, packed }, at) => ({
    ...{ hash, pack, codec, bytes },
    start: start + (starts[at] ?? 0),
    length: packed.length,
  }))
}
