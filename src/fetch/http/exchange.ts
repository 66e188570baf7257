import { ShoalError } from '../../errors.js'
import type { FetchRequest, FetchResponse, StopSignal } from '../fetcher.js'
import type { Connection, Connections } from './connections.js'
import { decodeBody } from './decode.js'
import { failureOf, type Phase } from './failure.js'
import { codingsIn } from './h1-framing.js'
import { proxyName } from './proxy-dial.js'
import type { Turns } from './turns.js'
import type { WireHandler } from './wire.js'

/** Early hints come once or twice; a stream of them is an attack. */
const MAX_INFORMATIONAL = 8
/** Smaller chunks are copied together: an object for each byte of a body would cost a hundred times the body. */
const SMALL_PIECE_BYTES = 2_048
const SCRATCH_BYTES = 16_384
/** Incompressible data grows a little when it is compressed. */
const ENCODING_SLACK_BYTES = 65_536

/** ': ' and the line end: what a header takes in HTTP/1.1 in addition to its name and value. */
const HEADER_OVERHEAD_BYTES = 4
const COLON = 58

export interface ExchangeEnd {
  resolve(response: FetchResponse): void
  reject(error: unknown): void
}

/**
 * One request on one connection, from dispatch to the decoded body. It is a class because the wire calls its methods for every request, and creating
 * closures each time would cost more than the rest of this file.
 */
export class Exchange implements WireHandler {
  private readonly request: FetchRequest
  private readonly signal: StopSignal
  private readonly connections: Connections
  private readonly connection: Connection
  private readonly end: ExchangeEnd
  private readonly time: () => number
  private readonly turns: Turns
  private readonly onSettled: (exchange: Exchange) => void
  private readonly startedAt: number
  private readonly method: string

  private phase: Phase = 'connecting'
  private settled = false
  private abort: (() => void) | null = null
  /** By the caller's own onDispatch. */
  private refused = false
  private sentAt = 0
  /** By the turns of the event loop: what the host took, not we. */
  private dispatchedAt = 0
  private arrivedAt = 0
  /** Data has arrived since the last check of the clock. */
  private stirred = false
  private quietSince = 0
  private informational = 0

  private status = 0
  private headers: Record<string, string> = {}
  private cookies: string[] = []
  /** A header that may not come with two values, and did. */
  private conflict: string | null = null
  private encoding = ''
  private wireCap: number
  private wireBytes = 0
  private pieces: Buffer[] = []
  private scratch: Buffer | null = null
  private scratchFrom = 0
  private scratchUsed = 0

  constructor(
    request: FetchRequest,
    signal: StopSignal,
    connections: Connections,
    connection: Connection,
    end: ExchangeEnd,
    time: () => number,
    turns: Turns,
    onSettled: (exchange: Exchange) => void,
  ) {
    this.request = request
    this.signal = signal
    this.connections = connections
    this.connection = connection
    this.end = end
    this.time = time
    this.turns = turns
    this.onSettled = onSettled
    this.startedAt = time()
    this.method = request.method ?? 'GET'
    this.wireCap = request.limits.maxBodyBytes
  }

  /** Called periodically by the fetcher: ends the exchange when a deadline has passed or the caller has stopped. */
  look(now: number): void {
    const failure = this.overdue(now)
    if (failure !== null) this.fail(failure)
  }

  private overdue(now: number): ShoalError | null {
    const { totalMs, connectMs, headersMs, idleMs } = this.request.limits
    if (this.signal.aborted) return givenUp(this.signal)
    if (now - this.startedAt >= totalMs) return this.timeout(`no page within ${totalMs} ms`)
    if (this.stirred) {
      this.stirred = false
      this.quietSince = now
      return null
    }
    if (this.phase === 'connecting') {
      return now - this.startedAt >= connectMs ? this.noConnection(connectMs) : null
    }
    if (this.phase === 'reading') {
      return now - this.quietSince >= idleMs ? this.timeout(`no data for ${idleMs} ms`) : null
    }
    if (now - this.sentAt < headersMs) return null
    return this.proxyFailure(`no response within ${headersMs} ms`) ?? this.timeout(`no headers within ${headersMs} ms`)
  }

  private noConnection(connectMs: number): ShoalError {
    const what = `no connection within ${connectMs} ms`
    return this.proxyFailure(what) ?? new ShoalError('connect_error', this.say(what))
  }

