import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { inTime } from '../clock.js'
import { ShoalError } from '../errors.js'
import { METRICS_TYPE } from '../observe/metrics/prometheus.js'
import { parseScaleQuery } from '../observe/metrics/scale.js'
import { readJson } from './body.js'
import { type ConnectionLimits, limitConnections, STRANGER_MS } from './connections.js'
import { createCursors } from './cursor.js'
import { createEventHub, EVENTS_TYPE, type EventHub } from './events.js'
import { failureOf } from './failure.js'
import { createGuard } from './guard.js'
import { setHeaders } from './headers.js'
import { isLoopback, listen } from './listen.js'
import type { ApiParts } from './parts.js'
import type { Api } from './route.js'
import { EVENTS_PATH, ROUTES } from './routes.js'
import { createSnapshots } from './snapshots.js'
import { loadPage, type StaticFile } from './static-files.js'
import { newToken } from './token.js'

export interface ServeOptions {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** From the environment; null: a new one is generated. */
  readonly token: string | null
  /** The address of a reverse proxy in front; null: none. */
  readonly publicUrl: string | null
  /** Further names in `Host`, with any port: the name of a service, the other end of a port forward. */
  readonly allowHosts?: readonly string[]
}

export interface Dashboard {
  /**
   * For people. A token that was created for this run is after the #, which browsers do not send. One that was given is left out: its owner knows it, and the
   * address is printed where the logs of a container are kept.
   */
  readonly url: string
  readonly token: string
  readonly port: number
  /** Sends clients a final snapshot and closes every connection. */
  close(): Promise<void>
}

const PAGE_FOLDER = fileURLToPath(new URL('../dashboard', import.meta.url))
/** With the token: 500 listeners, and room for calls. Without: browsers that load the page, probes, and whoever else. */
const CONNECTIONS: ConnectionLimits = { trusted: 700, strangers: 300 }

interface Patience {
  readonly ms: number
  readonly late: () => ShoalError
}
const BODY: Patience = {
  ms: 10_000,
  late: () => new ShoalError('request_slow', 'the request body did not arrive within 10 s'),
}
const ANSWER: Patience = {
  ms: 15_000,
  late: () => new ShoalError('queue_down', 'no response from the queue or the store within 15 s'),
}

type Env = { Bindings: HttpBindings }

export async function serveDashboard(parts: ApiParts, options: ServeOptions): Promise<Dashboard> {
  refuseOpenDoor(options)
  const token = options.token ?? newToken()
  const snapshots = createSnapshots(parts)
  const api: Api = { ...parts, snapshots, cursors: createCursors(token) }
  const hub = createEventHub({ snapshots, clock: parts.clock, log: parts.log })
  const page = loadPage(PAGE_FOLDER)
  const answer = getRequestListener(createApp(api, hub, page).fetch, { overrideGlobalObjects: false })
  const server = createServer(
    { maxHeaderSize: 16_384, headersTimeout: STRANGER_MS, requestTimeout: 30_000, connectionsCheckingInterval: 1_000 },
    (request, response) => {
      const path = pathOf(request)
      setHeaders(response, path)
      connections.answering(request.socket, response)
      try {
        const isTrusted = guard(request, path) === 'token'
        if (isTrusted && !connections.trust(request.socket)) response.setHeader('connection', 'close')
      } catch (error) {
        refuse(request, response, error)
        return
      }
      void answer(request, response)
    },
  )
  const connections = limitConnections(server, CONNECTIONS, parts.clock)
  server.maxHeadersCount = 100
  server.keepAliveTimeout = 65_000
  const refuse = (request: IncomingMessage, response: ServerResponse, error: unknown) => {
    // The rest of the request is not read.
    const sends = isOrder(request)
    const { status, answer } = failureOf(error, parts.log, sends ? 'order' : 'read')
    response.writeHead(status, { 'content-type': 'application/json', ...(sends && { connection: 'close' }) })
    response.end(request.method === 'HEAD' ? undefined : JSON.stringify(answer))
  }
  const port = await listen(server, options, (why, cause) => new ShoalError('dashboard_port', why, { cause }))
  const publicOrigin = options.publicUrl === null ? null : new URL(options.publicUrl).origin
  const guard = createGuard({
    token,
    clock: parts.clock,
    host: options.host,
    port,
    publicOrigin,
    allowHosts: options.allowHosts ?? [],
    isPage: (path) => page.has(path),
  })
  const close = async () => {
    // A snapshot of its own: the shared one may be a second old and miss that the crawl has ended.
    await hub.sayBye(createSnapshots(parts))
    hub.close()
    await new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }
  let closing: Promise<void> | null = null
  return {
    url: `${publicOrigin ?? `http://${shownHost(options.host)}:${port}`}/${options.token === null ? `#token=${token}` : ''}`,
    token,
    port,
    close() {
      closing ??= close()
      return closing
    },
  }
}

