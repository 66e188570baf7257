import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { ShoalError } from '../../src/errors.js'
import type { FetchRequest, FetchResponse } from '../../src/fetch/fetcher.js'
import type { HostReport, Lease, Permit, Release } from '../../src/frontier/frontier.js'
import { createMeter } from '../../src/observe/vitals/meter.js'
import { createRobotsCache } from '../../src/politeness/robots-cache.js'
import { memoryLedger } from '../../src/proxy/memory/memory-ledger.js'
import { loadPools } from '../../src/proxy/pools.js'
import { createProxyAllocator } from '../../src/proxy/proxy-allocator.js'
import { spiderProxies } from '../../src/run/workers/spider-proxies.js'
import { defineSpider } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import { createAdmitter } from '../../src/url/admit.js'
import { fetchPage } from '../../src/worker/fetch-page.js'
import type { Visit, VisitParts } from '../../src/worker/visit-parts.js'

const PAGE = 'https://site.test/page'
const OTHER = 'https://site.test/other'

/** Visits of one site through two proxies; `answer` stands for proxies and site. */
function site(
  answer: (port: number, url: string, clock: ManualClock) => number,
  proxied: boolean | 'elsewhere' = true,
  banned: () => boolean = () => false,
  rules = '',
) {
  const clock = new ManualClock()
  const dialled: number[] = []
  const through: number[] = []
  const reports: HostReport[] = []
  const spider = spiderFromDefinition(
    defineSpider({
      name: 'proxies',
      start: [PAGE],
      robots: rules !== '',
      ...(proxied === true && { proxy: { pool: 'dc', banned } }),
      pace: { delay: '1s', concurrency: 1 },
      routes: {
        ...(proxied === 'elsewhere' && { picky: { match: '/picky', proxy: 'dc' } }),
        page: { match: '/**', handler() {} },
      },
    }),
  )
  const [dc] = loadPools('http://proxy.test:8001 http://proxy.test:8002', {})
  const allocator = createProxyAllocator({ ledger: memoryLedger({ clock }), clock, random: () => 0.5, worker: 'w' })
  const pools = dc === undefined ? new Map() : new Map([['dc', { ...dc, name: 'dc' }]])
  const parts = {
    spider,
    admitter: createAdmitter(spider.admit),
    clock,
    proxies: spiderProxies(spider, allocator, pools),
    visitors: null,
    robots: createRobotsCache({ clock, productToken: 'Shoal', notes: null, holder: 'w' }),
    log: { info() {}, debug() {} },
    frontier: {
      async setHost() {},
      async permit(): Promise<Permit> {
        return { ok: true, permitMs: 2_000 }
      },
    },
    outbox: {
      async released() {},
      release: ({ report }: Release) => void reports.push(report),
    },
    fetcher: {
      async fetch({ url, proxy, onDispatch }: FetchRequest) {
        const port = proxy?.port ?? 0
        dialled.push(port)
        const status = answer(port, url, clock)
        onDispatch?.()
        through.push(port)
        if (status === 0) throw new ShoalError('proxy_error', 'it is broken')
        const body = Buffer.from(url.endsWith('/robots.txt') ? rules : '')
        const response = { url, status, headers: {}, cookies: [], body, wireBytes: 9, ms: 1 }
        return response satisfies Partial<FetchResponse> as FetchResponse
      },
    },
    meter: createMeter(1, clock),
  } as unknown as VisitParts
  const visit = (url: string) => {
    const link = { url, host: 'site.test', fp: url, route: 'page', depth: 0, priority: 0 }
    const lease = { crawl: 'c', token: url, permitMs: 2_000, link } as unknown as Lease
    const flags = { lost: false, permitUsed: false, started: false, produced: false, settling: false }
    const current = { lease, grantedAt: clock.mono(), stop: { aborted: false }, proxy: null, ...flags } as Visit
    return fetchPage(current, parts, null)
  }
  return { visit, dialled, through, reports, clock, statuses: () => parts.meter.read([]).statuses }
}

