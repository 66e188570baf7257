import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalise, compileCanonical, DEFAULT_CANONICAL, normaliseEscapes } from '../../src/url/canonicalise.js'
import { parseUrl } from '../../src/url/parse-url.js'
import { runs } from '../support/longer.js'
import { hostileUrl, webUrl } from './arbitrary-urls.js'

const canon = (url: string) => canonicalise(url, DEFAULT_CANONICAL)
const withoutSessions = (url: string) => compileCanonical(DEFAULT_CANONICAL, true)(new URL(url)).text

describe('canonical form', () => {
  it.each([
    ['case of scheme and host', 'HTTP://EXAMPLE.com/Path', 'http://example.com/Path'],
    ['default port', 'http://example.com:80/', 'http://example.com/'],
    ['default port of https', 'https://example.com:443/', 'https://example.com/'],
    ['other port stays', 'https://example.com:80/', 'https://example.com:80/'],
    ['missing path', 'http://example.com', 'http://example.com/'],
    ['user info', 'http://joe:secret@example.com/a', 'http://example.com/a'],
    ['fragment', 'http://example.com/a#b?c', 'http://example.com/a'],
    ['empty query', 'http://example.com/a?', 'http://example.com/a'],
    ['empty query before a fragment', 'http://example.com/a?#x', 'http://example.com/a'],
    ['empty parameters', 'http://example.com/a?&b=1&&c&', 'http://example.com/a?b=1&c'],
    ['dot segments', 'http://example.com/a/./b/../c/%2e%2e/d', 'http://example.com/a/d'],
    ['unreserved escapes', 'http://example.com/%7Ejoe/%41%2d', 'http://example.com/~joe/A-'],
    ['case of escapes', 'http://example.com/%c3%a9?q=%e2%82%ac', 'http://example.com/%C3%A9?q=%E2%82%AC'],
    [
      'reserved escapes stay',
      'http://example.com/a%2fb%3Fc%23?x=%26%3d%2B',
      'http://example.com/a%2Fb%3Fc%23?x=%26%3D%2B',
    ],
    ['a plus is no escape', 'http://example.com/?q=a+b&r=a%20b', 'http://example.com/?q=a+b&r=a%20b'],
    ['no escape is made up behind a stray %', 'http://example.com/%%34%31/%4%31', 'http://example.com/%%341/%4%31'],
    ['letters beyond ASCII', 'http://example.com/é?ü', 'http://example.com/%C3%A9?%C3%BC'],
    ['IDN', 'http://Bücher.example/', 'http://xn--bcher-kva.example/'],
    ['punycode', 'http://XN--BCHER-KVA.example/', 'http://xn--bcher-kva.example/'],
    ['trailing dot of the host', 'http://example.com./', 'http://example.com/'],
    ['trailing dot before a port', 'http://example.com.:8080/', 'http://example.com:8080/'],
    ['two trailing dots are no name: not made one', 'http://0x7f../', 'http://0x7f../'],
    ['tabs and newlines', 'ht\ntp://exa\tmple.com/a\nb', 'http://example.com/ab'],
    ['backslashes', 'http:\\\\example.com\\a', 'http://example.com/a'],
    ['lone surrogate', 'http://example.com/\ud800', 'http://example.com/%EF%BF%BD'],
    ['NUL in the path', 'http://example.com/a\0b', 'http://example.com/a%00b'],
    ['right-to-left mark', 'http://example.com/\u200fa', 'http://example.com/%E2%80%8Fa'],
    ['sorted, equal names in their order', 'http://e.com/?b=2&a=z&b=1&a=y&B=0', 'http://e.com/?B=0&a=z&a=y&b=2&b=1'],
    ['tracking', 'http://e.com/?utm_source=x&id=7&fbclid=1&gclid=2&_ga=3', 'http://e.com/?id=7'],
    ['escaped tracking', 'http://e.com/?utm%5Fsource=x', 'http://e.com/'],
    ['not quite tracking', 'http://e.com/?utm=1&gclids=2&xfbclid=3', 'http://e.com/?gclids=2&utm=1&xfbclid=3'],
    ['trailing slash stays', 'http://e.com/a/', 'http://e.com/a/'],
    ['session ids stay unless asked', 'http://e.com/?PHPSESSID=1', 'http://e.com/?PHPSESSID=1'],
  ])('%s', (_, url, expected) => {
    expect(canon(url)).toBe(expected)
  })

  it.each([
    ['http://127.1/', '127.0.0.1'],
    ['http://2130706433/', '127.0.0.1'],
    ['http://017700000001/', '127.0.0.1'],
    ['http://0x7f.1/', '127.0.0.1'],
    ['http://0/', '0.0.0.0'],
    ['http://1/', '0.0.0.1'],
    ['http://①②⑦.⓪.⓪.①/', '127.0.0.1'],
    ['http://127.0.0.1./', '127.0.0.1'],
    ['http://good.com\\@127.0.0.1/', 'good.com'],
    ['http://good.com%2f@127.0.0.1/', '127.0.0.1'],
  ])('the host of %s is %s', (url, host) => {
    expect(new URL(canon(url)).hostname).toBe(host)
  })

  it.each([
    ['http://e.com/a;jsessionid=0123ABCD?x=1', 'http://e.com/a?x=1'],
    ['http://e.com/a;JSESSIONID=1;v=2/b', 'http://e.com/a;v=2/b'],
    ['http://e.com/a/..;jsessionid=1/b', 'http://e.com/a/..;jsessionid=1/b'],
    ['http://e.com/?PHPSESSID=abc&a=1', 'http://e.com/?a=1'],
    ['http://e.com/?sid=12', 'http://e.com/?sid=12'],
    // The key of a document, perhaps: without it a thousand documents would be one.
    ['http://e.com/?s=9e107d9d372bb6826bd81d3542a419d6', 'http://e.com/?s=9e107d9d372bb6826bd81d3542a419d6'],
    [
      'http://e.com/?a=1&sid=9e107d9d372bb6826bd81d3542a419d6',
      'http://e.com/?a=1&sid=9e107d9d372bb6826bd81d3542a419d6',
    ],
    [
      'http://e.com/?session_id=7d444840-9dc0-11d1-b245-5ffdce74fad2',
      'http://e.com/?session_id=7d444840-9dc0-11d1-b245-5ffdce74fad2',
    ],
  ])('without session ids %s is %s', (url, expected) => {
    expect(withoutSessions(url)).toBe(expected)
  })

  it.each([
    ['http://e.com/?sid=9e107d9d372bb6826bd81d3542a419d6&a=1', 'http://e.com/?a=1'],
    ['http://e.com/?S=9e107d9d372bb6826bd81d3542&PHPSESSID=1', 'http://e.com/'],
    ['http://e.com/?sid=12', 'http://e.com/?sid=12'],
    ['http://e.com/?session=abcdefghijklmnopqrstuvwxyz', 'http://e.com/?session=abcdefghijklmnopqrstuvwxyz'],
  ])('without likely session ids %s is %s', (url, expected) => {
    expect(compileCanonical(DEFAULT_CANONICAL, 'likely')(new URL(url)).text).toBe(expected)
  })

  it.each([
    ['http://e.com/?b&a', 'http://e.com/?b&a'],
    ['http://e.com/?b=1&a', 'http://e.com/?b=1&a'],
    ['http://e.com/?b&a=1', 'http://e.com/?b&a=1'],
    ['http://e.com/?zebra&&lion&utm_source=x', 'http://e.com/?zebra&lion'],
    // A value that is empty is a value.
    ['http://e.com/?b=&a=', 'http://e.com/?a=&b='],
    // What is dropped has no say about the order of the rest.
    ['http://e.com/?gclid&b=1&a=2', 'http://e.com/?a=2&b=1'],
    // One parameter, whose value contains semicolons.
    ['http://e.com/?b=1;a=2', 'http://e.com/?b=1;a=2'],
    ['http://e.com/?b+c&a', 'http://e.com/?b+c&a'],
  ])('the order of parameters without a value has a meaning: %s is %s', (url, expected) => {
    expect(canon(url)).toBe(expected)
  })

  it.each([
    ['http://e.com/a?b=1&c#x', null],
    ['http://e.com/?PHPSESSID=1&utm_source=x', 'session_id'],
    ['http://e.com/a;jsessionid=77', 'session_id'],
    ['http://e.com/?b=1&a=1&sid=9e107d9d372bb6826bd81d3542a419d6', 'likely_session_id'],
    ['http://e.com/?utm_source=x&b=1&a=1', 'dropped_params'],
    ['http://m.e.com/?a=1', 'rewritten'],
    ['http://e.com/?b=1&a=1', 'param_order'],
    ['http://e.com/a/', 'trailing_slash'],
    ['http://e.com/', null],
    ['http://e.com/%7Ea', 'spelling'],
    ['http://joe:secret@e.com/a', 'spelling'],
    ['http://e.com./a', 'spelling'],
    ['http://e.com/a?', 'spelling'],
    ['http://e.com/?a=1&&b=1', 'spelling'],
    // What every URL parser does is no rule of ours.
    ['HTTP://E.com:80/a/../b', null],
  ])('%s is changed by %s', (url, rule) => {
    const rewrite = (rewritten: URL) => {
      rewritten.hostname = rewritten.hostname.replace(/^m\./, '')
    }
    const rules = { ...DEFAULT_CANONICAL, rewrite, trailingSlash: 'strip' } as const
    expect(compileCanonical(rules, true)(new URL(url)).rule).toBe(rule)
  })

  it('keeps the order of parameters when told to', () => {
    expect(canonicalise('http://e.com/?b=1&a=1', { ...DEFAULT_CANONICAL, sortParams: false })).toBe(
      'http://e.com/?b=1&a=1',
    )
  })

  it('strips trailing slashes when told to, never the root', () => {
    const rules = { ...DEFAULT_CANONICAL, trailingSlash: 'strip' } as const
    expect(canonicalise('http://e.com/a//?b', rules)).toBe('http://e.com/a?b')
    expect(canonicalise('http://e.com/', rules)).toBe('http://e.com/')
  })

  it('gives the user the last word, and tidies up behind it', () => {
    const rewrite = (url: URL) => {
      url.hostname = url.hostname.replace(/^m\./, '')
      url.hash = 'x'
      url.searchParams.append('utm_source', 'x')
    }
    expect(canonicalise('http://m.e.com/a?b=1', { ...DEFAULT_CANONICAL, rewrite })).toBe('http://e.com/a?b=1')
  })

  it('refuses what it cannot be asked', () => {
    expect(() => canon('not a url')).toThrow(expect.objectContaining({ code: 'bad_url' }))
    expect(() => canon('mailto:joe@example.com')).toThrow(expect.objectContaining({ code: 'bad_scheme' }))
  })
})

