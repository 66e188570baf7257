import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import type { ProxyServer } from '../../src/proxy/proxy.js'

/** A proxy that does what a script says, for each connection. What clients say to it before a tunnel stands is kept. */
export interface ScriptedProxy {
  readonly server: ProxyServer
  heard(): string
  openSockets(): number
  connections(): number
  close(): Promise<void>
}

interface Caller {
  readonly socket: Socket
  /** The next bytes that `enough` is content with. */
  hear(enough: (bytes: Buffer) => boolean): Promise<Buffer>
}

export type Script = (caller: Caller) => void | Promise<void>

export async function startProxy(
  protocol: ProxyServer['protocol'],
  script: Script,
  login: { username: string; password: string } = { username: '', password: '' },
  tls?: TlsOptions,
): Promise<ScriptedProxy> {
  const sockets = new Set<Socket>()
  let heard = ''
  let accepted = 0
  const serve = (socket: Socket) => {
    accepted++
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    const hear: Caller['hear'] = async (enough) => {
      let bytes = Buffer.alloc(0)
      while (!enough(bytes)) {
        const piece: Buffer | null = socket.read()
        if (piece === null) await once(socket, 'readable')
        else bytes = Buffer.concat([bytes, piece])
      }
      heard += bytes.toString('latin1')
      return bytes
    }
    // Afterwards read on, or the end of the connection is never seen.
    void (async () => script({ socket, hear }))().then(
      () => socket.resume(),
      () => socket.destroy(),
    )
  }
  const server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve)
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    server: { protocol, host: '127.0.0.1', port, ...login },
    heard: () => heard,
    openSockets: () => sockets.size,
    connections: () => accepted,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

export const wholeHead = (bytes: Buffer) => bytes.includes('\r\n\r\n')
export const atLeast = (count: number) => (bytes: Buffer) => bytes.length >= count

/** A connection to a target, closed with the caller's; every name is loopback here. */
async function dial(socket: Socket, port: number): Promise<Socket> {
  const out = connect({ host: '127.0.0.1', port })
  out.on('error', () => socket.destroy()).on('close', () => socket.destroy())
  socket.on('close', () => out.destroy())
  await once(out, 'connect')
  return out
}

async function tunnel(socket: Socket, port: number, say: string | Buffer): Promise<void> {
  const out = await dial(socket, port)
  socket.write(say)
  socket.pipe(out).pipe(socket)
}

/** A well-behaved HTTP proxy: tunnels, and whole URLs in the request line. */
export const honest: Script = async ({ socket, hear }) => {
  let out: Socket | null = null
  while (!socket.destroyed) {
    const head = (await hear(wholeHead)).toString('latin1')
    const [method, where = ''] = head.split(' ', 2)
    if (method === 'CONNECT') {
      const port = Number(where.slice(where.lastIndexOf(':') + 1))
      return tunnel(socket, port, 'HTTP/1.1 200 Connection established\r\n\r\n')
    }
    const url = new URL(where)
    if (out === null) {
      out = await dial(socket, Number(url.port))
      out.pipe(socket)
    }
    out.write(head.replace(where, url.pathname + url.search).replace(/proxy-authorization: .*\r\n/i, ''))
  }
}

export interface SocksRules {
  readonly username?: string
  readonly password?: string
  readonly reply?: number
}

/** A SOCKS5 proxy as in RFC 1928. */
export const socks =
  ({ username, password, reply = 0 }: SocksRules = {}): Script =>
  async ({ socket, hear }) => {
    const [, methods = 0] = await hear(atLeast(3))
    const wants = username === undefined ? 0 : 2
    if (wants === 2 && methods < 2) {
      socket.end(Buffer.from([5, 0xff]))
      return
    }
    socket.write(Buffer.from([5, wants]))
    if (wants === 2) {
      const said = await hear(
        (bytes) => bytes.length > 2 && bytes.length >= 3 + (bytes[1] ?? 0) + (bytes[2 + (bytes[1] ?? 0)] ?? 0),
      )
      const nameLength = said[1] ?? 0
      const ok =
        said.toString('utf8', 2, 2 + nameLength) === username && said.toString('utf8', 3 + nameLength) === password
      socket.write(Buffer.from([1, ok ? 0 : 1]))
      if (!ok) return
    }
    const asked = await hear(atLeast(10))
    if (reply !== 0) {
      socket.end(Buffer.from([5, reply, 0, 1, 0, 0, 0, 0, 0, 0]))
      return
    }
    await tunnel(socket, asked.readUInt16BE(asked.length - 2), Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
  }
