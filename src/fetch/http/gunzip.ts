import * as zlib from 'node:zlib'

/**
 * gzip as browsers read it, for the bodies that zlib refuses: anything may follow the compressed data, and the checksum after it may be wrong or
 * missing. The compressed data itself must be whole: browsers show a page that was cut, but here it would be stored as if that were all of it.
 */
interface Gunzip {
  /** Null: the data does not begin as gzip. */
  inflateNow(input: Uint8Array, options: Limit): Buffer | null
  inflateLater(input: Uint8Array, options: Limit): Promise<Buffer> | null
}

interface Limit {
  readonly maxOutputLength: number
  readonly chunkSize: number
}

const HEADER_BYTES = 10
const TRAILER_BYTES = 8
const HAS_CHECKSUM = 2
const HAS_EXTRA = 4
const HAS_NAME = 8
const HAS_COMMENT = 16

/** `info: true` makes zlib return how much of its input it used; the types do not know it. */
interface Inflated {
  readonly buffer: Buffer
  readonly engine: { readonly bytesWritten: number }
}

export const lenientGunzip: Gunzip = {
  inflateNow(input, options) {
    const parts: Buffer[] = []
    for (let at = dataOf(input, 0); at !== null; ) {
      const limited = { ...options, maxOutputLength: roomLeft(options, parts), info: true }
      const { buffer, engine } = zlib.inflateRawSync(input.subarray(at), limited) as unknown as Inflated
      parts.push(buffer)
      at = dataOf(input, at + engine.bytesWritten + TRAILER_BYTES)
    }
    return parts.length === 0 ? null : Buffer.concat(parts)
  },

  inflateLater(input, options) {
    const first = dataOf(input, 0)
    if (first === null) return null
    return (async () => {
      const parts: Buffer[] = []
      for (let at: number | null = first; at !== null; ) {
        const data = input.subarray(at)
        const limited = { ...options, maxOutputLength: roomLeft(options, parts), info: true }
        const { buffer, engine } = await new Promise<Inflated>((resolve, reject) => {
          zlib.inflateRaw(data, limited, (error, result) =>
            error === null ? resolve(result as unknown as Inflated) : reject(error),
          )
        })
        parts.push(buffer)
        at = dataOf(input, at + engine.bytesWritten + TRAILER_BYTES)
      }
      return Buffer.concat(parts)
    })()
  },
}

function roomLeft({ maxOutputLength }: Limit, parts: readonly Buffer[]): number {
  // zlib accepts no limit below 1; one byte more than allowed is refused by the next check.
  return Math.max(1, maxOutputLength - parts.reduce((sum, part) => sum + part.length, 0))
}

/** Where the compressed data of the member that begins at `start` begins; null: there is none. */
function dataOf(input: Uint8Array, start: number): number | null {
  if (input[start] !== 0x1f || input[start + 1] !== 0x8b || input[start + 2] !== 8) return null
  const flags = input[start + 3] ?? 0
  let at = start + HEADER_BYTES
  if ((flags & HAS_EXTRA) !== 0) at += 2 + (input[at] ?? 0) + 256 * (input[at + 1] ?? 0)
  if ((flags & HAS_NAME) !== 0) at = afterZero(input, at)
  if ((flags & HAS_COMMENT) !== 0) at = afterZero(input, at)
  if ((flags & HAS_CHECKSUM) !== 0) at += 2
  return at < input.length ? at : null
}

function afterZero(input: Uint8Array, from: number): number {
  const zero = input.indexOf(0, from)
  return zero === -1 ? input.length : zero + 1
}
