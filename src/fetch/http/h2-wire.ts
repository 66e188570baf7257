import http2, { type ClientHttp2Stream, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import type { Clock } from '../../clock.js'
import { OF_THE_CONNECTION, type Wire, type WireHandler } from './wire.js'

/** Below the minute or more after which servers close an idle connection. */
const QUIET_MS = 30_000
/** So high that the exchange is the one that counts: headers over this limit would end without a proper error. */
const MAX_HEADER_LIST_BYTES = 1 << 20
const MAX_HEADER_PAIRS = 20_000
const WINDOW_BYTES = 256 * 1024
/**
 * Whether this Node can safely use HTTP/2 with untrusted servers. Below nghttp2 1.68.1 two malformed frames fail an assertion in it (CVE-2026-27135),
 * which cannot be caught: any site could crash a worker with everything it has in flight. Node 20.20 comes with 1.61.
 */
export function isHttp2Safe(nghttp2 = process.versions.nghttp2 ?? '0'): boolean {
  const [major = 0, minor = 0, patch = 0] = nghttp2.split('.').map((part) => Number.parseInt(part, 10))
  return major > 1 || (major === 1 && (minor > 68 || (minor === 68 && patch >= 1)))
}

/**
 * HTTP/2 on node:http2, one request at a time. undici's own cannot be used: it takes a stream that was reset halfway (RST_STREAM with NO_ERROR or
 * CANCEL) for a complete page, drops the response in flight when a server sends GOAWAY between two requests, resends on its own what a lost
 * connection left open, and counts neither header bytes nor 1xx responses.
 */
export function createH2Wire(origin: string, socket: TLSSocket, clock: Clock, onGone: () => void): Wire {
  const session = http2.connect(origin, {
    createConnection: () => socket,
    maxHeaderListPairs: MAX_HEADER_PAIRS,
    settings: { enablePush: false, initialWindowSize: WINDOW_BYTES, maxHeaderListSize: MAX_HEADER_LIST_BYTES },
  })
  // A kept connection does not keep the process alive.
  session.unref()
  let failure: Error | null = null
  session.on('error', (error) => {
    failure = error
  })
  session.on('close', onGone)
  session.on('goaway', () => {
    if (running === 0) onGone()
  })
  const authority = new URL(origin).host
  let running = 0
  /** Cancels the timeout of an idle connection. */
  let stay = clock.after(QUIET_MS, onGone)

  function dispatch(path: string, method: string, headers: readonly string[], body: string | null, to: WireHandler) {
    let stream: ClientHttp2Stream | null = null
    let given = false
    to.onConnect(() => {
      given = true
      stream?.close(http2.constants.NGHTTP2_CANCEL)
    })
    if (given) return
    if (session.destroyed || session.closed) throw failure ?? new Error('the connection was closed')
    stream = session.request(h2Headers(authority, path, method, headers), { endStream: body === null })
    if (body !== null) stream.end(body)
    running++
    stay()
    listen(stream, to, () => {
      running--
      if (running === 0) {
        session.unref()
        stay = clock.after(QUIET_MS, onGone)
      }
      return failure
    })
    session.ref()
  }

  return {
    // After GOAWAY the server finishes the response in flight, but accepts no further request.
    get isClosing() {
      return session.closed || session.destroyed
    },
    dispatch({ path, method, headers, body }, handler) {
      try {
        dispatch(path, method, headers, body, handler)
      } catch (error) {
        handler.onError(error as Error)
      }
    },
    destroy() {
      stay()
      session.destroy()
      socket.destroy()
    },
  }
}

function listen(stream: ClientHttp2Stream, to: WireHandler, onClosed: () => Error | null): void {
  let answered = false
  let whole = false
  let over = false
  const end = (error: Error | null) => {
    if (over) return
    over = true
    if (error === null) to.onComplete()
    else to.onError(error)
  }
  const push = stream.push
  // The stream ends in the same way whether the server ended it or reset it without an error. Only here can the two be distinguished: a reset closes
  // first.
  stream.push = (piece: unknown, ...more: []) => {
    if (piece === null && !stream.closed) whole = true
    return push.call(stream, piece, ...more)
  }
  stream.on('continue', () => to.onHeaderPairs(100, [], false))
  stream.on('headers', (headers: IncomingHttpHeaders) => to.onHeaderPairs(Number(headers[':status']), [], false))
  stream.on('response', (headers: IncomingHttpHeaders, _flags: number, ...[pairs]: unknown[]) => {
    answered = true
    to.onHeaderPairs(Number(headers[':status']), pairs as string[], stream.writableLength === 0)
  })
  stream.on('data', (piece: Buffer) => {
    if (!over) to.onData(piece)
  })
  stream.on('end', () => {
    if (answered && whole) end(null)
  })
  stream.on('error', (error) => end(error))
  stream.on('close', () => end(onClosed() ?? new Error(`the stream was reset (${stream.rstCode})`)))
}

function h2Headers(authority: string, path: string, method: string, headers: readonly string[]): OutgoingHttpHeaders {
  const all: OutgoingHttpHeaders = { ':method': method, ':scheme': 'https', ':authority': authority, ':path': path }
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? ''
    if (name === 'host') all[':authority'] = headers[i + 1]
    else if (!OF_THE_CONNECTION.has(name)) all[name] = headers[i + 1]
  }
  return all
}
