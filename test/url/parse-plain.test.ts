import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createPlainParser } from '../../src/url/parse-plain.js'
import { parseUrl } from '../../src/url/parse-url.js'
import { runs } from '../support/longer.js'
import { hostileUrl, webUrl } from './arbitrary-urls.js'

const partsOf = ({ href, protocol, host, pathname, search }: URL) => ({ href, protocol, host, pathname, search })

describe('the plain parser', () => {
  it.each([
    'https://example.com/',
    'http://127.0.0.1:8123/catalogue/amber-bell_17/index.html',
    'https://example.com//a//b/',
    'https://example.com/a?page=2&sort=a,b',
    'https://example.com/a?',
    'https://example.com/a;b=c/(d)/@e',
    'http://[::1]:8080/a',
  ])('takes %s apart by itself', (text) => {
    expect(createPlainParser()(text)).toEqual(partsOf(new URL(text)))
  })

  it.each([
    'https://example.com',
    'https://EXAMPLE.com/',
    'https://example.com:443/',
    'https://joe@example.com/',
    'https:///example.com/',
    'http:///',
    'ftp://example.com/a',
    'https://example.com/./a',
    'https://example.com/a/..',
    'https://example.com/.well-known',
    'https://example.com/%41',
    'https://example.com/a b',
    'https://example.com/a\n',
    'https://example.com/a#b',
    "https://example.com/a?b='c'",
    'https://example.com/é',
    'https://example.com\\a/b',
    'https://example.com?a/b',
    '',
  ])('leaves %j to the parser', (text) => {
    expect(createPlainParser()(text)).toBeNull()
  })

  it('says what the URL parser says, or nothing', () => {
    const parse = createPlainParser()
    const ascii = fc.string({ unit: 'binary-ascii', maxLength: 8 })
    const texts = fc.oneof(
      webUrl,
      hostileUrl.map((rest) => `https://example.com/${rest}`),
      hostileUrl,
      fc
        .tuple(fc.constantFrom('https://example.com/', 'http://a.b/c?', 'https://'), ascii)
        .map((both) => both.join('')),
    )
    let plain = 0
    fc.assert(
      fc.property(texts, (text) => {
        const parts = parse(text)
        if (parts === null) return
        plain++
        const url = parseUrl(text)
        expect(url === null ? null : partsOf(url)).toEqual(parts)
        expect([url?.username, url?.password, url?.hash]).toEqual(['', '', ''])
      }),
      { numRuns: runs(20_000) },
    )
    expect(plain).toBeGreaterThan(1000)
  })
})
