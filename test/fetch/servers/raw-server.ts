import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { BEHAVIOURS } from './behaviours.js'

export interface RawServer {
  readonly origin: string
  readonly port: number
  connections(): number
  close(): Promise<void>
}

/** A server that calls `answer` with the path of each request, and writes nothing of its own. */
export async function startRawServer(answer: (socket: Socket, path: string, head: string) => void): Promise<RawServer> {
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer((socket) => {
    connections++
    sockets.add(socket)
    let text = ''
    // Otherwise what is written last waits for the acknowledgement that our next request carries.
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1')
      for (let end = text.indexOf('\r\n\r\n'); end !== -1; end = text.indexOf('\r\n\r\n')) {
        const head = text.slice(0, end)
        text = text.slice(end + 4)
        answer(socket, head.split(' ', 2)[1] ?? '', head)
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    connections: () => connections,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** `/17` is answered with the behaviour of that number. */
export function behave(socket: Socket, path: string): void {
  const behaviour = BEHAVIOURS[Number(path.slice(1))]
  if (behaviour === undefined) {
    socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n')
    return
  }
  socket.write(behaviour.says)
  if (behaviour.next === 'close') socket.end()
  if (behaviour.next === 'reset') setTimeout(() => socket.resetAndDestroy(), 50)
}