  /** As long as nothing came through the proxy, it is to blame; the page is not. */
  private proxyFailure(what: string): ShoalError | null {
    const { awaitsProxy, origin } = this.connection
    const { proxy } = origin.terms
    if (!awaitsProxy || proxy === undefined) return null
    return new ShoalError('proxy_error', `proxy ${proxyName(proxy)}: ${what}`)
  }

  closed(): void {
    this.fail(new ShoalError('aborted', this.say('the fetcher was closed')))
  }

  onConnect(abort: () => void): void {
    if (this.settled) {
      abort()
      return
    }
    // If this throws, the wire drops the request and keeps the connection: a permit that expired while connecting is requested again, and the
    // second time the connection is already open.
    this.refused = true
    this.request.onDispatch?.()
    this.refused = false
    this.abort = abort
    this.phase = 'waiting'
    this.sentAt = this.time()
    this.dispatchedAt = this.turns.dispatched()
  }

  onResponseStarted(): void {
    this.phase = 'answering'
  }

  onHeaderPairs(status: number, pairs: readonly string[], isRequestWritten: boolean): void {
    if (this.settled || !this.isFinal(status)) return
    let bytes = 0
    for (let i = 0; i + 1 < pairs.length; i += 2) {
      const name = pairs[i] ?? ''
      const value = pairs[i + 1] ?? ''
      bytes += name.length + value.length + HEADER_OVERHEAD_BYTES
      if (name.charCodeAt(0) !== COLON) this.readHeader(name, value)
    }
    if (bytes > this.request.limits.maxHeaderBytes) {
      this.fail(new ShoalError('headers_too_large', this.say('the response headers are larger than the limit')))
      return
    }
    this.request.onHead?.({ status, headers: this.headers, isRequestWritten })
    this.judgeHeaders()
  }

  private isFinal(status: number): boolean {
    if (status < 200) {
      if (++this.informational > MAX_INFORMATIONAL) {
        this.fail(new ShoalError('protocol_error', this.say('too many 1xx responses')))
      }
      return false
    }
    this.phase = 'reading'
    this.stirred = true
    this.status = status
    this.headers = new HeaderBag()
    return true
  }

  private readHeader(name: string, value: string): void {
    if (name === 'set-cookie') {
      this.cookies.push(value)
      return
    }
    const earlier = this.headers[name]
    if (earlier === undefined) this.headers[name] = value
    else if (!SINGLE.has(name)) this.headers[name] = `${earlier}, ${value}`
    else if (earlier !== value) this.conflict = name
  }

  private judgeHeaders(): void {
    if (this.connection.awaitsProxy) this.connections.proxyAnswered(this.connection)
    const { prefix, terms } = this.connection.origin
    if (this.status === 407 && prefix !== '' && terms.proxy !== undefined) {
      this.fail(new ShoalError('proxy_error', `proxy ${proxyName(terms.proxy)}: it refused the login (407)`))
      return
    }
    if (this.conflict !== null) {
      this.fail(new ShoalError('protocol_error', this.say(`two different ${this.conflict} headers`)))
      return
    }
    if (this.headers.location !== undefined) this.headers.location = asciiOnly(this.headers.location)
    this.encoding = encodingsOf(this.headers)
    if (this.encoding !== '') this.wireCap += ENCODING_SLACK_BYTES
    const length = this.headers['content-length']
    if (length !== undefined && Number(length) > this.wireCap && this.method !== 'HEAD' && this.status !== 304) {
      this.fail(new ShoalError('too_large', this.say(`the body is declared to have ${length.slice(0, 20)} bytes`)))
    }
  }

  onData(piece: Buffer): void {
    this.stirred = true
    this.wireBytes += piece.length
    if (this.wireBytes > this.wireCap) {
      this.fail(
        new ShoalError('too_large', this.say(`the body is larger than ${this.request.limits.maxBodyBytes} bytes`)),
      )
      return
    }
    if (this.request.onBody !== undefined) {
      this.request.onBody(piece)
      return
    }
    if (piece.length >= SMALL_PIECE_BYTES || this.pieces.length === 0) {
      this.flushScratch()
      this.pieces.push(piece)
    } else {
      this.copySmall(piece)
    }
  }

