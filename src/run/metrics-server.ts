import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import { type ConnectionLimits, limitConnections, STRANGER_MS } from '../api/connections.js'
import { isLoopback, listen } from '../api/listen.js'
import { createRateLimit } from '../api/rate-limit.js'
import { tokenCheck } from '../api/token.js'
import { systemClock } from '../clock.js'
import { asShoalError, isAway, ShoalError } from '../errors.js'
import type { Monitor } from '../observe/metrics/monitor.js'
import { METRICS_TYPE } from '../observe/metrics/prometheus.js'
import { parseScaleQuery } from '../observe/metrics/scale.js'

/** Where a process serves its metrics and health. */
export interface MetricsOrder {
  readonly address: { readonly host: string; readonly port: number }
  /** Null: no token is required, which is only allowed on this machine. */
  readonly token: string | null
}

export interface MetricsServer {
  readonly url: string
  close(): Promise<void>
}

/** Enough for a few scrapers and probes. */
const CONNECTIONS: ConnectionLimits = { trusted: 50, strangers: 50 }
/** Per address. */
const WRONG_TOKENS = 20
const WRONG_WINDOW_MS = 60_000
const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const
const JSON_TYPE = 'application/json'
const NOT_FOUND = 'not found: use /metrics, /scale, /healthz or /readyz'
const NO_SCALE = 'not served by a worker: ask shoal dashboard or shoal schedule run, started with --metrics'

export async function serveMetrics({ address, token }: MetricsOrder, monitor: Monitor): Promise<MetricsServer> {
  if (token === null && !isLoopback(address.host))
    throw new ShoalError('metrics_open', `--metrics ${address.host}:${address.port}: other machines could read it`)
  const isRight = token === null ? null : tokenCheck(token)
  const wrong = createRateLimit(systemClock, WRONG_TOKENS, WRONG_WINDOW_MS)
  const server = createServer(
    { maxHeaderSize: 8_192, headersTimeout: STRANGER_MS, requestTimeout: 10_000, connectionsCheckingInterval: 1_000 },
    (request, response) => void answer(request, response),
  )
  const connections = limitConnections(server, CONNECTIONS, systemClock)
  // It never keeps a finished command alive.
  server.unref()

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    connections.answering(request.socket, response)
    try {
      const { status, type, body } = await replyTo(request)
      response.writeHead(status, {
        ...HEADERS,
        'content-type': type,
        ...(status === 401 && { 'www-authenticate': 'Bearer' }),
      })
      response.end(request.method === 'HEAD' ? undefined : body)
    } catch (error) {
      const { code, message } = asShoalError(error)
      response.writeHead(500, { ...HEADERS, 'content-type': JSON_TYPE })
      response.end(`${JSON.stringify({ ok: false, message: `${code}: ${message}` })}\n`)
    }
  }
  const replyTo = async (request: IncomingMessage): Promise<{ status: number; type: string; body: string }> => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return refusal(405, 'only GET and HEAD are supported')
    if (!isOurs(request.headers.host, address.host)) return refusal(403, 'the Host header names another site')
    const [path = '/', query = ''] = (request.url ?? '/').split('?', 2)
    // Probes need no token and expose no secrets.
    if (path === '/healthz' || path === '/readyz') {
      const { status, body } = path === '/healthz' ? await monitor.healthReply() : await monitor.readyReply()
      return { status, type: JSON_TYPE, body: `${JSON.stringify(body)}\n` }
    }
    if (path !== '/metrics' && path !== '/scale') return refusal(404, NOT_FOUND)
    // The right token is accepted however many wrong ones came from its address.
    if (isRight !== null && !isRight(bearer(request)))
      return wrong.count(request.socket.remoteAddress ?? '')
        ? refusal(401, 'the token is missing or wrong')
        : refusal(429, 'too many wrong tokens')
    if (isRight !== null) connections.trust(request.socket)
    if (path === '/scale') return scaleReply(monitor, query)
    return { status: 200, type: METRICS_TYPE, body: await monitor.metricsText() }
  }
  const port = await listen(
    server,
    address,
    (why, cause) => new ShoalError('metrics_port', `--metrics: ${why}`, { cause }),
  )
  return {
    url: `http://${address.host.includes(':') ? `[${address.host}]` : address.host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** 503 while the queue is down: an autoscaler that gets no number keeps the workers it has. */
async function scaleReply(monitor: Monitor, query: string): Promise<{ status: number; type: string; body: string }> {
  // A worker that is scaled to zero cannot answer how many workers there should be.
  if (monitor.scale === null) return refusal(404, NO_SCALE)
  try {
    const reply = await monitor.scale(parseScaleQuery(new URLSearchParams(query)))
    return { status: 200, type: JSON_TYPE, body: `${JSON.stringify(reply)}\n` }
  } catch (error) {
    const { code, message } = asShoalError(error)
    if (!isAway(error) && code !== 'bad_request') throw error
    return refusal(code === 'bad_request' ? 400 : 503, `${code}: ${message}`)
  }
}

function refusal(status: number, message: string): { status: number; type: string; body: string } {
  return { status, type: JSON_TYPE, body: `${JSON.stringify({ ok: false, message })}\n` }
}

function bearer({ headers }: IncomingMessage): string {
  return /^Bearer ([\x21-\x7e]{1,512})$/i.exec(headers.authorization ?? '')?.[1] ?? ''
}

/** Protects a local server from DNS rebinding: a page of another site whose name resolves to this machine sends that name. An IP address cannot be such a name. */
function isOurs(named: string | undefined, host: string): boolean {
  if (!isLoopback(host)) return true
  const name = (named ?? '').toLowerCase().replace(/:\d*$/, '')
  return name === 'localhost' || name === host || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0
}
