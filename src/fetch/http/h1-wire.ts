import type { Socket } from 'node:net'
import { ShoalError } from '../../errors.js'
import { BadChunk, ChunkedBody } from './chunked-body.js'
import { type Framing, framingOf } from './h1-framing.js'
import { endOfHead, MOST_LEADING_BYTES, readHead } from './h1-head.js'
import { asksToClose, requestText } from './h1-request.js'
import type { Wire, WireHandler, WireRequest } from './wire.js'

interface H1WireOptions {
  /** 'https://host:port' */
  readonly origin: string
  readonly maxHeaderBytes: number
  /** Ask the server to keep the connection for another request. */
  readonly keep: boolean
  /** The server sent something that nobody had asked for. */
  onUnasked(): void
  /** The idle connection was closed. */
  onGone(): void
}

const LF = 10
const CR = 13
const EMPTY = Buffer.alloc(0)
/** Some servers say so when they close an idle connection: no answer to anything. */
const REQUEST_TIMEOUT = 408

/**
 * HTTP/1.1 on a socket, one request at a time. A response belongs to a request only by its place: the connection is therefore closed as soon as the
 * server says anything unasked, or breaks the rules in any way that browsers accept.
 */
export class H1Wire implements Wire {
  private readonly socket: Socket
  private readonly options: H1WireOptions
  private handler: WireHandler | null = null
  private method = 'GET'
  private isKept = true
  private isGone = false
  /** Responses that this connection has carried. */
  private responses = 0
  private hasStarted = false
  /** A head whose end has not come yet, and up to where it was searched. */
  private head: Buffer = EMPTY
  private searched = 0
  private framing: Framing | null = null
  private missing = 0
  private chunks: ChunkedBody | null = null
  /** How long the server keeps the connection, if it says so. */
  keptForS: number | null = null

  constructor(socket: Socket, options: H1WireOptions) {
    this.socket = socket
    this.options = options
    socket.on('data', (bytes: Buffer) => this.onBytes(bytes))
    socket.on('end', () => this.onEnd(null))
    socket.on('error', (error) => this.onEnd(error))
    socket.on('close', () => this.onEnd(null))
    // A tunnel's dialog has paused it.
    socket.resume()
  }

  get isClosing(): boolean {
    return !this.isKept || this.isGone || this.socket.destroyed
  }

  private get isRequestWritten(): boolean {
    return this.socket.writableLength === 0
  }

  dispatch(request: WireRequest, handler: WireHandler): void {
    try {
      const keep = this.options.keep && !asksToClose(request.headers)
      const text = requestText(request, this.options.origin, keep)
      let isAborted = false
      handler.onConnect(() => {
        isAborted = true
        this.handler = null
        this.destroy()
      })
      if (isAborted) return
      if (this.isClosing) throw new Error('the connection was closed')
      this.handler = handler
      this.method = request.method
      this.isKept = keep
      this.socket.ref()
      this.socket.write(text, 'latin1')
      if (request.body !== null) this.socket.write(request.body)
    } catch (error) {
      handler.onError(error as Error)
    }
  }

  destroy(): void {
    this.isGone = true
    this.socket.destroy()
  }

  private onBytes(bytes: Buffer): void {
    if (this.handler === null) {
      this.saidUnasked(bytes)
      return
    }
    try {
      this.read(bytes)
    } catch (error) {
      this.fail(error instanceof BadChunk ? this.protocolError(error.message) : (error as Error))
    }
  }

  private saidUnasked(bytes: Buffer): void {
    if (this.isGone) return
    this.destroy()
    if (!isTimeoutNotice(bytes)) this.options.onUnasked()
    this.options.onGone()
  }

  private read(bytes: Buffer): void {
    let at = 0
    while (this.handler !== null && at < bytes.length) {
      at = this.framing === null ? this.readHead(bytes, at) : this.readBody(this.handler, bytes, at)
      if (this.isWhole()) {
        this.complete(bytes, at)
        return
      }
    }
  }

  /** Returns where the body begins, or the end of the bytes. */
  private readHead(bytes: Buffer, from: number): number {
    const { handler } = this
    if (handler === null) return bytes.length
    if (!this.hasStarted) {
      this.hasStarted = true
      handler.onResponseStarted()
    }
    const earlier = this.head.length
    const all =
      earlier === 0 ? (from === 0 ? bytes : bytes.subarray(from)) : Buffer.concat([this.head, bytes.subarray(from)])
    const start = leadingLineEnds(all)
    const end = endOfHead(all, Math.max(start, this.searched))
    const { maxHeaderBytes } = this.options
    if ((end === -1 ? all.length : end) > maxHeaderBytes)
      throw new ShoalError('headers_too_large', this.say('the response headers are larger than the limit'))
    if (end === -1) {
      if (!mayBecomeHttp(all, start)) throw this.protocolError('this is not HTTP')
      this.head = all
      // The empty line may be cut anywhere in its three bytes.
      this.searched = Math.max(0, all.length - 2)
      return bytes.length
    }
    this.head = EMPTY
    this.searched = 0
    this.judgeHead(handler, all.toString('latin1', start, end), start > 0)
    return from + end - earlier
  }

