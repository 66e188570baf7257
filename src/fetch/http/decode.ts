import * as zlib from 'node:zlib'
import { ShoalError } from '../../errors.js'
import { lenientGunzip } from './gunzip.js'

/** More than two layers is an attack, never a page. */
const MAX_LAYERS = 2
/** `gzip,,` and `gzip, identity` are one layer. */
const MAX_EMPTY_NAMES = 8
/** A body that may block the event loop for more than a few milliseconds is decoded on the thread pool. */
const SYNC_INPUT_BYTES = 256 * 1024
const SYNC_OUTPUT_BYTES = 1024 * 1024
/** Most pages are smaller than this: one block, no joining. */
const BLOCK_BYTES = 64 * 1024

type Options = { readonly maxOutputLength: number; readonly chunkSize: number }
type Done = (error: Error | null, result: Buffer) => void

interface Codec {
  now(input: Uint8Array, options: Options): Buffer
  later(input: Uint8Array, options: Options, done: Done): void
}

/** zlib first: it is fast and right for nearly all bodies. Only what it refuses is read again, more leniently. */
const gzip: Codec = {
  now(input, options) {
    try {
      return zlib.gunzipSync(input, options)
    } catch (error) {
      const read = isTooLarge(error) ? null : lenientGunzip.inflateNow(input, options)
      if (read === null) throw error
      return read
    }
  },
  later(input, options, done) {
    zlib.gunzip(input, options, (error, output) => {
      const reading = error === null || isTooLarge(error) ? null : lenientGunzip.inflateLater(input, options)
      if (reading === null) done(error, output)
      else
        reading.then(
          (read) => done(null, read),
          (thrown: Error) => done(thrown, output),
        )
    })
  },
}
const brotli: Codec = { now: zlib.brotliDecompressSync, later: zlib.brotliDecompress }
const wrapped: Codec = { now: zlib.inflateSync, later: zlib.inflate }
const bare: Codec = { now: zlib.inflateRawSync, later: zlib.inflateRaw }
/** 'deflate' means zlib in the standard and raw deflate on many servers. */
const deflate: Codec = {
  now: (input, options) => (isZlib(input) ? wrapped : bare).now(input, options),
  later: (input, options, done) => (isZlib(input) ? wrapped : bare).later(input, options, done),
}

function isZlib(input: Uint8Array): boolean {
  const [first = 0, second = 0] = input
  return (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0
}

const CODECS = new Map<string, Codec>([
  ['gzip', gzip],
  ['x-gzip', gzip],
  ['deflate', deflate],
  ['br', brotli],
])

const { zstdDecompressSync, zstdDecompress } = zlib as Partial<{
  zstdDecompressSync: Codec['now']
  zstdDecompress: Codec['later']
}>
if (zstdDecompressSync !== undefined && zstdDecompress !== undefined) {
  CODECS.set('zstd', { now: zstdDecompressSync, later: zstdDecompress })
}

export const ACCEPT_ENCODING = CODECS.has('zstd') ? 'gzip, deflate, br, zstd' : 'gzip, deflate, br'

/** The body without its content encodings, never larger than `cap`. Small ones are decoded immediately, large ones on the thread pool. */
export function decodeBody(body: Buffer, contentEncoding: string, cap: number): Buffer | Promise<Buffer> {
  const codecs = codecsOf(contentEncoding)
  if (codecs.length === 0 || body.length === 0) return body
  if (body.length > SYNC_INPUT_BYTES) return decodeLater(body, codecs, cap)
  try {
    const options = { maxOutputLength: Math.min(cap, SYNC_OUTPUT_BYTES), chunkSize: BLOCK_BYTES }
    let decoded = body
    for (const codec of codecs) decoded = codec.now(decoded, options)
    return decoded
  } catch (error) {
    if (isTooLarge(error) && cap > SYNC_OUTPUT_BYTES) return decodeLater(body, codecs, cap)
    throw failure(error, cap)
  }
}

async function decodeLater(body: Buffer, codecs: readonly Codec[], cap: number): Promise<Buffer> {
  let decoded = body
  for (const codec of codecs) {
    const input = decoded
    decoded = await new Promise((resolve, reject) => {
      codec.later(input, { maxOutputLength: cap, chunkSize: BLOCK_BYTES }, (error, output) =>
        error === null ? resolve(output) : reject(failure(error, cap)),
      )
    })
  }
  return decoded
}

/** What servers write although it names no coding. */
const NO_CODING = new Set(['identity', 'none', 'utf-8', 'utf8'])

/** In the order in which they are removed: the last one named was applied last. */
function codecsOf(contentEncoding: string): Codec[] {
  const names = contentEncoding
    .toLowerCase()
    .split(',', MAX_LAYERS + MAX_EMPTY_NAMES)
    .map((name) => name.trim())
    .filter((name) => name !== '' && !NO_CODING.has(name))
  // Browsers show a body with one name that they do not know as it is, but not with `gzip;q=1`.
  const [only] = names
  if (names.length === 1 && only !== undefined && !CODECS.has(only) && /^[\w.-]+$/.test(only)) return []
  if (names.length > MAX_LAYERS) throw new ShoalError('decode_error', `more than ${MAX_LAYERS} content encodings`)
  return names.reverse().map((name) => {
    const codec = CODECS.get(name)
    if (codec === undefined)
      throw new ShoalError('decode_error', `content encoding '${name.slice(0, 40)}' is not supported`)
    return codec
  })
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
}

function failure(error: unknown, cap: number): ShoalError {
  if (isTooLarge(error)) return new ShoalError('too_large', `the decoded body is larger than ${cap} bytes`)
  const reason = error instanceof Error ? error.message : String(error)
  return new ShoalError('decode_error', `the content encoding is broken: ${reason}`, { cause: error })
}
