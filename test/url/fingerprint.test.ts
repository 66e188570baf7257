import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fingerprint } from '../../src/url/fingerprint.js'
import type { RequestExtras } from '../../src/url/link.js'
import { runs } from '../support/longer.js'
import { webUrl } from './arbitrary-urls.js'

const url = 'https://example.com/'

describe('fingerprint', () => {
  it('is 16 hex digits and does not change between versions: stored queues depend on it', () => {
    expect(fingerprint(url)).toBe('b559c7edd3fb6737')
    expect(fingerprint(url, { request: { method: 'POST', body: 'a=1' } })).toBe('49d8e33c59e5a715')
    expect(fingerprint(url, { dedupeKey: 'sku-1' })).toBe('38cb56c80b40033f')
  })

  it.each<[string, RequestExtras]>([
    ['nothing', {}],
    ['GET', { method: 'GET' }],
    ['get', { method: 'get' }],
    ['no headers', { headers: {} }],
    ['an empty body', { body: '' }],
  ])('of a request with %s is that of the URL', (_, request) => {
    expect(fingerprint(url, { request })).toBe(fingerprint(url))
  })

  it('does not look at the order and the case of header names', () => {
    const one = fingerprint(url, { request: { headers: { 'X-A': '1', accept: 'b' } } })
    expect(fingerprint(url, { request: { headers: { Accept: 'b', 'x-a': '1' } } })).toBe(one)
    expect(fingerprint(url, { request: { headers: { Accept: 'B', 'x-a': '1' } } })).not.toBe(one)
  })

  it('of a key is the same for every URL and request', () => {
    const one = fingerprint(url, { dedupeKey: 'k' })
    expect(fingerprint('https://other.example/', { dedupeKey: 'k', request: { method: 'POST' } })).toBe(one)
    expect(fingerprint('k')).not.toBe(one)
  })

  it('is equal only for equal requests', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', 'b', '"', ',', '[', ']', '\n', ':', '\ud800', '\ufffd'),
      maxLength: 4,
    })
    const name = fc.constantFrom('a', 'b', 'ab', 'A', 'a,b')
    const request = fc.record(
      {
        method: fc.constantFrom('GET', 'post', 'POST', 'PUT'),
        headers: fc.dictionary(name, text, { maxKeys: 2 }),
        body: text,
      },
      { requiredKeys: [] },
    )
    const asked = fc.record({
      url: fc.oneof(fc.constant(url), webUrl),
      request,
      dedupeKey: fc.option(text, { nil: undefined }),
    })
    fc.assert(
      fc.property(asked, asked, (a, b) => {
        const equal = fingerprint(a.url, a) === fingerprint(b.url, b)
        expect(equal).toBe(meaning(a) === meaning(b))
      }),
      { numRuns: runs(3000) },
    )
  })
})

function meaning({
  url,
  request,
  dedupeKey,
}: {
  url: string
  request: RequestExtras
  dedupeKey: string | undefined
}): string {
  if (dedupeKey !== undefined) return JSON.stringify({ dedupeKey })
  const headers = Object.entries(request.headers ?? {}).map(([name, value]) =>
    JSON.stringify([name.toLowerCase(), value]),
  )
  return JSON.stringify({
    url,
    method: (request.method ?? 'GET').toUpperCase(),
    headers: headers.sort(),
    body: request.body ?? '',
  })
}
