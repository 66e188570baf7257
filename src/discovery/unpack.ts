import { pipeline, Readable, type Transform } from 'node:stream'
import * as zlib from 'node:zlib'
import { ShoalError } from '../errors.js'

/** After decoding. The sitemap protocol allows 50 MB; larger files exist, and cost no memory because nothing is kept. */
const MAX_UNPACKED_BYTES = 256 * 1024 * 1024

/** More than two layers is an attack, never a file. */
const MAX_LAYERS = 2

const DECODERS = new Map<string, () => Transform>([
  ['gzip', () => zlib.createGunzip()],
  ['x-gzip', () => zlib.createGunzip()],
  ['deflate', () => zlib.createInflate()],
  ['br', () => zlib.createBrotliDecompress()],
])
const { createZstdDecompress } = zlib as { createZstdDecompress?: () => Transform }
if (createZstdDecompress !== undefined) DECODERS.set('zstd', createZstdDecompress)

/** Removes the content encoding, and gzip if the file itself is compressed, whatever its name and type say. Fails above `cap`. */
export async function* unpack(
  pieces: AsyncIterable<Buffer>,
  contentEncoding: string,
  cap = MAX_UNPACKED_BYTES,
): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const piece of ungzipped(decoded(pieces, contentEncoding))) {
    bytes += piece.length
    if (bytes > cap) throw new ShoalError('too_large', `more than ${cap} bytes after decoding`)
    yield piece
  }
}

function decoded(pieces: AsyncIterable<Buffer>, contentEncoding: string): AsyncIterable<Buffer> {
  const names = contentEncoding
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
  if (names.length > MAX_LAYERS) throw new ShoalError('decode_error', `more than ${MAX_LAYERS} content encodings`)
  // The last encoding listed was applied last.
  return names.reduceRight((inner, name) => {
    const decoder = DECODERS.get(name)
    if (decoder === undefined)
      throw new ShoalError('decode_error', `content encoding '${name.slice(0, 40)}' is not supported`)
    return through(inner, decoder())
  }, pieces)
}

async function* ungzipped(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const iterator = pieces[Symbol.asyncIterator]()
  let first = await iterator.next()
  // One byte is not enough to decide.
  if (!first.done && first.value.length === 1) {
    const second = await iterator.next()
    if (!second.done) first = { value: Buffer.concat([first.value, second.value]), done: false }
  }
  if (first.done) return
  const start = first.value
  const rest = { [Symbol.asyncIterator]: () => iterator }
  async function* whole() {
    yield start
    yield* rest
  }
  const isGzip = start[0] === 0x1f && start[1] === 0x8b
  yield* isGzip ? through(whole(), zlib.createGunzip()) : whole()
}

async function* through(pieces: AsyncIterable<Buffer>, decoder: Transform): AsyncGenerator<Buffer> {
  const source = Readable.from(pieces, { objectMode: false, highWaterMark: 64 * 1024 })
  const output = pipeline(source, decoder, () => {})
  try {
    for await (const piece of output) yield piece as Buffer
  } catch (error) {
    if (error instanceof ShoalError) throw error
    throw new ShoalError('decode_error', error instanceof Error ? error.message : String(error), { cause: error })
  } finally {
    output.destroy()
    source.destroy()
  }
}
