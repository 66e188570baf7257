import { lookup as systemLookup } from 'node:dns'
import type { Clock } from '../../clock.js'
import { ShoalError } from '../../errors.js'
import { type EventLoop, eventLoop } from '../../event-loop.js'
import type { Fetcher, FetchRequest, FetchResponse, StopSignal } from '../fetcher.js'
import type { Lookup } from '../guard.js'
import { createConnections } from './connections.js'
import { ACCEPT_ENCODING } from './decode.js'
import { Exchange, type ExchangeEnd, givenUp } from './exchange.js'
import { isHttp2Safe } from './h2-wire.js'
import { createTurns } from './turns.js'

/** How often deadlines and signals are checked: one timer for all requests, no listener or timer for each. */
const LOOK_MS = 50
/** A check that comes later than this was delayed by this process itself. */
const STANDSTILL_MS = 250

export interface HttpFetcherOptions {
  readonly clock: Clock
  /** Sent if a request has no user-agent of its own. */
  readonly userAgent?: string
  readonly lookup?: Lookup
  /** Offer HTTP/2 to servers. Default: if it is safe in this Node. */
  readonly http2?: boolean
  /** Default: that of this thread. */
  readonly loop?: EventLoop
}

/** HTTP/1.1, or HTTP/2 if the server supports it, over kept-alive connections. */
export function createHttpFetcher({
  clock,
  userAgent,
  lookup = resolveAll,
  http2 = isHttp2Safe(),
  loop = eventLoop,
}: HttpFetcherOptions): Fetcher {
  const connections = createConnections(lookup, clock, loop, http2)
  const turns = createTurns(clock, loop)
  const running = new Set<Exchange>()
  /** Time during which this process was blocked (a long handler, a frozen machine) does not count against any server. */
  let standstillMs = 0
  const time = () => clock.mono() - standstillMs
  const settled = (exchange: Exchange) => running.delete(exchange)
  let lookDueAt: number | null = null
  let closed = false

  const defaults: Record<string, string> = { accept: '*/*', 'accept-encoding': ACCEPT_ENCODING }
  if (userAgent !== undefined) defaults['user-agent'] = userAgent
  const plainHeaders = headerList(defaults, {})
  let lastHeaders: FetchRequest['headers']
  let lastList = plainHeaders

  /** A spider sends the same headers object with every request. */
  function headersOf(headers: FetchRequest['headers']): string[] {
    if (headers === undefined) return plainHeaders
    if (headers !== lastHeaders) {
      lastHeaders = headers
      lastList = headerList(defaults, headers)
    }
    return lastList
  }

  function lookLater(): void {
    lookDueAt = clock.mono() + LOOK_MS
    clock.after(LOOK_MS, look)
  }

  function look(): void {
    const lateMs = clock.mono() - (lookDueAt ?? 0)
    if (lateMs > STANDSTILL_MS) standstillMs += lateMs
    const now = time()
    for (const exchange of running) exchange.look(now)
    if (running.size > 0) lookLater()
    else lookDueAt = null
  }

  function start(request: FetchRequest, signal: StopSignal, end: ExchangeEnd): void {
    if (closed) throw new ShoalError('aborted', 'the fetcher is closed')
    if (signal.aborted) throw givenUp(signal)
    const { limits, allowPrivate, proxy } = request
    const { maxHeaderBytes } = limits
    const own = headersOf(request.headers)
    const { origin, path } = connections.placeOf(request.url, { maxHeaderBytes, allowPrivate, proxy })
    const connection = connections.take(origin)
    const exchange = new Exchange(request, signal, connections, connection, end, time, turns, settled)
    running.add(exchange)
    if (lookDueAt === null) lookLater()
    const { method = 'GET', body = null } = request
    const headers = origin.proxyHeaders.length === 0 ? own : [...own, ...origin.proxyHeaders]
    connections.dispatch(connection, { path, method, headers, body }, exchange)
  }

  return {
    fetch: (request, signal) =>
      new Promise<FetchResponse>((resolve, reject) => start(request, signal, { resolve, reject })),

    async close() {
      closed = true
      for (const exchange of running) exchange.closed()
      await connections.close()
    },
  }
}

function headerList(defaults: Readonly<Record<string, string>>, own: Readonly<Record<string, string>>): string[] {
  const merged = new Map(Object.entries(defaults))
  for (const [name, value] of Object.entries(own)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(value))
      throw new ShoalError('bad_url', `the header ${JSON.stringify(name)} cannot be sent`)
    merged.set(name.toLowerCase(), value)
  }
  // The login of a proxy is only for that proxy: it comes with the request's proxy, never with the headers of a spider.
  merged.delete('proxy-authorization')
  return [...merged].flat()
}

const resolveAll: Lookup = (hostname, done) => systemLookup(hostname, { all: true }, done)
