import { TextDecoder } from 'node:util'
import { createListingParser, type Listed } from './listing-parser.js'
import type { Spool } from './spool.js'
import { unpack } from './unpack.js'

/** A file that was fetched, as it came over the wire. */
export interface ListingFile {
  /** After redirects. */
  readonly url: string
  readonly contentEncoding: string
  readonly spool: Pick<Spool, 'read' | 'digest' | 'close'>
}

/** What the file lists, as many at a time as come together; in memory is never more than a piece of it. */
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

/** By byte order mark or XML declaration; else UTF-8, which the protocol asks for. */
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
