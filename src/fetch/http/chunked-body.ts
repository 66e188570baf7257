/** Where in a chunked body the next byte is. */
type Place = 'size' | 'data' | 'end of data' | 'trailers' | 'over'

const LF = 10
const CR = 13
/** As in Chromium: more than any extension of a chunk needs. */
const MOST_LINE_BYTES = 16_384

/** Thrown: the bytes are not chunks. */
export class BadChunk extends Error {}

/**
 * Takes the chunks of a body apart as they come. The sizes are hexadecimal digits and nothing else, because a parser that reads `0xc` or `+c` in its
 * own way sees other ends; extensions, trailers, spaces after the size and bare line feeds are accepted, as in browsers.
 */
export class ChunkedBody {
  private readonly onData: (piece: Buffer) => void
  private place: Place = 'size'
  /** Bytes of the chunk that have not come yet. */
  private missing = 0
  /** The beginning of a line whose end has not come yet. */
  private line = ''
  private trailerBytes = 0

  constructor(onData: (piece: Buffer) => void) {
    this.onData = onData
  }

  get isOver(): boolean {
    return this.place === 'over'
  }

  /** Returns how many bytes belonged to the body. */
  take(bytes: Buffer, from: number): number {
    let at = from
    while (at < bytes.length && this.place !== 'over')
      at = this.place === 'data' ? this.takeData(bytes, at) : this.takeLine(bytes, at)
    return at
  }

  private takeData(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.missing)
    this.missing -= end - at
    if (this.missing === 0) this.place = 'end of data'
    this.onData(bytes.subarray(at, end))
    return end
  }

  private takeLine(bytes: Buffer, at: number): number {
    const lf = bytes.indexOf(LF, at)
    const end = lf === -1 ? bytes.length : lf
    if (this.line.length + end - at > MOST_LINE_BYTES) throw new BadChunk('a line between two chunks is too long')
    this.line += bytes.toString('latin1', at, end)
    if (lf === -1) {
      // Not a line end, whatever else follows: no need to wait for it.
      if (this.place === 'end of data' && this.line !== '\r') throw new BadChunk('a chunk is longer than its size')
      return end
    }
    const line = this.line.charCodeAt(this.line.length - 1) === CR ? this.line.slice(0, -1) : this.line
    this.line = ''
    this.judgeLine(line)
    return lf + 1
  }

  private judgeLine(line: string): void {
    if (this.place === 'size') {
      this.missing = sizeIn(line)
      this.place = this.missing === 0 ? 'trailers' : 'data'
    } else if (this.place === 'end of data') {
      if (line !== '') throw new BadChunk('a chunk is longer than its size')
      this.place = 'size'
    } else if (line === '') this.place = 'over'
    else {
      this.trailerBytes += line.length
      if (this.trailerBytes > MOST_LINE_BYTES) throw new BadChunk('the trailers are too long')
    }
  }
}

function sizeIn(line: string): number {
  const semicolon = line.indexOf(';')
  const digits = (semicolon === -1 ? line : line.slice(0, semicolon)).trimEnd()
  const size = /^[0-9a-f]+$/i.test(digits) ? Number.parseInt(digits, 16) : Number.NaN
  if (!Number.isSafeInteger(size)) throw new BadChunk(`'${digits.slice(0, 20)}' is not the size of a chunk`)
  return size
}
