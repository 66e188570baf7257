import type { Socket } from 'node:net'
import type { Clock } from '../../clock.js'
import type { EventLoop } from '../../event-loop.js'
import type { Lookup } from '../guard.js'
import { createDialler, type Dialled } from './dialler.js'
import { H1Wire } from './h1-wire.js'
import { createH2Wire } from './h2-wire.js'
import { createOrigins, type Origin, type Origins } from './origins.js'
import type { Wire, WireHandler, WireRequest } from './wire.js'

/**
 * Connections by origin and proxy. A connection has one user at a time, so nothing is ever queued here, and the number of connections is the number
 * of requests that the frontier allows at once. This applies to HTTP/2 too: its streams could share a socket between pages, but every page has its
 * own permit and deadlines, and ends by destroying the socket if they are exceeded.
 */
export interface Connections extends Origins<Connection> {
  take(origin: Origin<Connection>): Connection
  /** Connects first if there is no connection yet. */
  dispatch(connection: Connection, request: WireRequest, handler: WireHandler): void
  /** Bytes came through the proxy of this connection. */
  proxyAnswered(connection: Connection): void
  giveBack(connection: Connection): void
  /** The connection failed or must not be reused; its socket is destroyed even while it is connecting. */
  discard(connection: Connection): void
  close(): Promise<void>
}

export interface Connection extends Dialled {
  readonly origin: Origin<Connection>
  /** Null until it is open; with TLS only the handshake decides the version of HTTP. */
  wire: Wire | null
  /** It has carried a response. */
  used: boolean
  /** While it is idle: when it is closed. */
  idleUntil: number
}

/** Well below the 5 s after which many servers close a connection: a request on a closing socket wastes a permit. */
const KEEP_ALIVE_MS = 4_000
const KEEP_ALIVE_MAX_MS = 30_000
/** A server that says how long it keeps a connection is believed, less what a request takes to reach it. */
const KEEP_ALIVE_MARGIN_MS = 2_000
/** How often idle connections are checked: one timer for all of them. */
const SWEEP_MS = 500
/** Idle sockets over all origins: half of the 1,024 file descriptors that a process may have by default. */
const MAX_IDLE = 512
const WITH_HTTP2 = ['h2', 'http/1.1']
const WITHOUT_HTTP2 = ['http/1.1']

export function createConnections(lookup: Lookup, clock: Clock, loop: EventLoop, http2: boolean): Connections {
  const origins = createOrigins<Connection>()
  const dialler = createDialler(lookup)
  const connections = new Set<Connection>()
  const idle = new Set<Connection>()
  let stopSweep: (() => void) | null = null

  function create(origin: Origin<Connection>): Connection {
    const connection: Connection = { origin, wire: null, socket: null, used: false, awaitsProxy: false, idleUntil: 0 }
    connections.add(connection)
    origin.open++
    return connection
  }

  async function open(connection: Connection): Promise<Wire> {
    const { origin } = connection
    connection.used = false
    if (origin.name.startsWith('http:')) return http1(connection, await dialler.plain(origin, connection))
    const socket = await dialler.secure(origin, http2 ? WITH_HTTP2 : WITHOUT_HTTP2, connection)
    if (socket.alpnProtocol !== 'h2') return http1(connection, socket)
    return createH2Wire(origin.name, socket, clock, () => discardIdle(connection))
  }

  function http1(connection: Connection, socket: Socket): H1Wire {
    const { origin } = connection
    return new H1Wire(socket, {
      origin: origin.name,
      maxHeaderBytes: origin.terms.maxHeaderBytes,
      keep: !origin.speaksUnasked,
      onUnasked: () => distrust(origin),
      onGone: () => discardIdle(connection),
    })
  }

  /** What came unasked may have a twin that comes at the wrong moment: from now on every request to this origin has a connection of its own. */
  function distrust(origin: Origin<Connection>): void {
    origin.speaksUnasked = true
    for (const connection of [...origin.idle]) discard(connection)
  }

  function discardIdle(connection: Connection): void {
    if (idle.has(connection)) discard(connection)
  }

  function leaveIdle(connection: Connection): void {
    if (!idle.delete(connection)) return
    const among = connection.origin.idle
    among.splice(among.indexOf(connection), 1)
  }

  function discard(connection: Connection): void {
    leaveIdle(connection)
    if (!connections.delete(connection)) return
    const { origin } = connection
    origin.open--
    if (origin.open === 0 && !origin.speaksUnasked) origin.neighbours.delete(origin.name)
    connection.socket?.destroy()
    connection.wire?.destroy()
  }

  /** Also for the process: its end does not wait for this timer, nor for idle sockets. */
  function sweepLater(): void {
    stopSweep ??= clock.after(SWEEP_MS, () => {
      stopSweep = null
      const now = clock.mono()
      for (const connection of idle) if (now >= connection.idleUntil) discard(connection)
      if (idle.size > 0) sweepLater()
    })
  }

  function keptMs(connection: Connection): number {
    const said = connection.wire instanceof H1Wire ? connection.wire.keptForS : null
    if (said === null) return connection.wire instanceof H1Wire ? KEEP_ALIVE_MS : Number.POSITIVE_INFINITY
    return Math.min(said * 1_000 - KEEP_ALIVE_MARGIN_MS, KEEP_ALIVE_MAX_MS)
  }

  async function reopen(connection: Connection, request: WireRequest, handler: WireHandler): Promise<void> {
    try {
      const wire = await open(connection)
      connection.wire = wire
      if (connections.has(connection)) wire.dispatch(request, handler)
      else wire.destroy()
    } catch (error) {
      handler.onError(error as Error)
    }
  }

  return {
    placeOf: origins.placeOf,

    take(origin) {
      const now = clock.mono()
      for (let kept = origin.idle.pop(); kept !== undefined; kept = origin.idle.pop()) {
        idle.delete(kept)
        if (now < kept.idleUntil) return kept
        discard(kept)
      }
      return create(origin)
    },

    dispatch(connection, request, handler) {
      const { wire } = connection
      if (wire === null) void reopen(connection, request, handler)
      else if (!(wire instanceof H1Wire) || !connection.used) wire.dispatch(request, handler)
      else {
        // What the server has said since the last response may still be unread: our own code kept the event loop busy. After two turns the loop has
        // looked once more, and a connection on which something came unasked is closed before the request is written.
        loop.afterTurn(() =>
          loop.afterTurn(() => {
            if (!connections.has(connection)) return
            if (wire.isClosing) void reopen(connection, request, handler)
            else wire.dispatch(request, handler)
          }),
        )
      }
    },

    proxyAnswered: (connection) => dialler.proxyAnswered(connection.origin, connection),

    giveBack(connection) {
      const { origin, wire } = connection
      const keptForMs = keptMs(connection)
      if (wire === null || wire.isClosing || origin.speaksUnasked || keptForMs <= 0) {
        discard(connection)
        return
      }
      connection.used = true
      connection.idleUntil = clock.mono() + keptForMs
      origin.idle.push(connection)
      idle.add(connection)
      sweepLater()
      if (idle.size <= MAX_IDLE) return
      const [oldest] = idle
      if (oldest !== undefined) discard(oldest)
    },

    discard,

    async close() {
      stopSweep?.()
      for (const connection of [...connections]) discard(connection)
    },
  }
}
