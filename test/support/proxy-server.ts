import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** What a proxy does with whoever comes. `dead`: no longer listens. `resets`: takes a connection and cuts it. `silent`: takes it and never answers. */
type ProxyMode = 'fine' | 'dead' | 'resets' | 'silent' | 'refuses-login'

export interface ProxyOptions {
  readonly kind?: 'http' | 'socks5'
  /** The address it dials from: sites see this one. Any of 127.0.0.0/8. Default 127.0.0.1. */
  readonly proxyAddress?: string
  readonly login?: { readonly username: string; readonly password: string }
  /** Takes any password of these users: gateways put sessions into the name. */
  readonly acceptsUser?: (username: string, password: string) => boolean
  /** Where a name leads, for sites that exist in tests only. Default: all names to 127.0.0.1. */
  readonly resolve?: (host: string) => string
}

export interface TestProxy {
  readonly port: number
  /** With the login, as it stands in a list of proxies. */
  readonly url: string
  readonly proxyAddress: string
  mode: ProxyMode
  /** What it saw. */
  readonly seen: {
    connections: number
    /** `host:port` of every tunnel or request that was let through. */
    readonly targets: string[]
    /** User names that were let in. */
    readonly users: string[]
    refusedLogins: number
    /** Headers of requests that went through in the clear. */
    readonly headers: IncomingMessage['headers'][]
  }
  stop(): Promise<void>
}

/** A real proxy on loopback: absolute-form requests and CONNECT, or SOCKS5. */
export async function startProxy(options: ProxyOptions = {}): Promise<TestProxy> {
  const { kind = 'http', proxyAddress = '127.0.0.1', login } = options
  const sockets = new Set<Socket>()
  const seen: TestProxy['seen'] = { connections: 0, targets: [], users: [], refusedLogins: 0, headers: [] }
  const state = { mode: 'fine' as ProxyMode }
  const parts: ProxyParts = {
    seen,
    mode: () => state.mode,
    needsLogin: login !== undefined || options.acceptsUser !== undefined,
    letsIn: (username, password) => {
      const ok =
        state.mode !== 'refuses-login' &&
        (options.acceptsUser?.(username, password) ??
          (login === undefined || (login.username === username && login.password === password)))
      if (ok) seen.users.push(username)
      else seen.refusedLogins++
      return ok
    },
    dial: (host, port) => {
      seen.targets.push(`${host}:${port}`)
      const address = /^[\d.]+$/.test(host) ? host : (options.resolve?.(host) ?? '127.0.0.1')
      const socket = connect({ host: address, port, localAddress: proxyAddress, noDelay: true })
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      return socket
    },
  }
  const server: Server = kind === 'http' ? httpProxy(parts) : socksProxy(parts)
  server.on('connection', (socket: Socket) => {
    seen.connections++
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    if (state.mode === 'resets') socket.resetAndDestroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  const { port } = address
  const closed = once(server, 'close')
  const close = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  const user = login === undefined ? '' : `${encodeURIComponent(login.username)}:${encodeURIComponent(login.password)}@`
  return {
    port,
    url: `${kind}://${user}127.0.0.1:${port}`,
    proxyAddress,
    get mode() {
      return state.mode
    },
    set mode(mode) {
      if (mode === 'dead' && state.mode !== 'dead') close()
      if (mode !== 'dead' && state.mode === 'dead') throw new Error('a dead proxy stays dead')
      state.mode = mode
    },
    seen,
    async stop() {
      if (state.mode !== 'dead') close()
      await closed
    },
  }
}

/** Proxies with an address each: 127.0.`net`.1, .2 … */
export function startProxies(count: number, net: number, options: ProxyOptions = {}): Promise<TestProxy[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) =>
      startProxy({ ...options, proxyAddress: `127.0.${net + Math.floor(index / 250)}.${(index % 250) + 1}` }),
    ),
  )
}

interface ProxyParts {
  readonly seen: TestProxy['seen']
  mode(): ProxyMode
  readonly needsLogin: boolean
  letsIn(username: string, password: string): boolean
  dial(host: string, port: number): Socket
}

