import net, { isIP, type LookupFunction, type Socket } from 'node:net'
import tls from 'node:tls'
import { ShoalError } from '../../errors.js'
import type { ProxyServer } from '../../proxy/proxy.js'
import { openConnectTunnel, type Target } from './connect-tunnel.js'
import { isOutOfSockets } from './failure.js'
import { openSocks5Tunnel } from './socks5.js'

export interface ProxyDial {
  readonly proxy: ProxyServer
  /** Null: no tunnel; the request line has the whole URL. */
  readonly target: Target | null
  /** Resolves the proxy's own name. The user chooses where a proxy is: the guard does not apply. */
  readonly lookup: LookupFunction
  /** Called with the socket as soon as there is one, so that an abandoned connection can be closed. */
  onSocket(socket: Socket): void
  /** From here on silence may be the target's fault as well as the proxy's. */
  onTarget(): void
}

export const proxyName = ({ host, port }: ProxyServer): string => `${host.includes(':') ? `[${host}]` : host}:${port}`

/**
 * A socket through a proxy, without TLS to the target yet. It has no deadline: the caller destroys the socket when it stops waiting. Fails with
 * `proxy_error` if the proxy itself does not work, with `connect_error` if it says that the target does not.
 */
export async function dialThroughProxy(dial: ProxyDial): Promise<Socket> {
  const { proxy, target } = dial
  let socket: Socket | null = null
  try {
    socket = await dialProxy(dial)
    if (target === null) dial.onTarget()
    else if (proxy.protocol === 'socks5') await openSocks5Tunnel(socket, proxy, target, dial.onTarget)
    else {
      dial.onTarget()
      await openConnectTunnel(socket, proxy, target)
    }
    return socket
  } catch (error) {
    socket?.destroy()
    throw asProxyFailure(error, proxy)
  }
}

function dialProxy({ proxy, lookup, onSocket }: ProxyDial): Promise<Socket> {
  const { host, port } = proxy
  const secure = proxy.protocol === 'https'
  const servername = isIP(host) === 0 ? host : ''
  const socket = secure
    ? tls.connect({ host, port, lookup, servername, ALPNProtocols: ['http/1.1'] })
    : net.connect({ host, port, lookup })
  socket.setKeepAlive(true, 60_000).setNoDelay(true)
  // Between two listeners an error must not crash the process.
  socket.on('error', () => {})
  onSocket(socket)
  return new Promise((resolve, reject) => {
    const closed = () => reject(new Error('it closed the connection'))
    socket.once('error', reject).once('close', closed)
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      socket.off('error', reject).off('close', closed)
      resolve(socket)
    })
  })
}

function asProxyFailure(error: unknown, proxy: ProxyServer): unknown {
  const said = error instanceof Error ? error : new Error(String(error))
  if (isOutOfSockets(said)) return said
  if (said instanceof ShoalError && said.code === 'connect_error') return said
  const code = said instanceof ShoalError || !('code' in said) ? said.message : String(said.code)
  return new ShoalError('proxy_error', `proxy ${proxyName(proxy)}: ${code}`, { cause: said })
}
