import { expect, it } from 'vitest'
import type { FetchRequest } from '../../src/fetch/fetcher.js'
import { Busy } from '../../src/politeness/busy.js'
import { fetchPage } from '../../src/worker/fetch-page.js'
import { PAGE, type Setting, visitParts } from './visit-parts.js'

const RULES = { status: 200, body: Buffer.from('User-agent: *\nDisallow: /page') }
const isRobots = ({ url }: FetchRequest) => url.endsWith('/robots.txt')

async function visitPage(setting: Setting) {
  const { parts, leased, ended, ...rest } = visitParts({
    ...setting,
    spider: { robots: true, pace: { delay: '1s', concurrency: 1 }, ...setting.spider },
  })
  return { result: await ended(fetchPage(leased(), parts, null)), ...rest }
}

it('goes by the robots.txt that a second proxy is given, when the first is refused it', async () => {
  let first: number | null = null
  const { result, sent } = await visitPage({
    spider: { proxy: 'dc' },
    answer({ proxy }) {
      first ??= proxy?.port ?? 0
      return proxy?.port === first ? 403 : RULES
    },
  })
  expect(result).toMatchObject({ code: 'robots_disallowed' })
  expect(new Set(sent.map(({ proxy }) => proxy?.port)).size).toBe(2)
})

it('takes a refusal by three proxies for the answer of the site', async () => {
  const { result, sent } = await visitPage({
    spider: { proxy: 'dc' },
    answer: (request) => (isRobots(request) ? 403 : 200),
  })
  expect(result).toMatchObject({ kind: 'page' })
  expect(sent.map(isRobots)).toEqual([true, true, true, false])
})

it('asks for robots.txt once on a route without proxies, whatever other routes have', async () => {
  const { result, sent } = await visitPage({
    spider: { routes: { picky: { match: '/picky', proxy: 'dc' }, page: { match: '/**', handler() {} } } },
    answer: (request) => (isRobots(request) ? 403 : 200),
  })
  expect(result).toMatchObject({ kind: 'page' })
  expect(sent.map(isRobots)).toEqual([true, false])
})

it('is busy, and fetches nothing, when robots.txt itself gets no slot', async () => {
  const { result, sent } = await visitPage({
    spider: { headers: { 'x-first': 'used' } },
    permit: () => ({ ok: false, lost: false, waitMs: 60_000 }),
    // The permit of the lease goes to a robots.txt that leads to another host.
    answer: () => ({ status: 301, headers: { location: 'https://robots.test/robots.txt' } }),
  })
  expect(result).toEqual(new Busy(60_000, 'robots.test'))
  expect(sent.map(({ url }) => url)).toEqual(['https://site.test/robots.txt'])
})

it('sends the headers of the spider to the site, and not where its robots.txt leads', async () => {
  const { sent } = await visitPage({
    spider: { headers: { authorization: 'SECRET' } },
    answer: (request) =>
      request.url === 'https://site.test/robots.txt'
        ? { status: 301, headers: { location: 'https://robots.test/robots.txt' } }
        : 404,
  })
  expect(sent.map(({ url, headers }) => [url, headers?.authorization])).toEqual([
    ['https://site.test/robots.txt', 'SECRET'],
    ['https://robots.test/robots.txt', undefined],
    [PAGE, 'SECRET'],
  ])
})
