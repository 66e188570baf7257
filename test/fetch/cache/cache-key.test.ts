import { expect, it } from 'vitest'
import { type CacheableRequest, cacheKey } from '../../../src/fetch/cache/cache-key.js'

const PLAIN: CacheableRequest = { url: 'https://site.test/', session: null, country: null }
const RENDER = { wait: null, settleMs: 500, images: false }

it('is the same for the same request, however its headers are written', () => {
  const one = cacheKey({ ...PLAIN, method: 'GET', headers: { Accept: 'text/html', 'x-a': '1' } })
  expect(cacheKey({ ...PLAIN, headers: { 'X-A': '1', accept: 'text/html' } })).toBe(one)
  expect(one).toMatch(/^[0-9a-f]{64}$/)
})

it('is another for whatever may change the page', () => {
  const requests: CacheableRequest[] = [
    PLAIN,
    { ...PLAIN, url: 'https://site.test/?' },
    { ...PLAIN, method: 'POST' },
    { ...PLAIN, method: 'POST', body: '' },
    { ...PLAIN, method: 'POST', body: 'a=1' },
    { ...PLAIN, headers: { a: '1' } },
    { ...PLAIN, headers: { a: '2' } },
    { ...PLAIN, headers: { a: '1', b: '' } },
    { ...PLAIN, session: 'shop' },
    { ...PLAIN, country: 'de' },
    { ...PLAIN, render: RENDER },
    { ...PLAIN, render: { ...RENDER, wait: '.price' } },
    { ...PLAIN, render: { ...RENDER, images: true } },
  ]
  expect(new Set(requests.map(cacheKey)).size).toBe(requests.length)
})

it('does not depend on the visitor whose window renders the page', () => {
  const key = cacheKey({ ...PLAIN, render: RENDER })
  expect(cacheKey({ ...PLAIN, render: { ...RENDER, visitor: {} } })).toBe(key)
})
