import { randomBytes } from 'node:crypto'
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../clock.js'
import { ShoalError } from '../../errors.js'
import { parseUrl } from '../../url/parse-url.js'
import { isAllowed, judgeUrl, type Lookup, lookupForConnect } from '../guard.js'
import { basicLogin } from '../http/connect-tunnel.js'
import { dialThroughProxy } from '../http/proxy-dial.js'
import type { Traffic } from './traffic.js'

/**
 * The browser's only connection to the network: a proxy on loopback that connects to nothing the guard forbids. Each context of the browser has its
 * own login, which identifies and counts its traffic, and without which no other program on this machine gets through.
 */
export interface GuardProxy {
  readonly address: string
  /** A login for one context; it is refused while it serves no page. */
  openWay(): Way
  close(): Promise<void>
}

export interface Way {
  readonly username: string
  readonly password: string
  /** Whose traffic comes from now on; null: nobody's, and all of it is refused. */
  serve(traffic: Traffic | null): void
  close(): void
}

interface OpenWay extends Way {
  traffic: Traffic | null
  readonly sockets: Set<Duplex>
}

/** Marks responses of the proxy itself: the page never came. */
export const REFUSED_HEADER = 'x-shoal-refused'

/** Only between two adjacent hops (RFC 9110, 7.6.1), or about the proxy. */
export const HOP_BY_HOP = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade'],
])

