import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import { answer, MODES } from './misbehaviours.js'

/**
 * A server that misbehaves on purpose. It speaks raw TCP, so that it can say what no HTTP library would; the path of the request
 * names the misbehaviour. Every request is counted.
 */
export interface BadServer {
  readonly origin: string
  readonly port: number
  /** TCP connections accepted so far. */
  connections(): number
  /** Requests seen so far, as their paths. */
  requests(): readonly string[]
  /** Header blocks of the requests, as sent. */
  heads(): readonly string[]
  openSockets(): number
  close(): Promise<void>
}

export interface BadServerOptions {
  readonly tls?: TlsOptions
  /** Answers to paths that have no mode of their own. */
  readonly otherwise?: (socket: Socket, path: string) => void
}

const notFound = (socket: Socket) => void socket.write(answer('no such mode', {}, '404 Not Found'))

export async function startBadServer({ tls, otherwise = notFound }: BadServerOptions = {}): Promise<BadServer> {
  const sockets = new Set<Socket>()
  const requests: string[] = []
  const heads: string[] = []
  let accepted = 0
  const serve = (socket: Socket) => {
    accepted++
    sockets.add(socket)
    let text = ''
    let hangUpOnNext = false
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    socket.on('data', (data) => {
      text += data.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      if (end === -1) return
      const head = text.slice(0, end)
      text = ''
      const path = head.split(' ', 2)[1] ?? ''
      requests.push(path)
      heads.push(head)
      if (hangUpOnNext) {
        socket.destroy()
        return
      }
      hangUpOnNext = path === '/ok-then-hang-up-on-next'
      const mode = MODES[path.split('?', 1)[0] ?? '']
      if (mode === undefined) otherwise(socket, path)
      else mode(socket, head)
    })
  }
  const server: Server = tls === undefined ? createServer(serve) : createTlsServer(tls, serve)
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    origin: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    port,
    connections: () => accepted,
    requests: () => requests,
    heads: () => heads,
    openSockets: () => sockets.size,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
