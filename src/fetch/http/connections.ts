import type { Socket } from 'node:net'
import { buildConnector, Client } from 'undici'
import { ShoalError } from '../../errors.js'
import { isAllowed, judgeUrl, type Lookup, lookupForConnect } from '../guard.js'

/**
 * Connections by origin. One client is one connection: whoever takes it has it alone, so nothing ever queues here, and the number
 * of connections is the number of requests that the frontier lets run at once.
 */
export interface Connections {
  /** The place of a URL. It is judged by the guard when it is made; afterwards finding it again is one look into a map. */
  placeOf(url: string, maxHeaderBytes: number, allowPrivate: readonly string[]): { origin: Origin; path: string }
  take(origin: Origin): Connection
  giveBack(connection: Connection): void
  /** The connection failed or must not be used again; its socket is destroyed even while it is being dialled. */
  discard(connection: Connection): void
  close(): Promise<void>
}

export interface Connection {
  readonly client: Client
  readonly origin: Origin
  /** The present socket, from the moment it is dialled. */
  socket: Socket | null
  /** The socket has carried an answer. */
  used: boolean
}

export interface Origin {
  /** 'https://host:port', as the URL standard writes it. */
  readonly name: string
  readonly guarded: boolean
  readonly maxHeaderBytes: number
  /** Free connections; the one used last is taken first, the others may grow old and close. */
  readonly idle: Connection[]
  open: number
  readonly neighbours: Map<string, Origin>
}

/** Well under the 5 s after which many servers hang up: a request on a closing socket is a wasted permit. */
const KEEP_ALIVE_MS = 4_000
const KEEP_ALIVE_MAX_MS = 30_000
/** Free sockets over all origins: half of the 1,024 file descriptors that a process may have by default. */
const MAX_IDLE = 512

export function createConnections(lookup: Lookup): Connections {
  /** Origins by the terms on which they were judged: another allow list is another world. */
  const worlds = new Map<string, Map<string, Origin>>()
  const connections = new Set<Connection>()
  const idle = new Set<Connection>()
  const dialGuarded = connector(lookup, true)
  const dialAllowed = connector(lookup, false)

  let lastAllowed: readonly string[] | null = null
  let lastHeaderBytes = 0
  let lastWorld = new Map<string, Origin>()

  function worldOf(maxHeaderBytes: number, allowPrivate: readonly string[]): Map<string, Origin> {
    if (allowPrivate === lastAllowed && maxHeaderBytes === lastHeaderBytes) return lastWorld
    const key = `${maxHeaderBytes} ${allowPrivate.join(' ')}`
    let world = worlds.get(key)
    if (world === undefined) {
      for (const [other, origins] of worlds) if (origins.size === 0) worlds.delete(other)
      world = new Map()
      worlds.set(key, world)
    }
    lastAllowed = allowPrivate
    lastHeaderBytes = maxHeaderBytes
    lastWorld = world
    return world
  }

  function addOrigin(url: URL, maxHeaderBytes: number, allowPrivate: readonly string[], world: Map<string, Origin>) {
    const refusal = judgeUrl(url, allowPrivate)
    if (refusal !== null) throw refusal
    const known = world.get(url.origin)
    if (known !== undefined) return known
    const guarded = !isAllowed(url, allowPrivate)
    const origin: Origin = { name: url.origin, guarded, maxHeaderBytes, idle: [], open: 0, neighbours: world }
    world.set(url.origin, origin)
    return origin
  }

  function dial(origin: Origin): Connection {
    const connect = origin.guarded ? dialGuarded : dialAllowed
    const client = new Client(origin.name, {
      connect: (options, callback) => {
        connection.used = false
        connection.socket = connect(options, callback)
      },
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: origin.maxHeaderBytes,
      // Deadlines are kept by the fetcher, with one timer for all requests.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
    })
    const connection: Connection = { client, origin, socket: null, used: false }
    client.on('disconnect', () => {
      if (idle.has(connection)) discard(connection)
    })
    connections.add(connection)
    origin.open++
    return connection
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
    // Not inside one of the client's own callbacks, which is where most failures are reported.
    queueMicrotask(() => connection.client.destroy(() => {}))
  }

  return {
    placeOf(url, maxHeaderBytes, allowPrivate) {
      const world = worldOf(maxHeaderBytes, allowPrivate)
      // A canonical URL has its first slash after 'https://' at the end of the origin. Anything else is not found and parsed.
      const slash = url.indexOf('/', 8)
      const known = slash === -1 ? undefined : world.get(url.slice(0, slash))
      if (known !== undefined && !url.includes('#')) return { origin: known, path: url.slice(slash) }
      const parsed = parse(url)
      const origin = addOrigin(parsed, maxHeaderBytes, allowPrivate, world)
      return { origin, path: parsed.pathname + parsed.search }
    },

    take(origin) {
      const connection = origin.idle.pop()
      if (connection === undefined) return dial(origin)
      idle.delete(connection)
      return connection
    },

    giveBack(connection) {
      connection.used = true
      connection.origin.idle.push(connection)
      idle.add(connection)
      if (idle.size <= MAX_IDLE) return
      const [oldest] = idle
      if (oldest !== undefined) discard(oldest)
    },

    discard,

    async close() {
      const clients = [...connections].map(({ client }) => client)
      for (const connection of connections) discard(connection)
      await Promise.all(clients.map((client) => client.destroy()))
    },
  }
}

type Dial = (options: buildConnector.Options, callback: buildConnector.Callback) => Socket

function connector(lookup: Lookup, guarded: boolean): Dial {
  const build = buildConnector({ lookup: lookupForConnect(lookup, guarded), timeout: 0, port: 0 })
  // undici returns the socket while it is still connecting, though its types do not say so.
  return build as Dial
}

function parse(url: string): URL {
  try {
    return new URL(url)
  } catch (cause) {
    throw new ShoalError('bad_url', 'it is not a URL', { cause })
  }
}
