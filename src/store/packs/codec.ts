import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, brotliCompressSync, brotliDecompress, brotliDecompressSync, constants } from 'node:zlib'
import type { BlobEntry } from '../blob-index.js'
import type { BlobRef } from '../blob-store.js'
import type { PackedPage } from './pack-format.js'

const compress = promisify(brotliCompress)
const decompress = promisify(brotliDecompress)

/** On a 12 KB page of HTML: 84 µs and 1,719 bytes, where gzip's best took 148 µs and 1,816 bytes. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } }

/** Up to here a page is packed on the event loop: handing 10 KB to another thread and back cost more CPU (150 µs) than packing it (110 µs). */
const SMALL_BYTES = 64 * 1024

/** Types that are packed already gain nothing. */
const WORTH_PACKING = /^(?:text\/|application\/(?:[\w.+-]*(?:json|xml|javascript)|x-ndjson)|image\/svg)/i

export function sha256(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex')
}

export function hashIn(ref: BlobRef): string | null {
  return /^sha256:([0-9a-f]{64})$/.exec(ref)?.[1] ?? null
}

export async function packed(hash: string, page: Uint8Array, type: string): Promise<PackedPage> {
  const raw: PackedPage = { hash, codec: 'raw', bytes: page.length, packed: page }
  if (!WORTH_PACKING.test(type)) return raw
  const small = page.length <= SMALL_BYTES ? brotliCompressSync(page, BROTLI) : await compress(page, BROTLI)
  return small.length < page.length ? { ...raw, codec: 'br', packed: small } : raw
}

/** Null when it is not the page that the entry promises. A page never unpacks to more than its entry says. */
export async function unpacked(
  bytes: Uint8Array,
  entry: Pick<BlobEntry, 'hash' | 'codec' | 'bytes'>,
): Promise<Uint8Array | null> {
  const page = entry.codec === 'raw' ? bytes : await brotli(bytes, entry.bytes)
  return page !== null && page.length === entry.bytes && sha256(page) === entry.hash ? page : null
}

/** Null when it is not brotli, or more than `most` bytes of it. */
async function brotli(bytes: Uint8Array, most: number): Promise<Uint8Array | null> {
  const limit = { maxOutputLength: Math.max(1, most) }
  try {
    return most <= SMALL_BYTES ? brotliDecompressSync(bytes, limit) : await decompress(bytes, limit)
  } catch {
    return null
  }
}
