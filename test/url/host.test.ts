import { describe, expect, it } from 'vitest'
import { hostKey, siteOf } from '../../src/url/host.js'

describe('hostKey', () => {
  it.each([
    ['https://Example.com/', 'example.com'],
    ['https://example.com:443/', 'example.com'],
    ['https://example.com:80/', 'example.com:80'],
    ['http://example.com.:8080/', 'example.com:8080'],
    ['http://[::1]:8080/', '[::1]:8080'],
    ['http://0x7f.1/', '127.0.0.1'],
    ['http://joe@example.com/', 'example.com'],
  ])('of %s is %s', (url, key) => {
    expect(hostKey(new URL(url))).toBe(key)
  })
})

describe('siteOf', () => {
  it.each([
    ['example.com', 'example.com'],
    ['a.b.example.com:8080', 'example.com'],
    ['shop.example.co.uk', 'example.co.uk'],
    ['x.joe.github.io', 'joe.github.io'],
    ['github.io', 'github.io'],
    ['localhost:3000', 'localhost'],
    ['127.0.0.1:3000', '127.0.0.1'],
    ['[::1]:3000', '[::1]'],
    ['[::1]', '[::1]'],
    ['books.example', 'books.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
  ])('of %s is %s', (host, site) => {
    expect(siteOf(host)).toBe(site)
    expect(siteOf(host)).toBe(site)
  })

  it('puts endless subdomains under one site', () => {
    const sites = new Set(Array.from({ length: 20_000 }, (_, i) => siteOf(`s${i}.trap.example`)))
    expect([...sites]).toEqual(['trap.example'])
  })
})
