import { expect, it } from 'vitest'
import { type CacheableRequest, cacheKey } from '../../src/fetch/cache/cache-key.js'
import { isKept } from '../../src/fetch/cache/is-kept.js'
import type { ResponseCache } from '../../src/fetch/cache/response-cache.js'
import type { FetchResponse } from '../../src/fetch/fetcher.js'
import { fetchPage } from '../../src/worker/fetch-page.js'
import { send } from '../../src/worker/send.js'
import { PAGE, type Setting, visitParts } from './visit-parts.js'

function memoryCache(): ResponseCache & { readonly kept: CacheableRequest[] } {
  const entries = new Map<string, FetchResponse>()
  const kept: CacheableRequest[] = []
  return {
    kept,
    async find(request) {
      const found = entries.get(cacheKey(request))
      return found === undefined ? null : { ...found, wireBytes: 0, ms: 0, cached: { at: 0, wireBytes: 1, ms: 1 } }
    },
    async keep(request, response) {
      if (!isKept(response)) return
      kept.push(request)
      entries.set(cacheKey(request), response)
    },
  }
}

/** Two runs with one cache: the second one should find what the first has kept. */
async function twice(setting: Setting, cache = memoryCache()) {
  const run = async () => {
    const { parts, leased, ended, ...rest } = visitParts({ ...setting, parts: { ...setting.parts, cache } })
    const page = await ended(fetchPage(leased(), parts, null))
    return { page, ...rest }
  }
  const first = await run()
  return { first, second: await run(), cache }
}

it('sends nothing, asks for no permit and releases no slot for what is kept', async () => {
  const { first, second } = await twice({})
  expect(first.sent).toHaveLength(1)
  expect(second.page).toMatchObject({ kind: 'page', response: { status: 200, cached: { at: 0 } } })
  expect(second.sent).toEqual([])
  expect(second.asked).toEqual([])
  expect(second.released).toEqual([])
})

it('needs no robots.txt of the site either', async () => {
  const { first, second } = await twice({ spider: { robots: true } })
  expect(first.sent.map(({ url }) => url)).toEqual(['https://site.test/robots.txt', PAGE])
  expect(second.sent).toEqual([])
})

it('each redirect is kept, so that the way to the page costs nothing', async () => {
  const answer: Setting['answer'] = ({ url }) =>
    url === PAGE ? { status: 302, headers: { location: '/other' } } : { status: 200 }
  const { first, second } = await twice({ answer })
  expect(first.sent).toHaveLength(2)
  expect(second.sent).toEqual([])
  expect(second.page).toMatchObject({ kind: 'page', response: { url: 'https://site.test/other' } })
})

it('borrows no proxy', async () => {
  const { second } = await twice({ spider: { proxy: 'dc' } })
  expect(second.page).toMatchObject({ kind: 'page' })
  expect(second.sent).toEqual([])
})

it('logs nobody in for a kept page, and keeps nothing of a login', async () => {
  const login = { url: 'https://site.test/login', method: 'POST', body: 'password=verysecret' }
  const spider: Setting['spider'] = {
    session: { login: async ({ fetch }) => void (await fetch(login.url, { method: 'POST', body: login.body })) },
  }
  const { first, second, cache } = await twice({ spider })
  expect(first.sent.map(({ url }) => url)).toEqual([login.url, PAGE])
  expect(second.sent).toEqual([])
  expect(cache.kept.map(({ url, session }) => [url, session])).toEqual([[PAGE, 'visits']])
})

it('asks for the whole page where a recrawl would ask whether it has changed', async () => {
  const cache = memoryCache()
  const { parts, leased, ended, sent } = visitParts({ parts: { cache } })
  const known = {
    last: { etag: '"1"', lastModified: null, url: PAGE },
    memo: {},
  } as unknown as Parameters<typeof fetchPage>[2]
  await ended(fetchPage(leased(), parts, known))
  expect(sent[0]?.headers).not.toHaveProperty('if-none-match')
  expect(cache.kept).toHaveLength(1)
})

it('the guard refuses a kept page of an address that is no longer allowed', async () => {
  const url = 'http://127.0.0.1:8080/'
  const { parts, leased, ended, sent } = visitParts({
    parts: {
      cache: {
        find: async () => {
          throw new Error('the cache was read')
        },
        keep: async () => {},
      },
    },
  })
  expect(await ended(send(leased(), parts, ['127.0.0.1:8080'], { url }))).toMatchObject({ code: 'private_address' })
  expect(sent).toEqual([])
})

it('counts as no response of the site', async () => {
  const cache = memoryCache()
  await twice({}, cache)
  const { parts, leased, ended } = visitParts({ parts: { cache } })
  await ended(send(leased(), parts, ['site.test'], { url: PAGE, headers: { 'user-agent': parts.spider.userAgent } }))
  expect(parts.meter.read([])).toMatchObject({ cached: 1, bytes: 0, statuses: {} })
})
