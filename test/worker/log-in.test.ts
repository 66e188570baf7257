import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { ShoalError } from '../../src/errors.js'
import type { FetchRequest } from '../../src/fetch/fetcher.js'
import type { Permit } from '../../src/frontier/frontier.js'
import { createMeter } from '../../src/observe/vitals/meter.js'
import { Busy } from '../../src/politeness/busy.js'
import { memoryLedger } from '../../src/proxy/memory/memory-ledger.js'
import { loadPools } from '../../src/proxy/pools.js'
import { createProxyAllocator } from '../../src/proxy/proxy-allocator.js'
import { spiderProxies } from '../../src/run/workers/spider-proxies.js'
import { defineSpider, type SpiderDefinition } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import { createAdmitter } from '../../src/url/admit.js'
import { fetchPage } from '../../src/worker/fetch-page.js'
import type { Visit, VisitParts } from '../../src/worker/visit-parts.js'
import { visitorsOf } from '../../src/worker/visitors.js'

const PAGE = 'https://club.test/page'
const LOGIN = 'https://club.test/login'

interface Setting {
  readonly session: NonNullable<SpiderDefinition['session']>
  /** Of each host; it begins with a slot that the lease took. */
  readonly paceMs?: number
  /** `beside`: pages go out without, others of the spider would not. */
  readonly proxied?: boolean | 'beside'
  /** 0: the proxy is broken. */
  readonly answer?: (url: string, port: number) => { status: number; location?: string }
}

function club({ session, paceMs = 0, proxied = false, answer = () => ({ status: 200 }) }: Setting) {
  const clock = new ManualClock()
  const sent: { url: string; port: number; headers: Readonly<Record<string, string>> }[] = []
  const spider = spiderFromDefinition(
    defineSpider({
      ...{
        name: 'club',
        start: [PAGE],
        robots: false,
        headers: { 'x-api-key': 'KEY' },
        handlerTimeout: '30s',
        session,
      },
      ...(proxied !== false && { proxy: 'dc' }),
      routes: {
        page: { match: '/page', ...(proxied === 'beside' && { proxy: false }), handler() {} },
        other: { match: '/**' },
      },
    }),
  )
  const [dc] = loadPools('http://proxy.test:8001 http://proxy.test:8002', {})
  const pools = dc === undefined ? new Map() : new Map([['dc', { ...dc, name: 'dc' }]])
  const allocator = createProxyAllocator({ ledger: memoryLedger({ clock }), clock, random: () => 0.5, worker: 'w' })
  let free = clock.mono() + paceMs
  const parts = {
    ...{ spider, clock, admitter: createAdmitter(spider.admit), log: { info() {} } },
    proxies: spiderProxies(spider, allocator, pools),
    visitors: visitorsOf(spider, clock, () => 0.5),
    frontier: {
      async permit(): Promise<Permit> {
        const waitMs = free - clock.mono()
        if (waitMs > 0) return { ok: false, lost: false, waitMs }
        free = clock.mono() + paceMs
        return { ok: true, permitMs: 2_000 }
      },
    },
    outbox: { async released() {}, release() {} },
    fetcher: {
      async fetch({ url, proxy, headers = {}, onDispatch }: FetchRequest) {
        onDispatch?.()
        const port = proxy?.port ?? 0
        sent.push({ url, port, headers })
        const { status, location } = answer(url, port)
        if (status === 0) throw new ShoalError('proxy_error', 'it is broken')
        const told = location === undefined ? {} : { location }
        return { url, status, headers: told, cookies: [], body: Buffer.alloc(0), wireBytes: 0, ms: 0 }
      },
    },
    meter: createMeter(1, clock),
  } as unknown as VisitParts
  const visit = () => {
    const link = { url: PAGE, host: 'club.test', fp: '0', route: 'page', depth: 0, priority: 0 }
    const current = {
      ...{
        lease: { crawl: 'c', token: 't', permitMs: 2_000, link },
        grantedAt: clock.mono(),
        stop: { aborted: false },
      },
      ...{ lost: false, permitUsed: false, proxy: null, started: false, produced: false, settling: false },
    } as unknown as Visit
    return { current, ended: inTime(fetchPage(current, parts, null), clock) }
  }
  return { visit, sent, urls: () => sent.map(({ url }) => url) }
}

/** What comes of it within five minutes. */
async function inTime(fetched: Promise<unknown>, clock: ManualClock): Promise<unknown> {
  let result: unknown = 'nothing'
  fetched.then(
    (value) => {
      result = value
    },
    (error: unknown) => {
      result = error
    },
  )
  for (let turns = 0; result === 'nothing' && turns < 3_000; turns++) {
    for (let n = 0; n < 4; n++) await setImmediate()
    clock.advance(100)
  }
  return result
}

