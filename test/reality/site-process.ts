import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { profileOf } from '../../src/simulate/profile.js'
import type { ProfileInput } from '../../src/simulate/profile-schema.js'
import { type Answer, Web } from '../../src/simulate/web.js'
import { countIn } from './simulated-run.js'

/**
 * The web of a profile as real servers, one for each host, on addresses of loopback: the same hosts are slow, down or strict as in the simulation, because
 * both draw them from the seed. It counts what it sees, from the first request on, because starting workers is no part of a simulation; any message is
 * answered with the counts.
 */
const profile = profileOf(JSON.parse(process.argv[2] ?? '{}') as ProfileInput)
const web = new Web(profile)

const counts = { requests: 0, throttled: 0 }
const servedBySecond: number[] = []
let startedAt: number | null = null
let servedForMs = 0

const origins = await Promise.all(Array.from(web.urls, (_, host) => listen(host)))
process.on('message', () => process.send?.({ ...counts, servedBySecond, lastServedMs: servedForMs }))
process.on('disconnect', () => process.exit())
process.send?.({ origins, urls: Array.from(web.urls) })

function listen(host: number): Promise<string> {
  const server = createServer((request, response) => void answer(host, request, response).catch(() => {}))
  server.keepAliveTimeout = 120_000
  const address = `127.1.${host >> 8}.${host & 255}`
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, address, () => resolve(`http://${address}:${(server.address() as AddressInfo).port}`))
  })
}

async function answer(host: number, { url = '/' }: IncomingMessage, response: ServerResponse): Promise<void> {
  if (url === '/robots.txt') return send(response, 404, '')
  const page = Number(url.slice(url.lastIndexOf('/') + 1))
  const given: Answer = { kind: 'page', latencyMs: 0 }
  const now = performance.now()
  startedAt ??= now
  const since = startedAt
  counts.requests++
  web.answer(host, now, given)
  await sleep(given.latencyMs)
  switch (given.kind) {
    case 'page':
      served(since)
      return send(response, 200, html(host, page))
    case 'not_found':
      served(since)
      return send(response, 404, '')
    case 'server_error':
      // Not 503, which is a request to slow down.
      return send(response, 500, '')
    case 'throttled':
      counts.throttled++
      return send(response, 429, '', retryAfter())
    case 'banned':
      return send(response, 403, '')
    default:
      response.socket?.resetAndDestroy()
  }
}

/** A page that ends here: what it becomes afterwards takes no longer than a call to the queue. */
function served(since: number): void {
  servedForMs = performance.now() - since
  countIn(servedBySecond, servedForMs)
}

function retryAfter(): Record<string, string> {
  const ms = profile.rateLimits?.retryAfterMs ?? null
  return ms === null ? {} : { 'retry-after': String(ms / 1_000) }
}

function send(response: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, {
    'content-type': 'text/html',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  })
  response.end(body)
}

/** Page n links to the pages newPerPage · n + 1 …, so that every page has one that leads to it; the other links are known already. */
function html(host: number, page: number): string {
  const isFound = profile.seeds < profile.urls
  const { newPerPage, perPage } = profile.links
  const links = isFound
    ? Array.from({ length: perPage }, (_, nth) => (nth < newPerPage ? page * newPerPage + 1 + nth : nth)).filter(
        (target) => target < (web.urls[host] ?? 0),
      )
    : []
  const body = `<!doctype html><title>${page}</title>${links.map((target) => `<a href="/p/${target}">${target}</a>`).join('')}`
  return body.padEnd(profile.page.bytes, ' ')
}
