import { encodingInXml } from '../fetch/declared-encoding.js'
import { createDecoder } from '../fetch/encodings.js'
import { createListingParser, type Listed } from './listing-parser.js'
import type { Spool } from './spool.js'
import { unpack } from './unpack.js'

/** A fetched file, as it came over the wire. */
export interface ListingFile {
  /** After redirects. */
  readonly url: string
  readonly contentEncoding: string
  readonly spool: Pick<Spool, 'read' | 'digest' | 'close'>
}

/** The entries of the file, in batches as they are parsed; only a piece of the file is in memory at a time. */
export async function* readListing(file: ListingFile): AsyncGenerator<readonly Listed[]> {
  const parser = createListingParser(file.url)
  let decoder: ReturnType<typeof createDecoder> | null = null
  for await (const piece of unpack(file.spool.read(), file.contentEncoding)) {
    decoder ??= createDecoder(charsetOf(piece))
    const listed = parser.write(decoder.decode(piece, { stream: true }))
    if (listed.length > 0) yield listed
  }
  const last = parser.end()
  if (last.length > 0) yield last
}

const SPACE = 0x20

/** From the byte order mark or the XML declaration; otherwise UTF-8, as the protocol requires. */
function charsetOf(start: Buffer): string {
  if (start[0] === 0xff && start[1] === 0xfe) return 'utf-16le'
  if (start[0] === 0xfe && start[1] === 0xff) return 'utf-16be'
  // Generators leave blank lines before the declaration.
  const first = start.findIndex((byte) => byte > SPACE)
  return encodingInXml(start.subarray(Math.max(first, 0))) ?? 'utf-8'
}