  private copySmall(piece: Buffer): void {
    if (this.scratch === null || this.scratchUsed + piece.length > SCRATCH_BYTES) {
      this.flushScratch()
      this.scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES)
      this.scratchFrom = 0
      this.scratchUsed = 0
    }
    piece.copy(this.scratch, this.scratchUsed)
    this.scratchUsed += piece.length
  }

  private flushScratch(): void {
    if (this.scratch === null || this.scratchUsed === this.scratchFrom) return
    this.pieces.push(this.scratch.subarray(this.scratchFrom, this.scratchUsed))
    this.scratchFrom = this.scratchUsed
  }

  onComplete(): void {
    if (this.settled) return
    this.arrivedAt = this.turns.arrived()
    this.abort = null
    this.connections.giveBack(this.connection)
    try {
      const body = this.body()
      const decoded = this.encoding === '' ? body : decodeBody(body, this.encoding, this.request.limits.maxBodyBytes)
      if (decoded instanceof Promise) decoded.then(this.succeed.bind(this), this.settle.bind(this))
      else this.succeed(decoded)
    } catch (error) {
      this.settle(error)
    }
  }

  private body(): Buffer {
    this.flushScratch()
    const [first] = this.pieces
    if (first === undefined) return EMPTY
    return this.pieces.length === 1 ? first : Buffer.concat(this.pieces, this.wireBytes)
  }

  onError(error: Error): void {
    if (this.settled) return
    const { origin, used: reused } = this.connection
    if (this.refused) {
      this.settle(error)
      this.connections.giveBack(this.connection)
      return
    }
    const failure = failureOf(error, { phase: this.phase, origin: origin.name, method: this.method, reused })
    // For plain requests, a proxy responds with 502 for a site that closes the connection; but some working proxies merely close it as well.
    const hungUp = failure.code === 'connect_error' && origin.prefix !== '' && !reused
    this.fail((hungUp ? this.proxyFailure('it closed the connection before a response') : null) ?? failure)
  }

  private succeed(body: Uint8Array): void {
    if (this.settled) return
    this.settled = true
    this.onSettled(this)
    this.end.resolve({
      url: this.request.url,
      status: this.status,
      headers: this.headers,
      cookies: this.cookies,
      body,
      wireBytes: this.wireBytes,
      ms: Math.max(0, this.arrivedAt - this.dispatchedAt),
    })
  }

  /** Ends the exchange with an error; it no longer owns the connection. */
  private settle(error: unknown): void {
    if (this.settled) return
    this.settled = true
    this.pieces = []
    this.onSettled(this)
    this.end.reject(error)
  }

  private fail(error: ShoalError): void {
    if (this.settled) return
    // While the body is being decoded, the connection already serves another request.
    const holdsConnection = this.abort !== null || this.phase === 'connecting'
    this.settle(error)
    if (!holdsConnection) return
    this.abort?.()
    this.connections.discard(this.connection)
  }

  private timeout(what: string): ShoalError {
    return new ShoalError('timeout', this.say(what))
  }

  private say(what: string): string {
    return `${this.connection.origin.name}: ${what}`
  }
}

const EMPTY = Buffer.alloc(0)

/** Objects that inherit nothing, so that a header named 'constructor' is just a header; Object.create(null) is a third slower. */
const HeaderBag = (() => {
  function Bag() {}
  Bag.prototype = Object.create(null)
  return Bag as unknown as new () => Record<string, string>
})()

/** Two different values of these are an attack or a fault, and every browser refuses the response; the same value twice is harmless. */
const SINGLE: ReadonlySet<string> = new Set(['location', 'content-length', 'content-disposition'])

/** What must be removed from the body, in the order in which it was applied: a transfer encoding comes after all content encodings. */
function encodingsOf(headers: Readonly<Record<string, string>>): string {
  const content = headers['content-encoding'] ?? ''
  const transfer = headers['transfer-encoding']
  if (transfer === undefined || transfer === 'chunked') return content
  const codings = codingsIn(transfer).filter((coding) => coding !== 'chunked' && coding !== 'identity')
  return [content, ...codings].filter((coding) => coding !== '').join(', ')
}

/** Bytes that are not ASCII are escaped one by one, as in browsers: UTF-8 stays UTF-8, and anything else reaches the server as it was sent. */
function asciiOnly(location: string): string {
  return location.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`)
}

export function givenUp(signal: StopSignal): ShoalError {
  const { reason } = signal
  return reason instanceof ShoalError ? reason : new ShoalError('aborted', 'the fetch was aborted', { cause: reason })
}
