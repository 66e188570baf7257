import { execFileSync } from 'node:child_process'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { systemClock } from '../../../src/clock.js'
import {
  type BrowserFetcherOptions,
  createBrowserFetcher,
  RENDER_DEFAULTS,
} from '../../../src/fetch/browser/browser-fetcher.js'
import type { Fetcher, FetchLimits, FetchRequest, FetchResponse, StopSignal } from '../../../src/fetch/fetcher.js'
import { LIMITS, never } from '../support.js'

export interface Site {
  readonly origin: string
  readonly port: number
  readonly requests: string[]
  close(): Promise<void>
}

export type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** Pages by path; HTML unless they say otherwise. */
export async function startSite(pages: Record<string, string | Answer>, host = '127.0.0.1'): Promise<Site> {
  const requests: string[] = []
  const server: Server = createServer((request, response) => {
    const path = request.url ?? ''
    requests.push(path)
    const page = pages[path]
    if (page === undefined) response.writeHead(404).end()
    else if (typeof page === 'string') response.setHeader('content-type', 'text/html').end(page)
    else page(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://${host}:${port}`,
    port,
    requests,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Counts whoever connects, and says nothing. */
export async function startTripwire(): Promise<{ port: number; connects: () => number; close: () => void }> {
  let count = 0
  const server = createTcpServer((socket) => {
    count++
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '::', ipv6Only: false }, resolve))
  return { port: (server.address() as AddressInfo).port, connects: () => count, close: () => server.close() }
}

export function newBrowser(more: Partial<BrowserFetcherOptions> = {}): Fetcher {
  return createBrowserFetcher({ clock: systemClock, executable: null, maxPages: 2, ...more })
}

export function rendered(
  fetcher: Fetcher,
  url: string,
  limits: Partial<FetchLimits> = {},
  more: Partial<FetchRequest> = {},
  signal: StopSignal = never,
): Promise<FetchResponse> {
  const allowPrivate = [new URL(url).host]
  const request = { url, limits: { ...LIMITS, ...limits }, allowPrivate, render: RENDER_DEFAULTS, ...more }
  return fetcher.fetch(request, signal)
}

/** Chromium processes that this process, or `root`, started: whole trees. */
export function browsersUnder(root: number = process.pid): number[] {
  const rows = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line))
    .filter((match) => match !== null)
    .map(([, pid, parent, args]) => ({ pid: Number(pid), parent: Number(parent), args: args ?? '' }))
  const children = (parent: number): typeof rows => {
    const own = rows.filter((row) => row.parent === parent)
    return [...own, ...own.flatMap(({ pid }) => children(pid))]
  }
  return (
    children(root)
      // One that has ended, and that nobody has asked for its exit code, is listed as defunct.
      .filter(({ args }) => /chrom/i.test(args) && !args.includes('<defunct>'))
      .map(({ pid }) => pid)
  )
}
