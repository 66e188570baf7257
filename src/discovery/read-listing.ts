import { TextDecoder } from 'node:util'
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
  let decoder: TextDecoder | null = null
  for await (const piece of unpack(file.spool.read(), file.contentEncoding)) {
    decoder ??= new TextDecoder(charsetOf(piece))
    const listed = parser.write(decoder.decode(piece, { stream: true }))
    if (listed.length > 0) yield listed
  }
  const last = parser.end()
  if (last.length > 0) yield last
}

const SNIFFED_BYTES = 200

/** From the byte order mark or the XML declaration; otherwise UTF-8, as the protocol requires. */
function charsetOf(start: Buffer): string {
  if (start[0] === 0xff && start[1] === 0xfe) return 'utf-16le'
  if (start[0] === 0xfe && start[1] === 0xff) return 'utf-16be'
  const declared = /^\s*<\?xml[^>]*encoding\s*=\s*["']([\w.:-]+)["']/.exec(
    start.subarray(0, SNIFFED_BYTES).toString('latin1'),
  )?.[1]
  try {
    return new TextDecoder(declared ?? 'utf-8').encoding
  } catch {
    return 'utf-8'
  }
}