it('waits out the pace of its host', async () => {
  const { visit, urls } = club({
    paceMs: 20_000,
    session: {
      async login({ fetch }) {
        await fetch(LOGIN)
        await fetch(`${LOGIN}/2`)
      },
    },
  })
  expect(await visit().ended).toMatchObject({ kind: 'page' })
  expect(urls()).toEqual([LOGIN, `${LOGIN}/2`, PAGE])
})

it('is not to blame for a host without a slot, whatever its own code makes of that', async () => {
  const { visit, sent } = club({
    paceMs: 3_600_000,
    session: {
      login: ({ fetch }) =>
        fetch(LOGIN).then(
          () => {},
          () => Promise.reject(new Error('no login')),
        ),
    },
  })
  expect(await visit().ended).toBeInstanceOf(Busy)
  expect(sent).toEqual([])
})

it('goes on with another proxy when that of its session is broken', async () => {
  let first: number | null = null
  const { visit, sent } = club({
    proxied: true,
    session: { login: ({ fetch }) => fetch(LOGIN).then(() => {}) },
    answer(_url, port) {
      first ??= port
      return { status: port === first ? 0 : 200 }
    },
  })
  expect(await visit().ended).toMatchObject({ kind: 'page' })
  const [broken, ...others] = sent
  expect(others.map(({ url }) => url)).toEqual([LOGIN, PAGE])
  expect(new Set(others.map(({ port }) => port))).not.toContain(broken?.port)
})

it('tells no other origin the headers of the spider', async () => {
  const { visit, sent } = club({
    session: { login: ({ fetch }) => fetch(LOGIN, { headers: { authorization: 'Bearer SECRET' } }).then(() => {}) },
    answer: (url) =>
      url === LOGIN
        ? { status: 302, location: 'https://other.test/sso' }
        : url === 'https://other.test/sso'
          ? { status: 302, location: 'https://club.test/back' }
          : { status: 200 },
  })
  await visit().ended
  expect(sent.map(({ url, headers }) => [url, headers['x-api-key'], headers.authorization])).toEqual([
    [LOGIN, 'KEY', 'Bearer SECRET'],
    ['https://other.test/sso', undefined, undefined],
    ['https://club.test/back', undefined, undefined],
    [PAGE, 'KEY', undefined],
  ])
})

it.each([
  ['of one request', { requests: 1 }],
  ['shorter than its login', { time: '1s' as const }],
])('is good for a page in a session %s', async (_what, ends) => {
  const { visit, urls } = club({
    paceMs: 2_000,
    session: { ...ends, login: ({ fetch }) => fetch(LOGIN).then(() => {}) },
  })
  expect(await visit().ended).toMatchObject({ kind: 'page' })
  expect(urls()).toEqual([LOGIN, PAGE])
})

it('that hangs fails after the time of a handler, which does not run while it waits for its turn', async () => {
  const { visit, urls } = club({
    paceMs: 60_000,
    session: {
      async login({ fetch }) {
        await fetch(LOGIN)
        await new Promise(() => {})
      },
    },
  })
  expect(await visit().ended).toMatchObject({ code: 'login_failed', message: 'the login did nothing for 30000 ms' })
  expect(urls()).toEqual([LOGIN])
})

it('is not waited for by a visit that is given up', async () => {
  const { visit } = club({ session: { login: () => new Promise(() => {}) } })
  const [runs, waits] = [visit(), visit()]
  runs.current.stop.aborted = true
  waits.current.stop.aborted = true
  expect(await Promise.all([runs.ended, waits.ended])).toMatchObject([{ code: 'aborted' }, { code: 'aborted' }])
})

it('on another site goes out without a proxy where the page does', async () => {
  const elsewhere = 'https://accounts.test/login'
  const { visit, sent } = club({
    proxied: 'beside',
    session: { login: ({ fetch }) => fetch(elsewhere).then(() => {}) },
  })
  expect(await visit().ended).toMatchObject({ kind: 'page' })
  expect(sent.map(({ url, port }) => [url, port])).toEqual([
    [elsewhere, 0],
    [PAGE, 0],
  ])
})

it('leaves a proxy that rests to itself: the page goes on with another one, soon', async () => {
  let refused: number | null = null
  const { visit, sent } = club({
    proxied: true,
    session: {
      async login({ fetch }) {
        // Until it rests.
        for (let n = 0; n < 5; n++) await fetch(LOGIN).catch(() => {})
        await fetch(`${LOGIN}/2`)
      },
    },
    answer(_url, port) {
      refused ??= port
      return { status: port === refused ? 429 : 200 }
    },
  })
  const first = await visit().ended
  expect(first).toBeInstanceOf(Busy)
  expect((first as Busy).waitMs).toBeLessThan(1_000)
  expect(await visit().ended).toMatchObject({ kind: 'page' })
  expect(sent.filter(({ port }) => port !== refused).map(({ url }) => url)).toEqual([
    ...Array.from({ length: 5 }, () => LOGIN),
    `${LOGIN}/2`,
    PAGE,
  ])
})
