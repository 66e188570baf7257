import { expect, it } from 'vitest'
import { ShoalError } from '../../src/errors.js'
import { Busy } from '../../src/politeness/busy.js'
import type { SpiderDefinition } from '../../src/spider/definition.js'
import { fetchPage } from '../../src/worker/fetch-page.js'
import { PERMIT_MS, visitParts } from './visit-parts.js'

const PAGE = 'https://club.test/page'
const LOGIN = 'https://club.test/login'

interface Club {
  readonly session: NonNullable<SpiderDefinition['session']>
  /** Of each host; it begins with a slot that the lease took. */
  readonly paceMs?: number
  /** `elsewhere`: pages go out directly, and other routes of the spider use proxies. */
  readonly proxied?: boolean | 'elsewhere'
  /** 0: the proxy is broken. */
  readonly answer?: (url: string, port: number) => { status: number; location?: string }
}

function club({ session, paceMs = 0, proxied = false, answer = () => ({ status: 200 }) }: Club) {
  let free: number | null = null
  const { parts, leased, ended, sent, clock } = visitParts({
    spider: {
      ...{ start: [PAGE], headers: { 'x-api-key': 'KEY' }, handlerTimeout: '30s', session },
      ...(proxied !== false && { proxy: 'dc' }),
      routes: {
        page: { match: '/page', ...(proxied === 'elsewhere' && { proxy: false }), handler() {} },
        other: { match: '/**' },
      },
    },
    permit(_host, clock) {
      const waitMs = (free ?? started + paceMs) - clock.mono()
      if (waitMs > 0) return { ok: false, lost: false, waitMs }
      free = clock.mono() + paceMs
      return { ok: true, permitMs: PERMIT_MS }
    },
    answer({ url, proxy }) {
      const { status, location } = answer(url, proxy?.port ?? 0)
      tried.push([url, proxy?.port ?? 0])
      if (status === 0) throw new ShoalError('proxy_error', 'it is broken')
      return { status, ...(location !== undefined && { headers: { location } }) }
    },
  })
  const started = clock.mono()
  const tried: [url: string, port: number][] = []
  const visit = () => {
    const current = leased({ url: PAGE })
    return { current, ended: ended(fetchPage(current, parts, null)) }
  }
  return { visit, sent, tried, urls: () => sent.map(({ url }) => url) }
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

it('continues with another proxy when that of its session is broken', async () => {
  let first: number | null = null
  const { visit, tried } = club({
    proxied: true,
    session: { login: ({ fetch }) => fetch(LOGIN).then(() => {}) },
    answer(_url, port) {
      first ??= port
      return { status: port === first ? 0 : 200 }
    },
  })
  expect(await visit().ended).toMatchObject({ kind: 'page' })
  const [broken, ...others] = tried
  expect(others.map(([url]) => url)).toEqual([LOGIN, PAGE])
  expect(others.map(([, port]) => port)).not.toContain(broken?.[1])
})

it('sends the headers of the spider to no other origin', async () => {
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
  expect(sent.map(({ url, headers }) => [url, headers?.['x-api-key'], headers?.authorization])).toEqual([
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
  const { visit, tried } = club({
    proxied: 'elsewhere',
    session: { login: ({ fetch }) => fetch(elsewhere).then(() => {}) },
  })
  expect(await visit().ended).toMatchObject({ kind: 'page' })
  expect(tried).toEqual([
    [elsewhere, 0],
    [PAGE, 0],
  ])
})

it('does not wait for a proxy that rests: the page continues with another one, soon', async () => {
  let refused: number | null = null
  const { visit, tried } = club({
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
  expect(tried.filter(([, port]) => port !== refused).map(([url]) => url)).toEqual([
    ...Array.from({ length: 5 }, () => LOGIN),
    `${LOGIN}/2`,
    PAGE,
  ])
})