/** What a visit ends with while time passes; null for a page. */
async function ended(visit: Promise<unknown>, clock: ManualClock): Promise<unknown> {
  let error: unknown = null
  let over = false
  visit
    .catch((thrown: unknown) => {
      error = thrown
    })
    .finally(() => {
      over = true
    })
  for (; !over; clock.advance(100)) await setImmediate()
  return error
}

it('asks again for a proxy whose grant grew old while the connection was made', async () => {
  let dialMs = 500
  const { visit, dialled, through, clock } = site((_port, _url, clock) => {
    clock.advance(dialMs)
    dialMs = 0
    return 200
  })
  expect(await ended(visit(PAGE), clock)).toBeNull()
  // Through the same one, by the connection that stands: another would have to be dialled, and its grant would grow old as well.
  expect(dialled).toEqual([through[0], through[0]])
  expect(through).toHaveLength(1)
})

it('leaves the host open when one proxy is refused, and takes another for the next page', async () => {
  const refused = new Set<number>()
  const { visit, through, reports } = site((port) => {
    if (refused.size === 0) refused.add(port)
    return refused.has(port) ? 429 : 200
  })
  await expect(visit(PAGE)).rejects.toMatchObject({ code: 'proxy_banned' })
  await visit(OTHER)
  expect(new Set(through).size).toBe(2)
  expect(reports.map(({ kind }) => kind)).toEqual(['wait', 'ok'])
})

it('takes another proxy for one that is broken, within the same visit', async () => {
  let first: number | null = null
  const { visit, through, reports } = site((port) => {
    first ??= port
    return port === first ? 0 : 200
  })
  expect(await visit(PAGE)).toMatchObject({ kind: 'page' })
  expect(new Set(through).size).toBe(2)
  expect(reports.at(-1)).toEqual({ kind: 'ok' })
})

it('closes the host until a proxy is back when all of them rest, at no cost', async () => {
  const { visit, reports, clock } = site(() => 0)
  expect(await ended(visit(PAGE), clock)).toMatchObject({ code: 'proxy_error', next: 'throttle' })
  expect(await ended(visit(PAGE), clock)).toMatchObject({ code: 'proxies_resting', next: 'backend' })
  expect(reports.at(-1)).toMatchObject({ kind: 'wait' })
  expect(reports.at(-1)).not.toMatchObject({ ms: 0 })
})

it('blocks the host for a 429 that came without a proxy', async () => {
  const { visit, reports } = site(() => 429, false)
  await visit(PAGE)
  expect(reports).toMatchObject([{ kind: 'throttled' }])
})

it('tells by name what the check for bans throws, and holds it against nobody', async () => {
  const banned = (): boolean => {
    throw new TypeError('no such field')
  }
  const { visit, reports, statuses } = site(() => 200, true, banned)
  await expect(visit(PAGE)).rejects.toMatchObject({
    code: 'handler_error',
    message: 'proxy.banned: TypeError: no such field',
  })
  expect(reports).toEqual([{ kind: 'ok' }])
  // Its answer is counted once.
  expect(statuses()).toEqual({ 200: 1 })
})

it('goes by the robots.txt that a second proxy is given, when the first is refused it', async () => {
  let first: number | null = null
  const { visit, through, clock } = site(
    (port) => {
      first ??= port
      return port === first ? 403 : 200
    },
    true,
    () => false,
    'User-agent: *\nDisallow: /page',
  )
  expect(await ended(visit(PAGE), clock)).toMatchObject({ code: 'robots_disallowed' })
  expect(new Set(through).size).toBe(2)
})

it('takes a refusal by three proxies for the answer of the site', async () => {
  const { visit, through, clock } = site(
    (_port, url) => (url.endsWith('/robots.txt') ? 403 : 200),
    true,
    () => false,
    'unread',
  )
  expect(await ended(visit(PAGE), clock)).toBeNull()
  expect(through).toHaveLength(4)
})

it('asks for robots.txt once where no proxy stands between, also beside routes that have some', async () => {
  const { visit, through, clock } = site(
    (_port, url) => (url.endsWith('/robots.txt') ? 403 : 200),
    'elsewhere',
    () => false,
    'unread',
  )
  expect(await ended(visit(PAGE), clock)).toBeNull()
  expect(through).toHaveLength(2)
})