function createApp(api: Api, hub: EventHub, page: ReadonlyMap<string, StaticFile>): Hono<Env> {
  const app = new Hono<Env>({ strict: true })
  for (const route of ROUTES) {
    app.on(route.method, route.path, async (context) => {
      const body = route.body === null ? undefined : await inTime(readJson(context.env.incoming), api.clock, BODY)
      const input = { params: context.req.param(), query: queryOf(context.req.url), body }
      const answer = await inTime(route.run(api, input), api.clock, ANSWER)
      if (route.path !== EVENTS_PATH) return context.json(answer as object)
      if (context.env.incoming.method === 'HEAD') return context.body(null, 200, { 'content-type': EVENTS_TYPE })
      hub.join(context.env.outgoing, typeof answer === 'string' && answer !== '' ? answer : null)
      return ALREADY_SENT
    })
  }
  app.get('/metrics', async (context) =>
    context.body(await api.monitor.metricsText(), 200, { 'content-type': METRICS_TYPE }),
  )
  app.get('/scale', async (context) => {
    if (api.monitor.scale === null) throw nothingHere()
    return context.json(await api.monitor.scale(parseScaleQuery(new URL(context.req.url).searchParams)))
  })
  for (const [path, ask] of [
    ['/healthz', api.monitor.healthReply],
    ['/readyz', api.monitor.readyReply],
  ] as const) {
    app.get(path, async (context) => {
      const { status, body } = await ask()
      return context.json(body, status)
    })
  }
  app.get('*', (context) => {
    const file = page.get(context.req.path)
    if (file !== undefined) return fileAnswer(context, file)
    if (context.req.path === '/')
      return context.text('The dashboard is not built: run npm run build. The API is at /api/.\n', 503)
    throw nothingHere()
  })
  app.notFound(() => {
    throw nothingHere()
  })
  app.onError((error, context) => {
    const { status, answer } = failureOf(error, api.log, isOrder(context.env.incoming) ? 'order' : 'read')
    // An unread body would be taken for the next request.
    if (!context.env.incoming.complete) context.header('connection', 'close')
    return context.json(answer, status as 400)
  })
  return app
}

function nothingHere(): ShoalError {
  return new ShoalError('not_found', 'not found', {
    hint: 'GET /api/openapi.json lists all calls; the dashboard is at /.',
  })
}

/** Marked by its header: the event hub already has the connection. */
const ALREADY_SENT = new Response(null, { headers: { 'x-hono-already-sent': 'true' } })

function isOrder({ method }: IncomingMessage): boolean {
  return method === 'POST' || method === 'PUT'
}

/** A duplicate parameter is an error: which one counts must not depend on the parser. */
function queryOf(url: string): Record<string, string> {
  const pairs = [...new URL(url).searchParams]
  const names = new Set(pairs.map(([name]) => name))
  if (names.size < pairs.length) throw new ShoalError('bad_request', 'duplicate parameter')
  if (names.has('__proto__')) throw new ShoalError('bad_request', '__proto__ is not allowed')
  return Object.fromEntries(pairs)
}

function fileAnswer(context: Context<Env>, { type, bytes, gzip }: StaticFile): Response {
  const zipped = gzip !== null && /\bgzip\b/.test(context.req.header('accept-encoding') ?? '')
  return context.body(new Uint8Array(zipped ? gzip : bytes), 200, {
    'content-type': type,
    vary: 'accept-encoding',
    ...(zipped && { 'content-encoding': 'gzip' }),
  })
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '/').split('?', 1)[0] ?? '/'
}

/** Other machines may guess a token; setting one explicitly says that remote access is intended. */
function refuseOpenDoor({ host, token }: ServeOptions): void {
  if (isLoopback(host) || token !== null) return
  throw new ShoalError(
    'dashboard_open',
    `--host ${host} makes the dashboard reachable from other machines, but no token is set`,
  )
}

function shownHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
}