export async function startGuardProxy(lookup: Lookup, clock: Clock): Promise<GuardProxy> {
  const ways = new Map<string, OpenWay>()
  const server = createServer({ keepAliveTimeout: 60_000 })
  server.on('request', (request, response) => void forward(request, response))
  server.on('connect', (request, socket, head) => void tunnel(request, socket, head))
  server.on('clientError', (_error, socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve)
  })

  function wayOf({ headers }: IncomingMessage): OpenWay | null {
    const login = /^Basic (\S+)$/i.exec(headers['proxy-authorization'] ?? '')?.[1]
    return login === undefined ? null : (ways.get(login) ?? null)
  }

  /** A socket to where `url` points, through the visit's own proxy if it has one. */
  async function dial(url: URL, traffic: Traffic, way: OpenWay, plain: boolean): Promise<Socket> {
    const refusal = judgeUrl(url, traffic.allowPrivate)
    if (refusal !== null) throw refusal
    const host = url.hostname.replace(/^\[|\]$/g, '')
    const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
    let cancel = () => {}
    const onSocket = (socket: Socket) => {
      keep(way, socket)
      cancel = clock.after(traffic.limits.connectMs, () => {
        socket.destroy(
          new ShoalError('connect_error', `${url.host}: no connection within ${traffic.limits.connectMs} ms`),
        )
      })
    }
    try {
      if (traffic.proxy !== undefined) {
        const { proxy } = traffic
        const target = plain && proxy.protocol !== 'socks5' ? null : { host, port }
        return await dialThroughProxy({
          proxy,
          target,
          lookup: lookupForConnect(lookup, false),
          onSocket,
          onTarget: () => {},
        })
      }
      const guarded = !isAllowed(url, traffic.allowPrivate)
      const socket = connect({ host, port, lookup: lookupForConnect(lookup, guarded) })
      socket.setNoDelay(true)
      onSocket(socket)
      await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
      return socket
    } finally {
      cancel()
    }
  }

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const way = wayOf(request)
    if (way === null) return void response.writeHead(407, CHALLENGE).end()
    keep(way, request.socket)
    const { traffic } = way
    const url = parseUrl(request.url ?? '')
    const ahead = request.headers['sec-purpose'] !== undefined
    if (traffic === null || url === null || ahead || !traffic.admit())
      return void response.writeHead(403, { [REFUSED_HEADER]: '1' }).end()
    const refuse = (error: unknown) => {
      traffic.failed(url, dialFailure(url, error))
      if (response.headersSent) response.destroy()
      else response.writeHead(502, { [REFUSED_HEADER]: '1' }).end()
    }
    try {
      const socket = await dial(url, traffic, way, true)
      socket.on('data', (piece: Buffer) => traffic.count(piece.length))
      const { proxy } = traffic
      const absolute = proxy !== undefined && proxy.protocol !== 'socks5'
      const login = absolute ? basicLogin(proxy) : null
      const onward = httpRequest({
        method: request.method ?? 'GET',
        path: absolute ? url.href : url.pathname + url.search,
        headers: {
          ...withoutHops(request.headers),
          host: url.host,
          connection: 'close',
          ...(login === null ? {} : { 'proxy-authorization': login }),
        },
        maxHeaderSize: traffic.limits.maxHeaderBytes,
        createConnection: () => socket,
      })
      onward.once('response', (answer) => {
        // The browser would take it for a challenge of ours and answer it again and again.
        if (answer.statusCode === 407) {
          const code = absolute ? 'proxy_error' : 'http_error'
          refuse(new ShoalError(code, `${url.host} answered 407`))
          return answer.destroy()
        }
        response.writeHead(answer.statusCode ?? 502, withoutHops(answer.headers))
        answer.on('error', () => response.destroy()).pipe(response)
      })
      onward.once('error', refuse)
      response.once('close', () => onward.destroy())
      request.on('error', () => onward.destroy()).pipe(onward)
    } catch (error) {
      refuse(error)
    }
  }

  async function tunnel(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    client.on('error', () => client.destroy())
    const way = wayOf(request)
    if (way === null) {
      client.end(
        'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="shoal"\r\nContent-Length: 0\r\n\r\n',
      )
      return
    }
    keep(way, client)
    const { traffic } = way
    const url = parseUrl(`https://${request.url ?? ''}`)
    if (traffic === null || url === null || !traffic.admit())
      return void client.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n')
    try {
      const target = await dial(url, traffic, way, false)
      target.on('error', () => client.destroy())
      client.on('close', () => target.destroy())
      target.on('close', () => client.destroy())
      target.on('data', (piece: Buffer) => (way.traffic ?? traffic).count(piece.length))
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      if (head.length > 0) target.write(head)
      target.pipe(client).pipe(target)
    } catch (error) {
      traffic.failed(url, dialFailure(url, error))
      client.end('HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n')
    }
  }

  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,

    openWay() {
      const username = randomBytes(8).toString('hex')
      const password = randomBytes(24).toString('hex')
      const login = Buffer.from(`${username}:${password}`).toString('base64')
      const way: OpenWay = {
        username,
        password,
        traffic: null,
        sockets: new Set(),
        serve(traffic) {
          way.traffic = traffic
          if (traffic !== null) traffic.cut = () => cut(way)
        },
        close() {
          ways.delete(login)
          cut(way)
        },
      }
      ways.set(login, way)
      return way
    },

    async close() {
      for (const way of ways.values()) cut(way)
      ways.clear()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const CHALLENGE = { 'proxy-authenticate': 'Basic realm="shoal"', 'content-length': '0' }

function keep(way: OpenWay, socket: Duplex): void {
  if (way.sockets.has(socket)) return
  way.sockets.add(socket)
  socket.once('close', () => way.sockets.delete(socket))
}

function cut(way: OpenWay): void {
  for (const socket of way.sockets) socket.destroy()
}

function withoutHops<Value>(headers: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name)))
}

/** What Node reports about a connection attempt, or about a response that is not HTTP, as one of our codes. */
function dialFailure(url: URL, error: unknown): ShoalError {
  if (error instanceof ShoalError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const say = `${url.host}: ${code || String(error)}`
  if (code === 'HPE_HEADER_OVERFLOW') return new ShoalError('headers_too_large', say, { cause: error })
  if (code.startsWith('HPE_')) return new ShoalError('protocol_error', say)
  if (code === 'EMFILE' || code === 'ENFILE' || code === 'EADDRNOTAVAIL')
    return new ShoalError('no_sockets', say, { cause: error })
  return new ShoalError('connect_error', say, { cause: error })
}
