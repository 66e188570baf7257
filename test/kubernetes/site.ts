import { createServer, type Server } from 'node:http'
import type { SeenAccess } from '../support/access-log.js'
import { siteAddress } from './network.js'

export const DELAY_MS = 1_000
const LATENCY_MS = 800
const PORT = 8080
/** A request that comes while the event loop stands still is noted late; it may have come as early as the last turn. */
const TURN_MS = 5

export interface Site {
  readonly origins: readonly string[]
  readonly log: readonly SeenAccess[]
  /** So many pages on each host from now on; the start page links to them. */
  shape(pagesOf: (host: number) => number): void
  /** Start pages included. */
  readonly pages: number
  stop(): void
}

/** Hosts that take 0.8 s for every page. The log is written when a request arrives, and by nothing that Shoal says. */
export async function startSite(hosts: number): Promise<Site> {
  const log: (SeenAccess & { end: number | null; status: number })[] = []
  let pagesOf = (_: number) => 0
  const servers: Server[] = []
  const now = () => performance.timeOrigin + performance.now()
  let turnAt = now()
  const turns = setInterval(() => {
    turnAt = now()
  }, TURN_MS)
  for (let host = 0; host < hosts; host++) {
    const server = createServer((request, response) => {
      const entry = {
        ...{ t: now(), early: turnAt, end: null as number | null, status: 0, bytes: 0 },
        ...{ host: String(host), method: request.method ?? '', path: request.url ?? '', n: 1, run: 1, conn: 0, ua: '' },
      }
      log.push(entry)
      setTimeout(() => {
        const links =
          entry.path === '/' ? Array.from({ length: pagesOf(host) }, (_, n) => `<a href="/p/${n}">${n}</a>`) : []
        entry.status = entry.path === '/robots.txt' ? 404 : 200
        response.writeHead(entry.status, { 'content-type': 'text/html' })
        response.end(`<title>${entry.path}</title>${links.join('')}`)
        entry.end = now()
      }, LATENCY_MS)
    })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(PORT, siteAddress(host), resolve)
    })
    servers.push(server)
  }
  return {
    origins: servers.map((_, host) => `http://${siteAddress(host)}:${PORT}`),
    log,
    shape(next) {
      pagesOf = next
    },
    get pages() {
      return servers.reduce((sum, _, host) => sum + 1 + pagesOf(host), 0)
    },
    stop() {
      clearInterval(turns)
      for (const server of servers) {
        server.close()
        server.closeAllConnections()
      }
    },
  }
}

/** The spider of the run, as the ConfigMap gets it. */
export function spiderFor(site: Site): string {
  const hosts = site.origins.map((origin) => new URL(origin).host)
  return `import { defineSpider } from 'shoal'
import { z } from 'zod'

export default defineSpider({
  name: 'fleet',
  start: ${JSON.stringify(site.origins.map((origin) => `${origin}/`))},
  allowPrivate: ${JSON.stringify(hosts)},
  pace: { delay: '${DELAY_MS}ms', concurrency: 1 },
  records: { page: z.object({ title: z.string() }) },
  routes: {
    page: {
      match: '**',
      follow: [{ links: 'a', route: 'page' }],
      handler: (page, out) => void out.record('page', page.url, { title: page.$('title').text() }),
    },
  },
})
`
}
