import type { Socket } from 'node:net'
import { buildConnector, Client } from 'undici'
import { ShoalError } from '../../errors.js'
import type { ProxyServer } from '../../proxy/exit.js'
import { isAllowed, judgeUrl, type Lookup, lookupForConnect } from '../guard.js'
import { basicLogin } from './connect-tunnel.js'
import { dialThroughProxy, proxyName } from './proxy-dial.js'

/**
 * Connections by origin and proxy. One client is one connection: whoever takes it has it alone, so nothing ever queues here, and the number
 * of connections is the number of requests that the frontier lets run at once.
 */
export interface Connections {
  /** The place of a URL. It is judged by the guard when it is made; afterwards finding it again is one look into a map. */
  placeOf(url: string, terms: Terms): { origin: Origin; path: string }
  take(origin: Origin): Connection
  giveBack(connection: Connection): void
  /** The connection failed or must not be used again; its socket is destroyed even while it is being dialled. */
  discard(connection: Connection): void
  close(): Promise<void>
}

/** What else, beside the origin, must be the same for a connection to be used again. */
export interface Terms {
  readonly maxHeaderBytes: number
  readonly allowPrivate: readonly string[]
  readonly proxy: ProxyServer | undefined
}

export interface Connection {
  readonly client: Client
  readonly origin: Origin
  /** The present socket, from the moment it is dialled. */
  socket: Socket | null
  /** The socket has carried an answer. */
  used: boolean
  /** Nothing but the proxy can be to blame for what the dial waits for. */
  awaitsProxy: boolean
}

export interface Origin {
  /** 'https://host:port', as the URL standard writes it. */
  readonly name: string
  readonly guarded: boolean
  readonly terms: Terms
  /** Put before the path: a proxy that is spoken to itself wants the whole URL. Built from the origin, so it never holds a user name. */
  readonly prefix: string
  /** For the proxy that is spoken to itself. */
  readonly proxyHeaders: readonly string[]
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

  /** Proxies (host:port) that have opened a tunnel: when one of them is silent about a target, it is the target that does not answer. */
  const proven = new Set<string>()
  const lookupProxy = lookupForConnect(lookup, false)
  // Without sessions to resume: they would tell a site that two exits belong together.
  const secureTunnel = buildConnector({ timeout: 0, port: 0, maxCachedSessions: 0 }) as Dial

  let lastTerms: Terms | null = null
  let lastWorld = new Map<string, Origin>()

  function worldOf(terms: Terms): Map<string, Origin> {
    if (lastTerms !== null && areSame(terms, lastTerms)) return lastWorld
    const { maxHeaderBytes, allowPrivate, proxy } = terms
    const key = JSON.stringify([maxHeaderBytes, allowPrivate, proxy === undefined ? null : keyOf(proxy)])
    let world = worlds.get(key)
    if (world === undefined) {
      for (const [other, origins] of worlds) if (origins.size === 0) worlds.delete(other)
      world = new Map()
      worlds.set(key, world)
    }
    lastTerms = terms
    lastWorld = world
    return world
  }

  function addOrigin(url: URL, terms: Terms, world: Map<string, Origin>) {
    const { allowPrivate, proxy } = terms
    const refusal = judgeUrl(url, allowPrivate)
    if (refusal !== null) throw refusal
    const known = world.get(url.origin)
    if (known !== undefined) return known
    const name = url.origin
    const guarded = !isAllowed(url, allowPrivate)
    const whole = proxy !== undefined && proxy.protocol !== 'socks5' && url.protocol === 'http:'
    const login = whole ? basicLogin(proxy) : null
    const proxyHeaders = login === null ? [] : ['proxy-authorization', login]
    const prefix = whole ? name : ''
    const origin: Origin = { name, guarded, terms, prefix, proxyHeaders, idle: [], open: 0, neighbours: world }
    world.set(name, origin)
    return origin
  }

  async function dialProxy(connection: Connection, proxy: ProxyServer, to: buildConnector.Options): Promise<Socket> {
    const name = proxyName(proxy)
    const { prefix } = connection.origin
    connection.awaitsProxy = true
    const socket = await dialThroughProxy({
      proxy,
      target:
        prefix === '' ? { host: to.hostname, port: Number(to.port) || (to.protocol === 'https:' ? 443 : 80) } : null,
      lookup: lookupProxy,
      onSocket: (raw) => {
        connection.socket = raw
      },
      onTarget: () => {
        if (proven.has(name)) connection.awaitsProxy = false
      },
    })
    proven.add(name)
    connection.awaitsProxy = false
    return socket
  }

  function connect(connection: Connection, options: buildConnector.Options, callback: buildConnector.Callback): void {
    connection.used = false
    const { guarded, terms } = connection.origin
    if (terms.proxy === undefined) {
      connection.socket = (guarded ? dialGuarded : dialAllowed)(options, callback)
      return
    }
    dialProxy(connection, terms.proxy, options).then(
      (socket) => {
        if (options.protocol === 'https:')
          connection.socket = secureTunnel({ ...options, httpSocket: socket }, callback)
        else callback(null, socket)
      },
      (error: Error) => callback(error, null),
    )
  }

  function dial(origin: Origin): Connection {
    const client = new Client(origin.name, {
      connect: (options, callback) => connect(connection, options, callback),
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: origin.terms.maxHeaderBytes,
      // Deadlines are kept by the fetcher, with one timer for all requests.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
    })
    const connection: Connection = { client, origin, socket: null, used: false, awaitsProxy: false }
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
    placeOf(url, terms) {
      const world = worldOf(terms)
      // A canonical URL has its first slash after 'https://' at the end of the origin. Anything else is not found and parsed.
      const slash = url.indexOf('/', 8)
      const known = slash === -1 ? undefined : world.get(url.slice(0, slash))
      if (known !== undefined && !url.includes('#')) return { origin: known, path: known.prefix + url.slice(slash) }
      const parsed = parse(url)
      const origin = addOrigin(parsed, terms, world)
      return { origin, path: origin.prefix + parsed.pathname + parsed.search }
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

/** Cheap, because it is asked for every request: a spider and a pool hand out the same objects again and again. */
function areSame(one: Terms, other: Terms): boolean {
  return (
    one.allowPrivate === other.allowPrivate && one.maxHeaderBytes === other.maxHeaderBytes && one.proxy === other.proxy
  )
}

function keyOf({ protocol, host, port, username, password }: ProxyServer): readonly unknown[] {
  return [protocol, host, port, username, password]
}

function parse(url: string): URL {
  try {
    return new URL(url)
  } catch (cause) {
    throw new ShoalError('bad_url', 'it is not a URL', { cause })
  }
}
