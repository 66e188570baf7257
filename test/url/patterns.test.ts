import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compilePattern, matchUrl } from '../../src/url/patterns.js'
import { runs } from '../support/longer.js'

const at = (path: string) => new URL(path, 'https://x.example/')

describe('patterns', () => {
  it.each<[string | RegExp, string, boolean]>([
    ['/', '/', true],
    ['/', '/?page=2', true],
    ['/', '/a', false],
    ['/about', '/about', true],
    ['/about', '/about/', false],
    ['/catalogue/page-*', '/catalogue/page-2.html', true],
    ['/catalogue/page-*', '/catalogue/page-', true],
    ['/catalogue/page-*', '/catalogue/page-2/x', false],
    ['/catalogue/page-*', '/catalogue/page-2?sort=a/b', true],
    ['/catalogue/*/index.html', '/catalogue/book_1/index.html', true],
    ['/catalogue/*/index.html', '/catalogue/a/b/index.html', false],
    ['/catalogue/*/index.html', '/catalogue/index.html', false],
    ['/a*a', '/a', false],
    ['/docs/**', '/docs/', true],
    ['/docs/**', '/docs/a/b/c', true],
    ['/docs/**', '/docs', false],
    ['**', '/any/thing', true],
    ['**/index.html', '/a/b/index.html', true],
    ['/**/p/*.html', '/a/b/p/c.html', true],
    ['/**/p/*.html', '/a/b/p/c/d.html', false],
    ['/**/p/*.html', '/a/p/b/p/d.html', true],
    ['/*/*/c', '/a/b/c', true],
    ['/*/*/c', '/a/c', false],
    ['/search?q=*', '/search?q=a/b', true],
    ['/search?q=*', '/search', false],
    ['/search?q=*&z=*', '/search?q=1&z=2', true],
    ['/a.b', '/axb', false],
    ['/café/*', '/caf%C3%A9/x', true],
    ['/a b', '/a%20b', true],
    ['/%7ejoe', '/~joe', true],
    ['https://x.example/p/*', '/p/1', true],
    ['HTTPS://X.example:443/p/*', '/p/1', true],
    ['https://x.example', '/', true],
    ['https://x.example', '/a', false],
    ['https://y.example/p/*', '/p/1', false],
    ['http://x.example/p/*', '/p/1', false],
    ['https://*.example/p/*', '/p/1', true],
    ['https://*.x.example/**', '/p/1', false],
    ['https://x.example/?a=*', '/?a=1', true],
    [/page-\d+$/, '/page-12', true],
    [/page-\d+$/g, '/page-12', true],
  ])('%s on %s: %s', (pattern, path, expected) => {
    const compiled = compilePattern(pattern)
    expect(compiled(at(path))).toBe(expected)
    expect(compiled(at(path))).toBe(expected)
  })

  it.each(['about', '*.html', '', '/a#b', 'ftp://x/', 'http://'])('%j is refused', (pattern) => {
    expect(() => compilePattern(pattern)).toThrow(expect.objectContaining({ code: 'spider_invalid' }))
  })

  it('matches when one of several does', () => {
    const patterns = ['/', '/b*'].map(compilePattern)
    expect(matchUrl(patterns, at('/bc'))).toBe(true)
    expect(matchUrl(patterns, at('/c'))).toBe(false)
    expect(matchUrl([], at('/c'))).toBe(false)
  })

  it('agrees with the obvious regular expression', () => {
    const glob = fc
      .array(fc.constantFrom('a', 'b', '/', '*', '**', 'ab'), { maxLength: 8 })
      .map((parts) => `/${parts.join('')}`)
    const path = fc.array(fc.constantFrom('a', 'b', '/'), { maxLength: 10 }).map((parts) => `/${parts.join('')}`)
    fc.assert(
      fc.property(glob, path, (pattern, text) => {
        const source = pattern.replace(/\*+/g, (stars) => (stars.length > 1 ? '.*' : '[^/]*'))
        expect(compilePattern(pattern)({ pathname: text } as URL)).toBe(new RegExp(`^${source}$`).test(text))
      }),
      { numRuns: runs(5000) },
    )
  })

  it('does not explode on patterns that make backtracking explode', () => {
    const compiled = compilePattern(`/${'*a'.repeat(30)}/b`)
    expect(compiled(at(`/${'a'.repeat(2000)}/c/b`))).toBe(false)
    expect(compilePattern(`/${'**a'.repeat(30)}b`)(at(`/${'a'.repeat(2000)}b`))).toBe(true)
  })
})
