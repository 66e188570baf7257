import { isIP, type LookupFunction, type Socket } from 'node:net'
import tls, { type TLSSocket } from 'node:tls'
import { buildConnector } from 'undici'
import { type Lookup, lookupForConnect } from '../guard.js'
import type { Target } from './connect-tunnel.js'
import type { Origin } from './origins.js'
import { dialThroughProxy, proxyName } from './proxy-dial.js'

/** The state of a connection attempt, for whoever may have to end it. */
export interface Dialled {
  /** The current socket, from the moment it starts to connect. */
  socket: Socket | null
  /** Nothing is known yet except the proxy to blame for silence or a closed connection. */
  awaitsProxy: boolean
}

/**
 * How sockets are opened: directly or through the proxy of the origin, with TLS or without. Without a proxy every connection passes the guard. None
 * has a deadline: the caller destroys the socket when it stops waiting.
 */
export interface Dialler {
  plain(
    origin: Origin<unknown>,
    options: buildConnector.Options,
    callback: buildConnector.Callback,
    dialled: Dialled,
  ): void
  secure(origin: Origin<unknown>, protocols: readonly string[], dialled: Dialled): Promise<TLSSocket>
  /** The proxy of the origin has responded: what fails through it from now on may be the target's fault. */
  proxyAnswered(origin: Origin<unknown>, dialled: Dialled): void
}

export function createDialler(lookup: Lookup): Dialler {
  const guarded = lookupForConnect(lookup, true)
  const unguarded = lookupForConnect(lookup, false)
  const plainGuarded = connector(guarded)
  const plainAllowed = connector(unguarded)
  /** Proxies (host:port) that have responded: if one of them is silent about a target, the target is not responding. */
  const proven = new Set<string>()

  async function throughProxy(origin: Origin<unknown>, target: Target, dialled: Dialled): Promise<Socket | null> {
    const { proxy } = origin.terms
    if (proxy === undefined) return null
    const name = proxyName(proxy)
    dialled.awaitsProxy = true
    const socket = await dialThroughProxy({
      proxy,
      target: origin.prefix === '' ? target : null,
      lookup: unguarded,
      onSocket: (raw) => {
        dialled.socket = raw
      },
      onTarget: () => {
        if (proven.has(name)) dialled.awaitsProxy = false
      },
    })
    if (origin.prefix === '') proxyAnswered(origin, dialled)
    return socket
  }

  function proxyAnswered(origin: Origin<unknown>, dialled: Dialled): void {
    dialled.awaitsProxy = false
    if (origin.terms.proxy !== undefined) proven.add(proxyName(origin.terms.proxy))
  }

  return {
    plain(origin, options, callback, dialled) {
      if (origin.terms.proxy === undefined) {
        dialled.socket = (origin.guarded ? plainGuarded : plainAllowed)(options, callback)
        return
      }
      throughProxy(origin, { host: options.hostname, port: Number(options.port) || 80 }, dialled).then(
        (socket) => (socket === null ? undefined : callback(null, socket)),
        (error: Error) => callback(error, null),
      )
    },

    async secure(origin, protocols, dialled) {
      const { hostname, port } = new URL(origin.name)
      const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
      const target = { host, port: Number(port) || 443 }
      const tunnel = await throughProxy(origin, target, dialled)
      const socket = tls.connect({
        ...target,
        servername: isIP(host) === 0 ? host : '',
        ALPNProtocols: [...protocols],
        ...(tunnel === null ? { lookup: origin.guarded ? guarded : unguarded } : { socket: tunnel }),
        ...(origin.tlsSession === null ? {} : { session: origin.tlsSession }),
      })
      dialled.socket = socket
      socket.on('session', (session) => {
        origin.tlsSession = session
      })
      return secured(socket)
    },

    proxyAnswered,
  }
}

function secured(socket: TLSSocket): Promise<TLSSocket> {
  socket.setKeepAlive(true, 60_000).setNoDelay(true)
  return new Promise((resolve, reject) => {
    socket.on('error', reject)
    socket.once('close', () => reject(Object.assign(new Error('closed during the handshake'), { code: 'ECONNRESET' })))
    socket.once('secureConnect', () => resolve(socket))
  })
}

function connector(lookup: LookupFunction) {
  // undici returns the socket while it is still connecting, though its types do not say so.
  return buildConnector({ lookup, timeout: 0, port: 0 }) as (
    options: buildConnector.Options,
    callback: buildConnector.Callback,
  ) => Socket
}