function httpProxy(parts: ProxyParts): Server {
  const server = createHttpServer((incoming, answer) => {
    if (parts.mode() === 'silent') return
    if (!basicLogin(parts, incoming)) {
      answer.writeHead(407, { 'proxy-authenticate': 'Basic realm="test"' }).end()
      return
    }
    forward(parts, incoming, answer)
  })
  server.on('connect', (incoming: IncomingMessage, client: Socket, head: Buffer) => {
    if (parts.mode() === 'silent') return
    if (!basicLogin(parts, incoming)) {
      client.end('HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="test"\r\n\r\n')
      return
    }
    const [, host = '', port = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(incoming.url ?? '') ?? []
    const target = parts.dial(host, Number(port))
    target.once('connect', () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      if (head.length > 0) target.write(head)
      join(client, target)
    })
    target.once('error', () => client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'))
  })
  server.on('clientError', (_error, socket) => socket.destroy())
  return server
}

function forward(parts: ProxyParts, incoming: IncomingMessage, answer: ServerResponse): void {
  parts.seen.headers.push(incoming.headers)
  const url = new URL(incoming.url ?? '')
  const headers = Object.fromEntries(
    Object.entries(incoming.headers).filter(([name]) => !/^proxy-|^connection$/.test(name)),
  )
  const onward = request({
    createConnection: () => parts.dial(url.hostname, Number(url.port || 80)),
    method: incoming.method,
    path: url.pathname + url.search,
    headers: { ...headers, connection: 'close' },
  })
  onward.once('response', (reply) => {
    answer.writeHead(reply.statusCode ?? 502, reply.rawHeaders)
    reply.pipe(answer)
    reply.once('error', () => answer.destroy())
  })
  onward.once('error', () => {
    if (answer.headersSent) answer.destroy()
    else answer.writeHead(502).end()
  })
  incoming.pipe(onward)
}

function basicLogin(parts: ProxyParts, { headers }: IncomingMessage): boolean {
  if (!parts.needsLogin) return parts.mode() !== 'refuses-login'
  const given = Buffer.from((headers['proxy-authorization'] ?? '').replace(/^Basic /, ''), 'base64').toString('utf8')
  const colon = given.indexOf(':')
  return parts.letsIn(given.slice(0, Math.max(0, colon)), given.slice(colon + 1))
}

/** RFC 1928 and 1929, as far as a client needs them: CONNECT alone. */
function socksProxy(parts: ProxyParts): Server {
  return createServer({ noDelay: true }, (client) => {
    let buffer = Buffer.alloc(0)
    let step: 'methods' | 'login' | 'request' = 'methods'
    const refuse = (bytes: readonly number[]) => client.end(Buffer.from(bytes))
    const onData = (chunk: Buffer) => {
      if (parts.mode() === 'silent') return
      buffer = Buffer.concat([buffer, chunk])
      for (;;) {
        const used = next()
        if (used === 0) return
        buffer = buffer.subarray(used)
      }
    }
    const next = (): number => {
      if (step === 'methods') {
        const length = 2 + (buffer[1] ?? 255)
        if (buffer.length < length) return 0
        const wanted = parts.needsLogin || parts.mode() === 'refuses-login' ? 2 : 0
        if (!buffer.subarray(2, length).includes(wanted)) {
          parts.seen.refusedLogins++
          refuse([5, 255])
          return 0
        }
        client.write(Buffer.from([5, wanted]))
        step = wanted === 2 ? 'login' : 'request'
        return length
      }
      if (step === 'login') {
        const nameLength = buffer[1] ?? 255
        const wordLength = buffer[2 + nameLength] ?? 255
        const length = 3 + nameLength + wordLength
        if (buffer.length < length) return 0
        const name = buffer.subarray(2, 2 + nameLength).toString('utf8')
        const ok = parts.letsIn(name, buffer.subarray(3 + nameLength, length).toString('utf8'))
        if (!ok) {
          refuse([1, 1])
          return 0
        }
        client.write(Buffer.from([1, 0]))
        step = 'request'
        return length
      }
      const [host, length] = socksTarget(buffer)
      if (length === 0 || buffer.length < length + 2) return 0
      client.removeListener('data', onData)
      const target = parts.dial(host, buffer.readUInt16BE(length))
      const rest = buffer.subarray(length + 2)
      target.once('connect', () => {
        client.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 0]))
        if (rest.length > 0) target.write(rest)
        join(client, target)
      })
      target.once('error', () => refuse([5, 5, 0, 1, 0, 0, 0, 0, 0, 0]))
      return 0
    }
    client.on('data', onData)
  })
}

/** The host, and where the port begins; 0 when not all of it is there. */
function socksTarget(buffer: Buffer): readonly [host: string, portAt: number] {
  if (buffer.length < 5) return ['', 0]
  if (buffer[3] === 1) return buffer.length < 8 ? ['', 0] : [[...buffer.subarray(4, 8)].join('.'), 8]
  if (buffer[3] === 3) {
    const end = 5 + (buffer[4] ?? 0)
    return buffer.length < end ? ['', 0] : [buffer.subarray(5, end).toString('latin1'), end]
  }
  return ['', 0]
}

function join(a: Socket, b: Socket): void {
  a.pipe(b)
  b.pipe(a)
  for (const [one, other] of [
    [a, b],
    [b, a],
  ] as const) {
    one.once('error', () => other.destroy())
    one.once('close', () => other.destroy())
  }
}
