import { describe, expect, it } from 'vitest'
import { hostIn, hostKey, siteOf } from '../../src/url/host.js'
import { compilePaceKey, groupKey, proxyKey } from '../../src/url/pace-key.js'
import type { PaceRules } from '../../src/url/rules.js'

const PER_HOST: PaceRules = { per: 'host', groups: [] }

const keyOf = (rules: PaceRules, text: string) => {
  const url = new URL(text)
  return compilePaceKey(rules)(hostKey(url), () => url)
}

describe('the pace key of a URL', () => {
  it('is its host, with a port of its own', () => {
    expect(keyOf(PER_HOST, 'https://shop.example.co.uk/a')).toBe('shop.example.co.uk')
    expect(keyOf(PER_HOST, 'https://shop.example.co.uk:8443/a')).toBe('shop.example.co.uk:8443')
  })

  it.each([
    ['https://shop.example.co.uk/a', 'example.co.uk'],
    ['https://example.co.uk:8443/a', 'example.co.uk'],
    ['https://a.github.io/', 'a.github.io'],
    ['http://127.0.0.1:8080/', '127.0.0.1'],
    ['http://[::1]:8080/', '[::1]'],
    ['http://localhost:8080/', 'localhost'],
  ])('is the registrable domain of %s when asked for', (url, domain) => {
    expect(keyOf({ per: 'domain', groups: [] }, url)).toBe(domain)
  })

  it('is the first group that matches, else what it would be without groups', () => {
    const groups = [
      { name: 'api', match: ['https://api.example.com/v1/**', /key=one/] },
      { name: 'images', match: ['https://*.cdn.example/**'] },
      { name: 'all', match: ['**'] },
    ]
    expect(keyOf({ per: 'host', groups }, 'https://api.example.com/v1/books')).toBe('@api')
    expect(keyOf({ per: 'host', groups }, 'https://other.example/?key=one')).toBe('@api')
    expect(keyOf({ per: 'host', groups }, 'https://a.cdn.example/1.png')).toBe('@images')
    expect(keyOf({ per: 'host', groups }, 'https://other.example/')).toBe('@all')
    const some = groups.slice(0, 2)
    expect(keyOf({ per: 'host', groups: some }, 'https://www.other.example/')).toBe('www.other.example')
    expect(keyOf({ per: 'domain', groups: some }, 'https://www.other.example/')).toBe('other.example')
  })

  it('leaves a group without patterns to those who name it', () => {
    expect(keyOf({ per: 'host', groups: [{ name: 'key', match: [] }] }, 'https://a.test/')).toBe('a.test')
  })

  it('parts a host by the way out, and belongs to its site all the same', () => {
    expect(proxyKey('shop.example.co.uk:8443', '203.0.113.7')).toBe('shop.example.co.uk:8443|203.0.113.7')
    expect(siteOf(proxyKey('shop.example.co.uk:8443', '203.0.113.7'))).toBe('example.co.uk')
    expect(siteOf(proxyKey('shop.example.co.uk', '[2001:db8::1]:3128'))).toBe('example.co.uk')
    expect(siteOf(proxyKey(groupKey('api'), '203.0.113.7'))).toBe('@api')
    expect(siteOf(groupKey('api.v1'))).toBe(siteOf(groupKey('api.v1')))
  })
})

describe('the host in a canonical URL', () => {
  it.each([
    'https://a.test/',
    'https://a.test:8443/x//y?u=https://b.test/',
    'http://[::1]:8080/',
    'http://127.0.0.1/a',
  ])('%s', (url) => {
    expect(hostIn(url)).toBe(new URL(url).host)
  })
})
