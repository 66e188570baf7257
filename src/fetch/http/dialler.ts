import net, { isIP, type Socket } from 'node:net'
import tls, { type TLSSocket } from 'node:tls'
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
  plain(origin: Origin<unknown>, dialled: Dialled): Promise<Socket>
  secure(origin: Origin<unknown>, protocols: readonly string[], dialled: Dialled): Promise<TLSSocket>
  /** The proxy of the origin has responded: what fails through it from now on may be the target's fault. */
  proxyAnswered(origin: Origin<unknown>, dialled: Dialled): void
}

export function createDialler(lookup: Lookup): Dialler {
  const guarded = lookupForConnect(lookup, true)
  const unguarded = lookupForConnect(lookup, false)
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
    async plain(origin, dialled) {
      const target = targetOf(origin, 80)
      const tunnel = await throughProxy(origin, target, dialled)
      if (tunnel !== null) return tunnel
      const socket = net.connect({ ...target, lookup: origin.guarded ? guarded : unguarded })
      dialled.socket = socket
      return opened(socket, 'connect')
    },

    async secure(origin, protocols, dialled) {
      const target = targetOf(origin, 443)
      const { host } = target
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
      return opened(socket, 'secureConnect')
    },

    proxyAnswered,
  }
}

function targetOf(origin: Origin<unknown>, defaultPort: number): Target {
  const { hostname, port } = new URL(origin.name)
  return { host: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname, port: Number(port) || defaultPort }
}

function opened<Opened extends Socket>(socket: Opened, event: 'connect' | 'secureConnect'): Promise<Opened> {
  socket.setKeepAlive(true, 60_000).setNoDelay(true)
  return new Promise((resolve, reject) => {
    socket.on('error', reject)
    socket.once('close', () => reject(Object.assign(new Error('closed while connecting'), { code: 'ECONNRESET' })))
    socket.once(event, () => resolve(socket))
  })
}
