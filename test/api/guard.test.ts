import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createGuard } from '../../src/api/guard.js'
import { ManualClock } from '../../src/clock.js'
import { loadConfig } from '../../src/config.js'
import { ShoalError } from '../../src/errors.js'

const TOKEN = 'a-token-of-some-length'

interface Asked {
  readonly host: string
  readonly path?: string
  readonly origin?: string
  readonly token?: string | null
  readonly site?: string
}

function guardOf(host: string, allowHosts: readonly string[] = [], publicOrigin: string | null = null) {
  const guard = createGuard({
    ...{ token: TOKEN, clock: new ManualClock(), host, port: 7373, publicOrigin, allowHosts },
    isPage: (path) => path === '/app.js',
  })
  return ({ host: name, path = '/api/overview', origin, token = TOKEN, site }: Asked): string => {
    const headers = {
      ...{ host: name, ...(origin !== undefined && { origin }), ...(site !== undefined && { 'sec-fetch-site': site }) },
      ...(token !== null && { authorization: `Bearer ${token}` }),
    }
    const request = { method: 'GET', headers, headersDistinct: { host: [name] }, socket: { remoteAddress: '10.0.0.1' } }
    try {
      return guard(request as unknown as IncomingMessage, path)
    } catch (error) {
      if (error instanceof ShoalError) return error.code
      throw error
    }
  }
}

describe('the name of a service', () => {
  it('is refused until it is allowed, with the token and without', () => {
    const before = guardOf('0.0.0.0')
    const ask = guardOf('0.0.0.0', ['dashboard', 'dashboard.shoal.svc'])
    for (const host of ['dashboard:7373', 'dashboard', 'Dashboard.shoal.svc:80', 'dashboard:8080']) {
      expect(before({ host })).toBe('request_refused')
      expect(ask({ host })).toBe('token')
      expect(ask({ host, token: null })).toBe('token_refused')
      expect(ask({ host, path: '/app.js', token: null })).toBe('open')
      expect(ask({ host, path: '/api/events' })).toBe('token')
    }
  })

  it('opens no way for DNS rebinding: every other name is refused', () => {
    const ask = guardOf('0.0.0.0', ['dashboard'])
    for (const host of [
      ...['evil.example:7373', 'dashboard.evil.example', 'evil-dashboard:7373', 'dashboard:7373.evil.example', ''],
      ...['dashboard@evil.example', 'dashboard:7373:7373', 'dashboard/x', 'dashboard.'],
    ]) {
      expect(ask({ host })).toBe('request_refused')
      expect(ask({ host, path: '/', token: null })).toBe('request_refused')
      expect(ask({ host, path: '/metrics' })).toBe('request_refused')
    }
  })

  it('works behind a proxy with TLS that passes it on, and only for pages of its own', () => {
    const ask = guardOf('0.0.0.0', ['shoal.internal'])
    const host = 'shoal.internal'
    for (const origin of ['https://shoal.internal', 'http://shoal.internal'])
      expect(ask({ host, origin, site: 'same-origin' })).toBe('token')
    expect(ask({ host: 'shoal.internal:8443', origin: 'https://shoal.internal:8443' })).toBe('token')
    for (const origin of [
      'https://evil.example',
      'https://shoal.internal:444',
      'null',
      'https://shoal.internal.evil.example',
    ])
      expect(ask({ host, origin })).toBe('request_refused')
    expect(ask({ host, site: 'cross-site' })).toBe('request_refused')
    // Its own address has no TLS.
    expect(ask({ host: '127.0.0.1:7373', origin: 'https://127.0.0.1:7373' })).toBe('request_refused')
  })

  it('may be localhost with another port: the near end of a port forward', () => {
    expect(guardOf('127.0.0.1')({ host: 'localhost:8080' })).toBe('request_refused')
    expect(guardOf('127.0.0.1', ['localhost'])({ host: 'localhost:8080', origin: 'http://localhost:8080' })).toBe(
      'token',
    )
    // A page that another program on this machine serves.
    expect(guardOf('127.0.0.1', ['localhost'])({ host: 'localhost:7373', origin: 'http://localhost:3000' })).toBe(
      'request_refused',
    )
  })

  it('does not matter to probes that other machines send', () => {
    const ask = guardOf('0.0.0.0')
    for (const path of ['/healthz', '/readyz'])
      for (const host of ['10.1.2.3:7373', '10.1.2.3', 'anything.example', ''])
        expect(ask({ host, path, token: null })).toBe('open')
    expect(ask({ host: 'anything.example', path: '/healthz/', token: null })).toBe('request_refused')
    expect(ask({ host: 'anything.example', path: '//healthz', token: null })).toBe('request_refused')
    // On loopback only pages of other sites have other names.
    expect(guardOf('127.0.0.1')({ host: 'evil.example', path: '/healthz', token: null })).toBe('request_refused')
  })

  it('is a setting with names only', () => {
    const allow = (allowHost: string) => loadConfig({ flags: { allowHost }, env: {} }).allowHost
    expect(allow('dashboard, Dashboard.Shoal.svc')).toEqual(['dashboard', 'dashboard.shoal.svc'])
    expect(allow('[fd00::7]')).toEqual(['[fd00::7]'])
    for (const wrong of ['http://dashboard', 'dashboard:7373', '*', '*.example', 'a/b', '.example', 'x-'])
      expect(() => allow(wrong)).toThrow('expected host names without port or path')
    expect(loadConfig({ flags: {}, env: { SHOAL_ALLOW_HOST: 'a,b' } }).allowHost).toEqual(['a', 'b'])
  })
})
