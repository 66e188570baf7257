import { openSync, writeSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { setPriority } from 'node:os'
import type { AccessEntry } from '../../src/demo/access-log.js'
import { createSite, type SiteOptions } from './site.js'

/**
 * The site in a process of its own. It speaks just enough HTTP/1.1 to be cheap (it shares two cores with everybody it watches), and it is
 * the witness: when each request came and when it was answered, on the clock that all processes of the machine share.
 */
interface Order extends Omit<SiteOptions, 'port'> {
  readonly log: string
}

const order = JSON.parse(process.argv[2] ?? '{}') as Order
// A witness that is late sees gaps that were not there. Without the right to it, it is as prompt as it can be.
try {
  setPriority(-15)
} catch {}

const now = () => Number(process.hrtime.bigint()) / 1e6
const log = openSync(order.log, 'w')
let lines = ''
const flush = () => {
  if (lines !== '') writeSync(log, lines)
  lines = ''
}
setInterval(flush, 100).unref()

const underWay = new Set<AccessEntry>()
const counts = new Map<string, number>()
let connections = 0

function listen(host: string, port: number, onSocket: (socket: Socket) => void): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer({ noDelay: true }, onSocket)
    server.once('error', reject)
    server.listen(port, host, 1024, () => resolve(server))
  })
}

/** One port that is free on every address. */
async function listenEverywhere(): Promise<number> {
  for (;;) {
    const handlers = Array.from({ length: order.hosts }, (_, index) => (socket: Socket) => serve(socket, index))
    const first = await listen('127.0.0.1', 0, handlers[0] ?? (() => {}))
    const address = first.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const others = await Promise.allSettled(
      handlers.slice(1).map((handler, index) => listen(`127.0.0.${index + 2}`, port, handler)),
    )
    if (others.every((other) => other.status === 'fulfilled')) return port
    first.close()
    for (const other of others) if (other.status === 'fulfilled') other.value.close()
  }
}

const port = await listenEverywhere()
const site = createSite({ ...order, port })
process.send?.({ port })
process.on('disconnect', () => process.exit())
process.on('message', () => {
  flush()
  for (const entry of underWay) lines += `${JSON.stringify(entry)}\n`
  flush()
  process.send?.({ flushed: true })
})

function serve(socket: Socket, hostIndex: number): void {
  const conn = ++connections
  let text = ''
  let mine: Set<(status: number) => void> | null = null
  socket.setEncoding('latin1')
  socket.on('error', () => {})
  socket.on('close', () => {
    for (const end of mine ?? []) end(499)
  })
  socket.on('data', (chunk: string) => {
    text = text === '' ? chunk : text + chunk
    for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
      const head = text.slice(0, end)
      text = text.slice(end + 4)
      answer(head)
    }
  })

  function answer(head: string): void {
    const t = now()
    const path = head.slice(head.indexOf(' ') + 1, head.indexOf(' ', 4))
    const host = `127.0.0.${hostIndex + 1}`
    const key = `${hostIndex}${path}`
    const n = (counts.get(key) ?? 0) + 1
    counts.set(key, n)
    const entry: AccessEntry = { t, end: null, status: 0, bytes: 0, host, method: 'GET', path, n, run: 1, conn, ua: '' }
    underWay.add(entry)
    const finish = (status: number) => {
      if (!underWay.delete(entry)) return
      mine?.delete(finish)
      lines += `{"t":${t},"end":${now()},"status":${status},"bytes":0,"host":"${host}","method":"GET","path":${JSON.stringify(path)},"n":${n},"run":1,"conn":${conn},"ua":""}\n`
    }
    mine ??= new Set()
    mine.add(finish)
    const { status, body, headers } = site.answer(hostIndex, path, n)
    const send = () => {
      const type = body === '' ? '' : 'content-type: text/html\r\n'
      socket.write(`HTTP/1.1 ${status} x\r\n${type}${headers}content-length: ${body.length}\r\n\r\n${body}`, 'latin1')
      finish(status)
    }
    if (order.latencyMs > 0 && path !== '/robots.txt') setTimeout(send, order.latencyMs)
    else send()
  }
}
