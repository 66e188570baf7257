import { expect, it } from 'vitest'
import { ShoalError } from '../../src/errors.js'
import { fetchPage } from '../../src/worker/fetch-page.js'
import { againAfter, isDoubtfulRobots } from '../../src/worker/judge-answer.js'
import { PAGE, sendingOf, visitParts } from './visit-parts.js'

const OTHER = 'https://site.test/other'

it('leaves the host open when one proxy is refused, and takes another for the next page', async () => {
  let refused: number | null = null
  const { parts, leased, sent, released } = visitParts({
    spider: { proxy: 'dc' },
    answer({ proxy }) {
      refused ??= proxy?.port ?? 0
      return proxy?.port === refused ? 429 : 200
    },
  })
  await expect(fetchPage(leased(), parts, null)).rejects.toMatchObject({ code: 'proxy_banned' })
  await fetchPage(leased({ url: OTHER }), parts, null)
  expect(new Set(sent.map(({ proxy }) => proxy?.port)).size).toBe(2)
  expect(released.map(({ report }) => report)).toEqual([{ kind: 'wait', ms: 0 }, { kind: 'ok' }])
})

it('blocks the host for a 429 that came without a proxy', async () => {
  const { parts, leased, released } = visitParts({ answer: () => ({ status: 429, headers: { 'retry-after': '7' } }) })
  await fetchPage(leased(), parts, null)
  expect(released.map(({ report }) => report)).toEqual([{ kind: 'throttled', retryAfterMs: 7_000 }])
})

it('names what the check for bans throws, and holds it against nobody', async () => {
  const banned = (): boolean => {
    throw new TypeError('no such field')
  }
  const { parts, leased, released } = visitParts({ spider: { proxy: { pool: 'dc', banned } } })
  await expect(fetchPage(leased(), parts, null)).rejects.toMatchObject({
    code: 'handler_error',
    place: expect.stringContaining('judge-answer.test.ts:'),
    message: expect.stringMatching(/:\d+: proxy\.banned: TypeError: no such field$/),
  })
  expect(released.map(({ report }) => report)).toEqual([{ kind: 'ok' }])
  // Its answer is counted once.
  expect(parts.meter.read([]).statuses).toEqual({ 200: 1 })
})

it.each([
  ['timeout', { kind: 'failed' }, { 0: 1 }],
  ['too_large', { kind: 'ok' }, { 0: 1 }],
  ['no_sockets', { kind: 'wait', ms: 0 }, {}],
] as const)('after %s the slot is free, with a report of %o', async (code, report, statuses) => {
  const { parts, leased, released } = visitParts({
    answer() {
      throw new ShoalError(code, 'no answer')
    },
  })
  await expect(fetchPage(leased(), parts, null)).rejects.toMatchObject({ code })
  expect(released.map((one) => one.report)).toEqual([report])
  expect(parts.meter.read([]).statuses).toEqual(statuses)
})

it('takes a TLS error behind a proxy for the proxy, and without one for the site', async () => {
  const answer = () => {
    throw new ShoalError('tls_error', 'not the certificate of the site')
  }
  const proxied = visitParts({ spider: { proxy: 'dc' }, answer })
  await expect(fetchPage(proxied.leased(), proxied.parts, null)).rejects.toMatchObject({ code: 'proxy_banned' })
  const direct = visitParts({ answer })
  await expect(fetchPage(direct.leased(), direct.parts, null)).rejects.toMatchObject({ code: 'tls_error' })
})

it('keeps the slots when a proxy is broken, unless the request belongs to a login', () => {
  const { parts, leased, clock } = visitParts({ spider: { proxy: 'dc', session: {} } })
  const current = leased()
  const permits = [{ host: 'site.test', at: clock.mono(), forMs: 10 }]
  const broken = new ShoalError('proxy_error', 'it is broken')
  expect(againAfter(broken, sendingOf(current, parts), permits)).toMatchObject({ why: 'broken', held: { permits } })
  const visitor = parts.visitors?.next(null, 'site.test')
  if (!visitor) throw new Error('the spider keeps sessions')
  expect(() => againAfter(broken, sendingOf(current, parts, { url: PAGE, visitor }), permits)).toThrow(broken)
})

it.each([
  [200, false],
  [401, true],
  [403, true],
  [404, false],
  [429, false],
  [500, true],
  [503, true],
])('a robots.txt with status %i is doubtful: %s', (status, doubtful) => {
  expect(isDoubtfulRobots(status)).toBe(doubtful)
})

it('reports how long the host took apart from how long ago the request was sent', async () => {
  const { parts, leased, released, clock } = visitParts()
  const { fetcher } = parts
  const busy = {
    ...parts,
    fetcher: {
      ...fetcher,
      async fetch(...asked: Parameters<typeof fetcher.fetch>) {
        const response = await fetcher.fetch(...asked)
        // The response was there after 1 ms, but another page kept the event loop busy.
        clock.advance(100)
        return response
      },
    },
  }
  await fetchPage(leased(), busy, null)
  expect(released).toMatchObject([{ elapsedMs: 100, latencyMs: 1 }])
})