describe('properties', () => {
  const rules = fc.record({
    dropParams: fc.constantFrom([], DEFAULT_CANONICAL.dropParams, ['a*', 'b']),
    sortParams: fc.boolean(),
    trailingSlash: fc.constantFrom('keep' as const, 'strip' as const),
    rewrite: fc.constant(null),
  })

  it('is idempotent, and reads as itself', () => {
    fc.assert(
      fc.property(
        fc.oneof(webUrl, hostileUrl),
        rules,
        fc.constantFrom(true, false, 'likely' as const),
        (text, rule, sessionIds) => {
          if (!/^https?:$/.test(parseUrl(text)?.protocol ?? '')) return
          const canonical = compileCanonical(rule, sessionIds)
          const once = canonical(new URL(text))
          expect(new URL(once.text).href).toBe(once.text)
          const again = canonical(new URL(once.text))
          expect({ ...again, rule: once.rule }).toEqual(once)
          expect([null, 'likely_session_id']).toContain(again.rule)
        },
      ),
      { numRuns: runs(5000) },
    )
  })

  it('asks for the same resource: nothing but spelling and order changes when nothing is dropped', () => {
    const keepAll = { ...DEFAULT_CANONICAL, dropParams: [] }
    const params = (url: URL) => url.search.slice(1).split('&').filter(Boolean).map(decodeBytes).sort()
    fc.assert(
      fc.property(webUrl, (text) => {
        const before = new URL(text)
        const after = new URL(canonicalise(before, keepAll))
        expect(decodeBytes(after.pathname)).toBe(decodeBytes(before.pathname))
        expect(params(after)).toEqual(params(before))
        expect(after.hostname).toBe(before.hostname.replace(/\.$/, ''))
        expect(after.port).toBe(before.port)
      }),
      { numRuns: runs(2000) },
    )
  })

  it('touches nothing but escapes in escapes', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('%', '4', '1', 'e', 'E', 'z', '/', '2', ';') }), (text) => {
        const once = normaliseEscapes(text)
        expect(normaliseEscapes(once)).toBe(once)
        expect(decodeBytes(once)).toBe(decodeBytes(text))
      }),
      { numRuns: runs(5000) },
    )
  })
})

/** What a server makes of it: one pass, stray % as they are. */
function decodeBytes(text: string): string {
  return text
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => `<${String.fromCharCode(Number.parseInt(hex, 16))}>`)
    .replace(/<([\w.~-])>/g, '$1')
}