  private judgeHead(handler: WireHandler, text: string, isOdd: boolean): void {
    const head = readHead(text)
    if (head === null) throw this.protocolError('this is not HTTP')
    const { status, pairs } = head
    if (status === 101) throw this.protocolError('101: it switches to a protocol that nobody asked for')
    if (status < 200) {
      if (head.isOdd || isOdd) this.isKept = false
      handler.onHeaderPairs(status, [], this.isRequestWritten)
      return
    }
    const framing = framingOf(head, this.method)
    if (typeof framing === 'string') throw this.protocolError(framing)
    if (status === REQUEST_TIMEOUT && this.responses > 0)
      throw new Error('the server had given up waiting for a request')
    if (!framing.isKept || isOdd) this.isKept = false
    this.keptForS = framing.keptForS
    this.framing = framing
    this.missing = framing.bytes
    this.chunks = framing.body === 'chunked' ? new ChunkedBody((piece) => this.handler?.onData(piece)) : null
    handler.onHeaderPairs(status, pairs, this.isRequestWritten)
  }

  private readBody(handler: WireHandler, bytes: Buffer, at: number): number {
    if (this.chunks !== null) return this.chunks.take(bytes, at)
    const rest = bytes.length - at
    const taken = this.framing?.body === 'until-close' ? rest : Math.min(rest, this.missing)
    this.missing -= taken
    if (taken > 0) handler.onData(at === 0 && taken === rest ? bytes : bytes.subarray(at, at + taken))
    return at + taken
  }

  private isWhole(): boolean {
    if (this.framing === null || this.framing.body === 'until-close') return false
    return this.chunks === null ? this.missing === 0 : this.chunks.isOver
  }

  /** `at`: where in the bytes the response ended. */
  private complete(bytes: Buffer, at: number): void {
    const { handler, framing } = this
    if (handler === null || framing === null) return
    const more = at < bytes.length ? bytes.subarray(at) : null
    if (more !== null) {
      this.isKept = false
      if (isResponse(more)) this.options.onUnasked()
      const doubt = this.doubtAbout(more, framing)
      if (doubt !== null) {
        this.fail(doubt)
        return
      }
    }
    // An answer before the whole request was written is not one to it.
    if (!this.isRequestWritten) this.isKept = false
    this.responses++
    this.handler = null
    this.framing = null
    this.chunks = null
    this.hasStarted = false
    if (this.isKept) this.socket.unref()
    else this.destroy()
    handler.onComplete()
  }

  /** What came together with a response, after its end, may show that the response is not what it seems. */
  private doubtAbout(more: Buffer, framing: Framing): ShoalError | null {
    if (more.every((byte) => byte === CR || byte === LF)) return null
    // Two responses on a connection that has carried others: the first may be a late one to an earlier request, and the second ours.
    if (this.responses > 0 && isResponse(more)) return this.protocolError('two responses to one request')
    if (framing.body !== 'length' || isResponse(more)) return null
    return new ShoalError('truncated', this.say('the body is longer than its declared length'))
  }

  private onEnd(error: Error | null): void {
    if (this.isGone && this.handler === null) return
    const { handler, framing } = this
    if (handler === null) {
      this.destroy()
      this.options.onGone()
      return
    }
    if (error === null && framing?.body === 'until-close') {
      this.handler = null
      this.destroy()
      handler.onComplete()
      return
    }
    this.fail(error ?? new Error('the server closed the connection'))
  }

  private fail(error: Error): void {
    const { handler } = this
    this.handler = null
    this.destroy()
    handler?.onError(error)
  }

  private protocolError(what: string): ShoalError {
    return new ShoalError('protocol_error', this.say(what))
  }

  private say(what: string): string {
    return `${this.options.origin}: ${what}`
  }
}

/** Servers that write an empty line too many after a body are as old as HTTP. */
function leadingLineEnds(bytes: Buffer): number {
  let at = 0
  while (at < MOST_LEADING_BYTES && (bytes[at] === CR || bytes[at] === LF)) at++
  return at
}

/** So that a server which does not speak HTTP is not read up to the limit of the headers. */
function mayBecomeHttp(bytes: Buffer, start: number): boolean {
  return 'http'.startsWith(bytes.toString('latin1', start, start + 4).toLowerCase())
}

function isResponse(bytes: Buffer): boolean {
  const start = leadingLineEnds(bytes)
  return bytes.toString('latin1', start, start + 5) === 'HTTP/'
}

function isTimeoutNotice(bytes: Buffer): boolean {
  return /^HTTP\/1\.[01] 408[ \r]/.test(bytes.toString('latin1', 0, 13))
}
