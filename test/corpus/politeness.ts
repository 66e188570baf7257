import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ManualClock } from '../../src/clock.js'
import { afterReport, FRESH_HOST } from '../../src/frontier/pace.js'
import { memoryNotes } from '../../src/notes/memory/memory-notes.js'
import { parseRetryAfter } from '../../src/politeness/retry-after.js'
import { parseRobots } from '../../src/politeness/robots.js'
import { createRobotsCache } from '../../src/politeness/robots-cache.js'
import type { SpiderDefinition } from '../../src/spider/definition.js'
import type { Bench } from './bench.js'
import type { Fixture } from './fixture.js'

/** robots.txt and requests for time. */

type Serve = (path: string, response: ServerResponse, request: IncomingMessage) => void

interface Site {
  readonly origin: string
  readonly port: number
  readonly paths: readonly string[]
}

/** A site with a robots.txt of its own, for as long as `use` takes. */
async function withSite<Result>(serve: Serve, use: (site: Site) => Promise<Result>): Promise<Result> {
  const paths: string[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    paths.push(path)
    serve(path, response, request)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  try {
    return await use({ origin: `http://127.0.0.1:${port}`, port, paths })
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
}

const ok = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>x</h1>')
const FORBIDDEN = 'robots_disallowed → skipped'
const UNREACHABLE = 'robots_unreachable → retry'

/** What becomes of /open and of /closed, by the site's robots.txt. */
function robots(
  number: number,
  name: string,
  expected: { readonly open: string; readonly closed: string },
  serve: Serve,
  definition: Partial<SpiderDefinition> = {},
): Fixture {
  const visitBoth = async ({ visit }: Bench) =>
    withSite(
      (path, response, request) =>
        path === '/open' || path === '/closed' ? ok(response) : serve(path, response, request),
      async ({ origin, port }) => {
        const more = {
          definition: { robots: true, maxThrottles: 0, allowPrivate: [`127.0.0.1:${port}`], ...definition },
        }
        return `open: ${await visit(`${origin}/open`, more)}, closed: ${await visit(`${origin}/closed`, more)}`
      },
    )
  return { number, name, expected: `open: ${expected.open}, closed: ${expected.closed}`, run: visitBoth }
}

const RULES = 'User-agent: *\nDisallow: /closed\n'
const OBEYED = { open: 'page', closed: FORBIDDEN }
const ALL = { open: 'page', closed: 'page' }
const NONE = { open: UNREACHABLE, closed: UNREACHABLE }
const file =
  (body: string | Buffer): Serve =>
  (_, response) =>
    response.writeHead(200, { 'content-type': 'text/plain' }).end(body)
const status =
  (code: number): Serve =>
  (_, response) =>
    response.writeHead(code).end(RULES)

/** /robots.txt leads to /1, /1 to /2 … and the last one has the rules. */
const redirects =
  (count: number): Serve =>
  (path, response) => {
    const nth = path === '/robots.txt' ? 0 : Number(path.slice(1))
    if (nth === count) response.writeHead(200).end(RULES)
    else response.writeHead(302, { location: `/${nth + 1}` }).end()
  }

const filler = (bytes: number) => `${'# nothing to see here\n'.repeat(Math.ceil(bytes / 22))}`

const ROBOTS: readonly Fixture[] = [
  robots(34, 'rules', OBEYED, file(RULES)),
  ...[404, 410, 401, 403].map((code) => robots(35, `robots.txt answers ${code}`, ALL, status(code))),
  robots(35, 'robots.txt answers 403, strict', { open: FORBIDDEN, closed: FORBIDDEN }, status(403), {
    robots: 'strict',
  }),
  ...[429, 500, 503].map((code) => robots(36, `robots.txt answers ${code}`, NONE, status(code))),
  robots(36, 'robots.txt never answers', NONE, () => {}, { fetch: { timeout: '300ms' } }),
  robots(36, 'robots.txt hangs up', NONE, (_, response) => response.destroy()),
  robots(37, 'five redirects to the rules', OBEYED, redirects(5)),
  robots(37, 'six redirects to the rules', ALL, redirects(6)),
  robots(38, 'ten megabytes, rules first', OBEYED, file(RULES + filler(10_000_000))),
  robots(38, 'longer than a page may be', OBEYED, file(RULES + filler(50_000)), { fetch: { maxBodyBytes: '10kb' } }),
  robots(
    38,
    'cut inside a line at 500 KiB',
    OBEYED,
    file(`${RULES}${'#'.repeat(500 * 1024 - RULES.length - '\nDisallow: /'.length)}\nDisallow: /open\n`),
  ),
  robots(39, 'a page of HTML', ALL, file('<!doctype html><title>Disallow: /closed</title><p>not found')),
  robots(39, 'binary', ALL, file(Buffer.from(Array.from({ length: 4_096 }, (_, i) => (i * 7) % 256)))),
  robots(39, 'UTF-16', OBEYED, file(Buffer.from(`\uFEFF${RULES}`, 'utf16le'))),
  robots(39, 'a byte order mark', OBEYED, file(`\uFEFF${RULES}`)),
  robots(39, 'NUL', OBEYED, file(`\0\0\n${RULES}Disallow: /op\0en\n`)),
  robots(39, 'lines that end with CR', OBEYED, file(RULES.replaceAll('\n', '\r'))),
]

function matchTime(): string {
  const { allows } = parseRobots('User-agent: *\nDisallow: /*a*a*a*a*a*a*a*b', 'Shoal')
  const path = `/${'a'.repeat(2_000)}`
  allows(path)
  const start = performance.now()
  const allowed = allows(path)
  return `${allowed ? 'allowed' : 'forbidden'} in ${performance.now() - start < 5 ? 'less' : 'more'} than 5 ms`
}

const delays = (values: readonly string[]) =>
  values.map((value) => parseRobots(`User-agent: *\nCrawl-delay: ${value}`, 'Shoal').crawlDelayMs).join(' ')

const answer = (code: number, body = '') => ({ status: code, body: Buffer.from(body) })

async function oldCopy(): Promise<string> {
  const clock = new ManualClock()
  const cache = createRobotsCache({ clock, productToken: 'Shoal', notes: memoryNotes({ clock }), holder: 'w1' })
  const fetched: number[] = []
  const check = async (code: number) => {
    const get = async () => {
      fetched.push(code)
      return answer(code, RULES)
    }
    const robots = await cache.check('http://a.test/', get)
    return robots.retryAt === null && !robots.allows('/closed') && robots.allows('/open')
  }
  const fresh = await check(200)
  clock.advance(24 * 3_600_000 - 1)
  const day = await check(404)
  clock.advance(1)
  const old = await check(503)
  return `${fresh} ${day} ${old}, fetched ${fetched.join(' ')}`
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Two workers, ten thousand hosts, two visits of each at once. */
async function oneFlight(): Promise<string> {
  const clock = new ManualClock()
  const notes = memoryNotes({ clock })
  const caches = ['w1', 'w2'].map((holder) =>
    createRobotsCache({ clock, productToken: 'Shoal', notes, holder, maxEntries: 20_000 }),
  )
  let fetched = 0
  const get = async () => {
    fetched++
    await Promise.resolve()
    return answer(200, RULES)
  }
  const visits = Array.from({ length: 10_000 }, (_, host) =>
    caches.flatMap((cache) => Array.from({ length: 2 }, () => cache.check(`http://h${host}.test/`, get, turn))),
  )
  const all = await Promise.all(visits.flat())
  return `${all.length} asked, ${fetched} fetched`
}

/** How long the host is left alone, for all workers. */
function blockFor(header: string | undefined): number {
  const now = Date.parse('Sun, 15 Nov 2026 12:00:00 GMT')
  const report = { kind: 'throttled', retryAfterMs: parseRetryAfter(header, now) } as const
  return (afterReport(FRESH_HOST, report, now, now).blockedUntil - now) / 1000
}

const RETRY_AFTER: readonly (readonly [header: string | undefined, seconds: number])[] = [
  ['120', 120],
  ['Sun, 15 Nov 2026 12:02:00 GMT', 120],
  ['Sun, 15 Nov 2026 11:00:00 GMT', 5],
  ['99999999', 3_600],
  ['-1', 5],
  ['NaN', 5],
  ['', 5],
  ['1, 120', 120],
  [undefined, 5],
]

const DIRECT: readonly Fixture[] = [
  {
    number: 36,
    name: 'the name cannot be resolved now',
    expected: UNREACHABLE,
    run: ({ visit }) =>
      visit('http://flaky.test/open', {
        definition: { robots: true, maxThrottles: 0 },
        lookup: (_, done) => done(Object.assign(new Error('SERVFAIL'), { code: 'EAI_AGAIN' }), []),
      }),
  },
  { number: 40, name: 'many stars', expected: 'allowed in less than 5 ms', run: async () => matchTime() },
  {
    number: 41,
    name: 'Crawl-delay 0, -1, 1e9, abc',
    expected: '0  300000 ',
    run: async () => delays(['0', '-1', '1e9', 'abc']),
  },
  { number: 42, name: 'an old copy after a day', expected: 'true true true, fetched 200 503', run: oldCopy },
  { number: 43, name: '10,000 hosts at once', expected: '40000 asked, 10000 fetched', run: oneFlight },
  ...RETRY_AFTER.map(([header, seconds]) => ({
    number: 44,
    name: header === undefined ? '429 without Retry-After' : `Retry-After: ${header}`,
    expected: `${seconds} s`,
    run: async () => `${blockFor(header)} s`,
  })),
  {
    number: 45,
    name: '429 for ever',
    expected: 'throttled → throttle, asked 2 times, 1 attempt',
    run: ({ crawl }) =>
      withSite(
        (_, response) => response.writeHead(429, { 'retry-after': '1' }).end(),
        async ({ origin, port, paths }) => {
          const definition = { maxThrottles: 1, allowPrivate: [`127.0.0.1:${port}`] }
          const { outcome, links } = await crawl(`${origin}/`, { definition })
          return `${outcome}, asked ${paths.length} times, ${links[0]?.attempts} attempt`
        },
      ),
  },
  {
    number: 46,
    name: '503 with Retry-After on one page',
    expected: 'page; all but the other host waited: slow fast fast fast slow slow',
    run: ({ crawl }) => {
      const order: string[] = []
      return withSite(
        (_, response) => {
          order.push('slow')
          if (order.filter((name) => name === 'slow').length === 1)
            response.writeHead(503, { 'retry-after': '1' }).end()
          else ok(response)
        },
        (slow) =>
          withSite(
            (_, response) => {
              order.push('fast')
              ok(response)
            },
            async (fast) => {
              const start = [`${slow.origin}/1`, `${slow.origin}/2`, ...[1, 2, 3].map((nth) => `${fast.origin}/${nth}`)]
              const allowPrivate = [slow, fast].map(({ port }) => `127.0.0.1:${port}`)
              const { outcome } = await crawl(start[0] ?? '', { definition: { start, allowPrivate } })
              return `${outcome}; all but the other host waited: ${order.join(' ')}`
            },
          ),
      )
    },
  },
]

export const POLITENESS: readonly Fixture[] = [...ROBOTS, ...DIRECT]
