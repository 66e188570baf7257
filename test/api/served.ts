import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import type { ApiParts } from '../../src/api/parts.js'
import { type Dashboard, serveDashboard } from '../../src/api/server.js'
import { systemClock } from '../../src/clock.js'
import { maskUrl } from '../../src/config.js'
import { silentLog } from '../../src/log.js'
import { createMonitor } from '../../src/observe/metrics/monitor.js'
import { fingerprint } from '../../src/url/fingerprint.js'
import { type Backends, openBackends } from '../../src/wire/backends.js'
import { CRAWL, SPEC, seedBackends } from '../cli/seeded-database.js'
import { tempDir } from '../support/cli.js'
import { startPostgres } from '../support/postgres-server.js'
import { startRedis } from '../support/redis-server.js'

/** What must never leave: passwords of servers, and what links carry to sites. */
export const SECRETS = ['redis-canary', 'postgres-canary', 'header-canary', 'body-canary', 'data-canary'] as const
const BEARER = 'Bearer header-canary'
export const XSS = '<img src=x onerror=alert(1)>'
/** It waits in the queue with all that a link can carry. */
export const LADEN = 'https://shop.example/laden?q=%22%3E%3Cscript%3E'

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export interface CallOptions {
  readonly method?: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string | Buffer
  /** Null: none. */
  readonly token?: string | null
  /** Another address of loopback, for who is to be locked out. */
  readonly from?: string
}

export interface Served {
  readonly dashboard: Dashboard
  readonly backends: Backends
  /** As it stands: nothing of the path is tidied up. */
  call(path: string, options?: CallOptions): Promise<Answer>
}

export const PLANTS = ['sqlite', 'redis and postgres'] as const

/** A backends with one crawl that has links in every state, and the API on it. */
export function served(kind: (typeof PLANTS)[number], { spiders = [] }: { spiders?: readonly string[] } = {}): Served {
  const dir = tempDir('api')
  const ends: (() => Promise<unknown>)[] = [async () => dir.remove()]
  let backends: Backends
  let dashboard: Dashboard
  beforeAll(async () => {
    const addresses = kind === 'sqlite' ? sqlite(dir.path) : await servers(ends)
    backends = await openBackends(addresses)
    ends.unshift(() => backends.close())
    await fill(backends)
    dashboard = await serveDashboard(partsOf(backends, addresses, spiders), {
      ...{ host: '127.0.0.1', port: 0, token: null, publicUrl: null },
    })
    ends.unshift(() => dashboard.close())
  })
  afterAll(async () => {
    for (const end of ends) await end()
  })
  return {
    get dashboard() {
      return dashboard
    },
    get backends() {
      return backends
    },
    call: (path, options) => callDashboard(dashboard, path, options),
  }
}

function sqlite(dir: string) {
  const file = `sqlite:${join(dir, 'shoal.db')}`
  return { queue: file, store: file }
}

async function servers(ends: (() => Promise<unknown>)[]) {
  const [redis, postgres] = await Promise.all([
    startRedis({ password: 'redis-canary' }),
    startPostgres({ password: 'postgres-canary' }),
  ])
  ends.push(
    () => redis.stop(),
    () => postgres.end(),
  )
  return { queue: redis.url, store: postgres.address() }
}

export function partsOf(
  backends: Backends,
  { queue, store }: { queue: string; store: string },
  spiders: readonly string[] = [],
): ApiParts {
  return {
    ...{ backends, clock: systemClock, log: silentLog, pools: ['dc'], fleet: false },
    queue: maskUrl(queue),
    store: maskUrl(store),
    spiders: new Set(spiders),
    spiderOf: async () => null,
    monitor: createMonitor({ backends, clock: systemClock, fleet: false, queue: true, localWorkers: null }),
    start: async (_spider, fresh) => ({ crawl: CRAWL, resumed: !fresh, setAside: fresh ? { id: 'shop-old' } : null }),
  }
}

async function fill({ frontier, store, proxies }: Backends): Promise<void> {
  await seedBackends(frontier, store)
  await frontier.add(CRAWL, [
    {
      ...{ url: LADEN, fp: fingerprint(LADEN), host: 'shop.example', route: 'product', depth: 1, priority: -5 },
      request: { method: 'POST', headers: { authorization: BEARER, cookie: 'a=header-canary' }, body: 'body-canary' },
      data: { token: 'data-canary' },
    },
  ])
  await store.crawls.note({
    ...{ crawl: CRAWL, spider: 'shop', queue: '', queueIdentity: await frontier.identity(), state: 'open' },
    ...{ spec: SPEC, openedAt: systemClock.now() },
  })
  await frontier.lease({ worker: XSS, seq: 1, want: 0, spiders: ['nobody'] })
  const ask = {
    ask: 'a1',
    pool: 'dc',
    proxies: ['proxy-1'],
    host: 'shop.example',
    site: 'shop.example',
    holdMs: 60_000,
  }
  const limits = { delayMs: 0, concurrency: 1 }
  await proxies.grant([{ ...ask, limits }])
  await proxies.report([
    {
      ...{ ask: 'a1', pool: 'dc', proxy: 'proxy-1', host: ask.host, site: ask.site, limits, elapsedMs: 20, bytes: 10 },
      ...{ verdict: { kind: 'banned', retryAfterMs: 60_000 }, cost: 0.1 },
      rest: { strikes: 1, baseMs: 1_000, capMs: 10_000 },
    },
  ])
}

export function callDashboard({ port, token }: Dashboard, path: string, options: CallOptions = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, body, from } = options
  const given = options.token === undefined ? token : options.token
  return new Promise((resolve, reject) => {
    const call = request(
      {
        ...{ host: '127.0.0.1', port, path, method, agent: false, localAddress: from },
        setHost: false,
        headers: {
          host: `127.0.0.1:${port}`,
          ...(given === null ? {} : { authorization: `Bearer ${given}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(body === undefined || 'transfer-encoding' in headers
            ? {}
            : { 'content-length': Buffer.byteLength(body) }),
          ...headers,
        },
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        // A stream of events does not end: its beginning is enough.
        if (response.headers['content-type']?.startsWith('text/event-stream')) {
          response.once('data', () => call.destroy())
          response.once('close', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
          return
        }
        response.once('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
        response.once('error', reject)
      },
    )
    call.once('error', (error) => reject(error))
    if (body !== undefined) call.write(body)
    call.end()
  })
}

export function errorOf({ text }: Answer): { code: string; message: string; hint: string } {
  return (JSON.parse(text) as { error: { code: string; message: string; hint: string } }).error
}
