import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type Clock, systemClock } from '../clock.js'
import { openAccessLog } from './access-log.js'
import { createShop, type ShopOptions } from './shop.js'

export interface ShopServerOptions extends ShopOptions {
  /** Address to listen on. Default: this machine only. */
  readonly host?: string
  /** 0: any free port. */
  readonly port: number
  readonly accessLog: string
}

export interface RunningShop {
  readonly port: number
  close(): Promise<void>
}

/**
 * Serves the shop. The access log decides whether a page that fails at first works by now, so a restarted server continues where the previous
 * one ended.
 */
export async function startShop(options: ShopServerOptions, clock: Clock = systemClock): Promise<RunningShop> {
  const shop = createShop(options)
  const epoch = clock.now() - clock.mono()
  const now = () => epoch + clock.mono()
  const connections = new WeakMap<Socket, number>()
  let connectionCount = 0
  const server = createServer()
  const port = await new Promise<number>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host ?? '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
  // Opened once the port is ours, so that two servers never write to one log.
  const log = openAccessLog(options.accessLog)

  const serve = (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? '/'
    const n = (log.counts.get(path) ?? 0) + 1
    log.counts.set(path, n)
    const complete = log.begin({
      t: now(),
      host: request.headers.host ?? '',
      method: request.method ?? '',
      path,
      n,
      conn: connections.get(request.socket) ?? 0,
      ua: request.headers['user-agent'] ?? '',
    })
    const answer = shop.answer(path, n, `http://${request.headers.host ?? `127.0.0.1:${port}`}`)
    const body = Buffer.from(answer.body)
    response.once('close', () =>
      complete(now(), response.writableFinished ? answer.status : 499, response.writableFinished ? body.length : 0),
    )
    const send = () => {
      response.writeHead(answer.status, { ...answer.headers, 'content-length': body.length })
      response.end(body)
    }
    if (answer.delayMs > 0) clock.sleep(answer.delayMs).then(send)
    else send()
  }

  server.on('connection', (socket) => connections.set(socket, ++connectionCount))
  server.on('request', serve)
  server.keepAliveTimeout = 60_000
  return {
    port,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
      // The lines of requests that were just cut off are completed on the next tick.
      await clock.sleep(10)
      log.close()
    },
  }
}
