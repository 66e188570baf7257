import type { BlobEntry, Codec } from '../blob-index.js'

/**
 * A pack is `SHOALPK1` and then entries, each with a head that says what follows: `PG`, one byte for the codec, one of zero, the page's
 * SHA-256, the length as packed and the length of the page (big-endian). Reading a page needs only the index; the heads are for
 * maintenance, which sees what a pack holds without asking for it page by page.
 */
export const PACK_MAGIC = Buffer.from('SHOALPK1')
export const HEAD_BYTES = 44

const MARK = 0x5047
const CODECS: readonly Codec[] = ['raw', 'br']

export interface PackedPage {
  readonly hash: string
  readonly codec: Codec
  /** Of the page itself. */
  readonly bytes: number
  readonly packed: Uint8Array
}

/** One run of entries as it is written, and where each page begins in it. */
export function layOut(pages: readonly PackedPage[]): { run: Uint8Array; starts: number[] } {
  const total = pages.reduce((sum, { packed }) => sum + HEAD_BYTES + packed.length, 0)
  const run = Buffer.allocUnsafe(total)
  const starts: number[] = []
  let at = 0
  for (const { hash, codec, bytes, packed } of pages) {
    run.writeUInt16BE(MARK, at)
    run.writeUInt8(CODECS.indexOf(codec), at + 2)
    run.writeUInt8(0, at + 3)
    run.write(hash, at + 4, 'hex')
    run.writeUInt32BE(packed.length, at + 36)
    run.writeUInt32BE(bytes, at + 40)
    run.set(packed, at + HEAD_BYTES)
    starts.push(at + HEAD_BYTES)
    at += HEAD_BYTES + packed.length
  }
  return { run, starts }
}

/** The entries of a whole pack, up to the first invalid header; `intact`: there is none. */
export function entriesIn(pack: string, content: Uint8Array): { entries: BlobEntry[]; intact: boolean } {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  const entries: BlobEntry[] = []
  if (!bytes.subarray(0, PACK_MAGIC.length).equals(PACK_MAGIC)) return { entries, intact: false }
  let at = PACK_MAGIC.length
  while (at + HEAD_BYTES <= bytes.length) {
    const codec = CODECS[bytes.readUInt8(at + 2)]
    const start = at + HEAD_BYTES
    const length = bytes.readUInt32BE(at + 36)
    if (bytes.readUInt16BE(at) !== MARK || codec === undefined || start + length > bytes.length) break
    const hash = bytes.toString('hex', at + 4, at + 36)
    entries.push({ hash, pack, start, length, codec, bytes: bytes.readUInt32BE(at + 40) })
    at = start + length
  }
  return { entries, intact: at === bytes.length }
}
