import { execFileSync } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import type { SeenAccess } from '../support/access-log.js'
import { createSite, type SiteOptions } from './site.js'

/**
 * The site in a process of its own. It speaks just enough HTTP/1.1 to be cheap (it shares two cores with everybody it watches), and it is
 * the witness: when each request came and when it was answered, on the clock that all processes of the machine share.
 */
interface Order extends Omit<SiteOptions, 'port'> {
  readonly log: string
}

const order = JSON.parse(process.argv[2] ?? '{}') as Order
// A witness that is late sees gaps that were not there. Where it may not go before all others, it says at least when it stood still.
try {
  execFileSync('chrt', ['--fifo', '--pid', '20', String(process.pid)], { stdio: 'ignore' })
} catch {}

const now = () => Number(process.hrtime.bigint()) / 1e6
// In memory until somebody asks: a write that waits for the disk made the witness late by ten milliseconds.
let lines: string[] = []
setInterval(() => {
  if (pagesServed !== told) process.send?.({ served: pagesServed })
  told = pagesServed
}, 100).unref()

const TICK_MS = 2
const STALL_MS = 4
let lastTick = now()
/** While the requests that waited during a stall are read: when it began. */
let stalledSince: number | null = null
setInterval(() => {
  const t = now()
  stalledSince = t - lastTick > STALL_MS ? lastTick : null
  lastTick = t
}, TICK_MS).unref()

const underWay = new Set<SeenAccess>()
const counts = new Map<string, number>()
let connections = 0
let pagesServed = 0
let told = 0

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
    const first = await listen(`${order.network}.1`, 0, handlers[0] ?? (() => {}))
    const address = first.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const others = await Promise.allSettled(
      handlers.slice(1).map((handler, index) => listen(`${order.network}.${index + 2}`, port, handler)),
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
  appendFileSync(order.log, [...lines, ...[...underWay].map((entry) => `${JSON.stringify(entry)}\n`)].join(''))
  lines = []
  process.send?.({ flushed: true })
})

function serve(socket: Socket, hostIndex: number): void {
  const conn = ++connections
  const from = socket.remoteAddress ?? ''
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
    const host = `${order.network}.${hostIndex + 1}`
    const key = `${hostIndex}${path}`
    const n = (counts.get(key) ?? 0) + 1
    counts.set(key, n)
    if (n === 1 && path.startsWith('/p/')) pagesServed++
    // It may also have stood still between its last tick and this very line.
    const early = stalledSince ?? (t - lastTick > STALL_MS ? lastTick : t)
    const entry: SeenAccess = {
      t,
      early,
      end: null,
      status: 0,
      bytes: 0,
      host,
      method: 'GET',
      path,
      n,
      run: 1,
      conn,
      ua: '',
      from,
    }
    underWay.add(entry)
    const finish = (status: number) => {
      if (!underWay.delete(entry)) return
      mine?.delete(finish)
      lines.push(
        `{"t":${t},"early":${early},"end":${now()},"status":${status},"bytes":0,"host":"${host}","method":"GET","path":${JSON.stringify(path)},"n":${n},"run":1,"conn":${conn},"ua":"","from":"${from}"}\n`,
      )
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
