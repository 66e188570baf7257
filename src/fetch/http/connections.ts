import { type buildConnector, Client } from 'undici'
import type { Clock } from '../../clock.js'
import type { Lookup } from '../guard.js'
import { createDialler, type Dialled } from './dialler.js'
import { createH2Wire, type H2Wire } from './h2-wire.js'
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
  /** Null until TLS has negotiated the version of HTTP. */
  wire: Wire | null
  h2: H2Wire | null
  /** The socket has carried a response. */
  used: boolean
}

/** Well below the 5 s after which many servers close a connection: a request on a closing socket wastes a permit. */
const KEEP_ALIVE_MS = 4_000
const KEEP_ALIVE_MAX_MS = 30_000
/** Idle sockets over all origins: half of the 1,024 file descriptors that a process may have by default. */
const MAX_IDLE = 512
const WITH_HTTP2 = ['h2', 'http/1.1']
const WITHOUT_HTTP2 = ['http/1.1']

type Connect = (options: buildConnector.Options, callback: buildConnector.Callback) => void

export function createConnections(lookup: Lookup, clock: Clock, http2: boolean): Connections {
  const origins = createOrigins<Connection>()
  const dialler = createDialler(lookup)
  const connections = new Set<Connection>()
  const idle = new Set<Connection>()

  function open(origin: Origin<Connection>): Connection {
    const connection: Connection = { origin, wire: null, h2: null, socket: null, used: false, awaitsProxy: false }
    if (origin.name.startsWith('http:')) {
      connection.wire = http1(connection, (options, callback) => {
        connection.used = false
        dialler.plain(origin, options, callback, connection)
      })
    }
    connections.add(connection)
    origin.open++
    return connection
  }

  function http1(connection: Connection, connect: Connect): Client {
    const client = new Client(connection.origin.name, {
      connect,
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: connection.origin.terms.maxHeaderBytes,
      // The fetcher enforces deadlines, with one timer for all requests.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
    })
    client.on('disconnect', () => discardIdle(connection))
    return client
  }

  /** TLS first: only the handshake decides the version of HTTP. */
  async function openSecure(connection: Connection): Promise<Wire> {
    const { origin } = connection
    const socket = await dialler.secure(origin, http2 ? WITH_HTTP2 : WITHOUT_HTTP2, connection)
    if (socket.alpnProtocol === 'h2') {
      connection.h2 = createH2Wire(origin.name, socket, clock, () => discardIdle(connection))
      return connection.h2
    }
    let first: typeof socket | null = socket
    // The client connects again if its server closed the connection just after a response.
    return http1(connection, (_options, callback) => {
      if (first !== null) {
        const ready = first
        first = null
        // Not immediately: the client is not ready for an answer while it asks.
        queueMicrotask(() => callback(null, ready))
        return
      }
      connection.used = false
      dialler.secure(origin, WITHOUT_HTTP2, connection).then(
        (next) => callback(null, next),
        (error: Error) => callback(error, null),
      )
    })
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
    if (origin.open === 0) origin.neighbours.delete(origin.name)
    connection.socket?.destroy()
    // Not inside one of the client's own callbacks, where most failures are reported.
    queueMicrotask(() => void connection.wire?.destroy().catch(() => {}))
  }

  return {
    placeOf: origins.placeOf,

    take(origin) {
      const connection = origin.idle.pop()
      if (connection === undefined) return open(origin)
      idle.delete(connection)
      return connection
    },

    dispatch(connection, request, handler) {
      if (connection.wire !== null) {
        connection.wire.dispatch(request, handler)
        return
      }
      openSecure(connection).then(
        (wire) => {
          connection.wire = wire
          if (connections.has(connection)) wire.dispatch(request, handler)
          else void wire.destroy().catch(() => {})
        },
        (error: Error) => handler.onError(error),
      )
    },

    proxyAnswered: (connection) => dialler.proxyAnswered(connection.origin, connection),

    giveBack(connection) {
      if (connection.h2?.closing === true) {
        discard(connection)
        return
      }
      connection.used = true
      connection.origin.idle.push(connection)
      idle.add(connection)
      if (idle.size <= MAX_IDLE) return
      const [oldest] = idle
      if (oldest !== undefined) discard(oldest)
    },

    discard,

    async close() {
      const wires = [...connections].map(({ wire }) => wire)
      for (const connection of connections) discard(connection)
      await Promise.all(wires.map((wire) => wire?.destroy()))
    },
  }
}
