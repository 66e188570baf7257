import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as backends from './fake-backends.js'

/** Serves the built page as the real server does, rules included, over answers that never change. The real one is tested in test/api and test/e2e. */

const BEGUN = Date.now()
export const TOKEN = 'a-token-for-tests-of-the-page'
const PAGE = fileURLToPath(new URL('../../dist/dashboard', import.meta.url))
const RULES =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}

interface Problem {
  readonly status: number
  readonly code: string
}

export interface FakeApi {
  readonly origin: string
  /** Orders given, such as `POST /api/crawls/jobs/resume {}`. */
  readonly orders: string[]
  /** With false every stream ends and every question fails, as when the server is gone. */
  setUp(up: boolean): void
  /** What every question and every stream is answered with, from now on; null: as usual. */
  answerWith(problem: Problem | null): void
  /** Ends every stream as a server does whose command has ended. */
  sayBye(): void
  close(): Promise<void>
}

export async function startFakeApi(port = 0, page = PAGE): Promise<FakeApi> {
  const orders: string[] = []
  const streams = new Set<ServerResponse>()
  let up = true
  let problem: Problem | null = null
  const server = createServer((request, response) => {
    if (!up) {
      request.socket.destroy()
      return
    }
    if (problem !== null && request.url?.startsWith('/api/crawls/')) {
      fail(response, problem.status, problem.code, 'It cannot be told.', '')
      return
    }
    answer(request, response, page, orders, streams).catch((error: unknown) => {
      response.writeHead(500).end(String(error))
    })
  })
  const beat = setInterval(() => {
    for (const stream of streams) {
      if (problem === null) tell(stream, backends.NOW + Date.now() - BEGUN)
      else stream.write(`event: problem\ndata: ${JSON.stringify({ error: { ...problem, message: '', hint: '' } })}\n\n`)
    }
  }, 1_000)
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    orders,
    setUp(now) {
      up = now
      if (!now) server.closeAllConnections()
    },
    answerWith(now) {
      problem = now
    },
    sayBye() {
      up = false
      for (const stream of streams) stream.end('event: bye\ndata: {}\n\n')
    },
    async close() {
      clearInterval(beat)
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const crawlOf = new WeakMap<ServerResponse, string | null>()

function tell(stream: ServerResponse, at: number): void {
  const crawl = crawlOf.get(stream) ?? null
  stream.write(`event: overview\ndata: ${JSON.stringify(backends.overview(at))}\n\n`)
  const view = crawl === null ? null : backends.crawlView(crawl, at)
  if (view !== null) stream.write(`event: crawl\ndata: ${JSON.stringify(view)}\n\n`)
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  page: string,
  orders: string[],
  streams: Set<ServerResponse>,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1')
  response.setHeader('content-security-policy', RULES)
  response.setHeader('x-content-type-options', 'nosniff')
  if (!pathname.startsWith('/api/')) {
    const file = pathname === '/' ? '/index.html' : normalize(pathname)
    const body = await readFile(join(page, file)).catch(() => null)
    response.writeHead(body === null ? 404 : 200, { 'content-type': TYPES[extname(file)] ?? 'text/plain' })
    response.end(body ?? '')
    return
  }
  if (request.headers.authorization !== `Bearer ${TOKEN}`) {
    fail(
      response,
      401,
      'unauthorized',
      'The token is not the right one.',
      'Open the address that shoal dashboard prints.',
    )
    return
  }
  const parts = pathname.split('/').slice(2).map(decodeURIComponent)
  if (request.method !== 'GET') {
    let body = ''
    for await (const piece of request) body += piece
    orders.push(`${request.method} ${pathname} ${body}`)
    json(
      response,
      parts[0] === 'crawls' && parts.length === 1
        ? { crawl: 'jobs', resumed: true, setAside: null }
        : { ok: true, known: true, count: 3 },
    )
    return
  }
  if (parts[0] === 'events') {
    const crawl = searchParams.get('crawl')
    if (crawl !== null && backends.crawlView(crawl, backends.NOW) === null) {
      fail(response, 404, 'no_such_crawl', `There is no crawl ${crawl}.`, 'Look at the overview for those there are.')
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    crawlOf.set(response, crawl)
    streams.add(response)
    response.on('close', () => streams.delete(response))
    tell(response, backends.NOW)
    return
  }
  const found = look(parts, searchParams)
  if (found === null) fail(response, 404, 'not_found', 'There is no such thing.', '')
  else json(response, found)
}

function look(parts: readonly string[], query: URLSearchParams): object | null {
  const [first, second = '', third] = parts
  if (first === 'crawls' && third !== undefined) return lookInCrawl(third, query)
  if (first === 'crawls' && second !== '') return backends.crawlView(second, backends.NOW)
  if (first === 'proxies' && second !== '') return paged(backends.proxies(), query)
  switch (first) {
    case 'overview':
      return backends.overview(backends.NOW)
    case 'crawls':
      return paged(backends.CARDS, query)
    case 'workers':
      return backends.workers(backends.NOW)
    case 'proxies':
      return backends.PROXIES
    case 'records':
      return backends.RECORDS
    case 'alerts':
      return backends.ALERT_BOARD
    case 'audit':
      return paged(backends.AUDIT, query)
    default:
      return null
  }
}

function lookInCrawl(part: string, query: URLSearchParams): object | null {
  switch (part) {
    case 'series':
      return backends.series(query.get('span') === '24h' ? '24h' : '30m', backends.NOW + Date.now() - BEGUN)
    case 'hosts': {
      const begins = query.get('begins') ?? ''
      return paged(
        backends.hosts().filter(({ host }) => host.startsWith(begins)),
        query,
      )
    }
    case 'links':
      return paged(backends.links(), query)
    case 'dead':
      return backends.DEAD
    case 'explain':
      return backends.history(query.get('url') ?? '')
    default:
      return null
  }
}

function paged<Item>(all: readonly Item[], query: URLSearchParams): object {
  const from = Number(query.get('after') ?? 0)
  const to = from + Number(query.get('limit') ?? 100)
  return { items: all.slice(from, to), next: to < all.length ? String(to) : null }
}

function json(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function fail(response: ServerResponse, status: number, code: string, message: string, hint: string): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: { code, message, hint } }))
}
