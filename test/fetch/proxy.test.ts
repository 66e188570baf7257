import tls from 'node:tls'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../src/clock.js'
import { ShoalError } from '../../src/errors.js'
import type { Fetcher } from '../../src/fetch/fetcher.js'
import { createHttpFetcher } from '../../src/fetch/http/http-fetcher.js'
import type { ProxyServer } from '../../src/proxy/proxy.js'
import { type BadServer, startBadServer } from '../support/bad-server.js'
import { CA, EXPIRED, GOOD, KEY, WRONG_HOST } from '../support/test-only-certificates.js'
import { atLeast, honest, type Script, type ScriptedProxy, socks, startProxy, wholeHead } from './scripted-proxy.js'
import { codeOf, get, newFetcher } from './support.js'

const LOGIN = { username: 'jane', password: 'p@ss:canary' }
const BASIC = Buffer.from('jane:p@ss:canary').toString('base64')
const TLS = { key: KEY, cert: GOOD }

let plain: BadServer
let secure: BadServer
let fetcher: Fetcher
const proxies: ScriptedProxy[] = []

async function proxyOf(...args: Parameters<typeof startProxy>): Promise<ScriptedProxy> {
  const proxy = await startProxy(...args)
  proxies.push(proxy)
  return proxy
}

beforeAll(async () => {
  plain = await startBadServer()
  secure = await startBadServer({ tls: TLS })
  const connect = tls.connect
  vi.spyOn(tls, 'connect').mockImplementation(((given: tls.ConnectionOptions) =>
    connect({ ...given, ca: CA })) as typeof tls.connect)
})
afterAll(async () => {
  vi.restoreAllMocks()
  await plain.close()
  await secure.close()
})
beforeEach(() => {
  fetcher = newFetcher()
})
afterEach(async () => {
  await fetcher.close()
  await Promise.all(proxies.splice(0).map((proxy) => proxy.close()))
})

const through = (url: string, proxy: ProxyServer, connectMs = 5_000, more = {}) =>
  get(fetcher, url, { connectMs }, { proxy, ...more })
const failureThrough = async (url: string, proxy: ProxyServer, connectMs = 5_000) => {
  const error = await through(url, proxy, connectMs).catch((thrown: unknown) => thrown)
  if (!(error instanceof ShoalError)) throw new Error('it should have failed')
  return error
}

describe('a page comes through', () => {
  it.each<[string, ProxyServer['protocol'], Script, tls.TlsOptions | undefined]>([
    ['an HTTP proxy', 'http', honest, undefined],
    ['an HTTPS proxy', 'https', honest, TLS],
    ['a SOCKS5 proxy', 'socks5', socks(LOGIN), undefined],
  ])('%s, plain and with TLS inside, on one kept connection each', async (_, protocol, script, options) => {
    const proxy = await proxyOf(protocol, script, LOGIN, options)
    for (const server of [plain, secure]) {
      const before = server.heads().length
      for (let i = 0; i < 3; i++) {
        const response = await through(`${server.origin}/gzip?${i}`, proxy.server)
        expect(Buffer.from(response.body).toString()).toBe('hello, world')
      }
      const heads = server.heads().slice(before)
      expect(heads.length).toBe(3)
      expect(heads.join()).not.toMatch(/proxy-|canary|jane/i)
      expect(heads.join()).not.toContain(BASIC)
    }
    expect(proxy.connections()).toBe(2)
    await fetcher.close()
    await vi.waitFor(() => expect(proxy.openSockets()).toBe(0))
  })

  it('http:// goes as a whole URL with the login, https:// as CONNECT with the login', async () => {
    const proxy = await proxyOf('http', honest, LOGIN)
    await through(`${plain.origin}/ok?q=1#part`, proxy.server, 5_000, {
      headers: { 'Proxy-Authorization': 'Basic mine' },
    })
    await through(`${secure.origin}/ok`, proxy.server)
    const heard = proxy.heard()
    expect(heard).toContain(`GET ${plain.origin}/ok?q=1 HTTP/1.1\r\n`)
    expect(heard).toContain(`CONNECT 127.0.0.1:${secure.port} HTTP/1.1\r\n`)
    expect(heard.split(`roxy-authorization: Basic ${BASIC}`).length - 1).toBe(1)
    expect(heard.split(`roxy-Authorization: Basic ${BASIC}`).length - 1).toBe(1)
    expect(heard).not.toContain('Basic mine')
    expect(heard).not.toContain(`/ok HTTP/1.1\r\nhost: 127.0.0.1:${secure.port}`)
  })

  it('a spider cannot send a proxy login to a site', async () => {
    await get(fetcher, `${plain.origin}/ok`, {}, { headers: { 'Proxy-Authorization': 'Basic mine' } })
    expect(plain.heads().at(-1)).not.toMatch(/proxy-authorization/i)
  })

  it('names are resolved by the SOCKS proxy, never here', async () => {
    const asked: string[] = []
    const proxy = await proxyOf('socks5', socks())
    const mine = createHttpFetcher({
      clock: systemClock,
      lookup: (name, done) => {
        asked.push(name)
        done(null, [{ address: '127.0.0.1', family: 4 }])
      },
    })
    const request = { allowPrivate: [], proxy: { ...proxy.server, host: 'proxy.test' } }
    expect((await get(mine, `http://site.test:${plain.port}/ok`, {}, request)).status).toBe(200)
    expect(asked).toEqual(['proxy.test'])
    expect(proxy.heard()).toContain('site.test')
    await mine.close()
  })

  it('each proxy, and each login of it, has connections of its own', async () => {
    const proxy = await proxyOf('http', honest, LOGIN)
    const other = await proxyOf('http', honest, { username: 'joe', password: 'other' })
    for (let i = 0; i < 2; i++) {
      await through(`${plain.origin}/ok`, proxy.server)
      await through(`${plain.origin}/ok`, other.server)
      await through(`${plain.origin}/ok`, { ...proxy.server, username: 'session-2' })
    }
    expect(proxy.connections()).toBe(2)
    expect(other.connections()).toBe(1)
    expect(other.heard()).not.toContain(BASIC)
    expect(proxy.heard()).not.toContain(Buffer.from('joe:other').toString('base64'))
  })
})

describe('the certificate of the target is checked inside the tunnel', () => {
  it.each([
    ['expired', EXPIRED],
    ['wrong host', WRONG_HOST],
  ])('%s → tls_error', async (_, cert) => {
    const bad = await startBadServer({ tls: { key: KEY, cert } })
    const proxy = await proxyOf('http', honest)
    expect((await failureThrough(`${bad.origin}/ok`, proxy.server)).code).toBe('tls_error')
    expect(bad.requests()).toEqual([])
    await bad.close()
  })
})

const answering =
  (text: string): Script =>
  async ({ socket, hear }) => {
    await hear(wholeHead)
    socket.end(text)
  }
const saying =
  (...bytes: number[]): Script =>
  async ({ socket, hear }) => {
    await hear(atLeast(3))
    socket.end(Buffer.from(bytes))
  }

describe('who is to blame', () => {
  it.each<[string, ProxyServer['protocol'], Script, string]>([
    [
      'CONNECT is answered 407',
      'http',
      answering('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n<p>no</p>'),
      'proxy_error',
    ],
    ['CONNECT is answered 402', 'http', answering('HTTP/1.1 402 Payment Required\r\n\r\n'), 'proxy_error'],
    ['CONNECT is answered 429', 'http', answering('HTTP/1.1 429 Slow\r\n\r\n'), 'proxy_error'],
    ['CONNECT is answered 301', 'http', answering('HTTP/1.1 301 Moved\r\nLocation: /\r\n\r\n'), 'proxy_error'],
    ['CONNECT is answered 403', 'http', answering('HTTP/1.1 403 Forbidden\r\n\r\n'), 'connect_error'],
    ['CONNECT is answered 502', 'http', answering('HTTP/1.1 502 Bad Gateway\r\n\r\nno route'), 'connect_error'],
    ['CONNECT is answered 504', 'http', answering('HTTP/1.0 504\r\n\r\n'), 'connect_error'],
    ['the answer is no HTTP', 'http', answering('SSH-2.0-OpenSSH\r\n\r\n'), 'proxy_error'],
    ['the answer is cut', 'http', answering('HTTP/1.1 200 OK\r\n'), 'proxy_error'],
    ['the answer has no end', 'http', answering(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(20_000)}`), 'proxy_error'],
    ['the proxy speaks first in the tunnel', 'http', answering('HTTP/1.1 200 OK\r\n\r\nboo'), 'proxy_error'],
    ['it hangs up', 'http', ({ socket }) => void socket.end(), 'proxy_error'],
    ['it resets', 'http', ({ socket }) => void socket.resetAndDestroy(), 'proxy_error'],
    ['TLS is spoken to a plain proxy', 'https', answering('HTTP/1.1 400 Bad Request\r\n\r\n'), 'proxy_error'],
    ['the SOCKS login is refused', 'socks5', socks({ username: 'jane', password: 'another' }), 'proxy_error'],
    ['SOCKS knows no login of ours', 'socks5', saying(5, 0xff), 'proxy_error'],
    ['SOCKS of another version', 'socks5', saying(4, 90), 'proxy_error'],
    ['no SOCKS at all', 'socks5', saying(...Buffer.from('HTTP/1.1 400 Bad Request')), 'proxy_error'],
    ['SOCKS: failed', 'socks5', socks({ ...LOGIN, reply: 1 }), 'connect_error'],
    ['SOCKS: host unreachable', 'socks5', socks({ ...LOGIN, reply: 4 }), 'connect_error'],
    ['SOCKS: refused', 'socks5', socks({ ...LOGIN, reply: 5 }), 'connect_error'],
    ['SOCKS: command unknown', 'socks5', socks({ ...LOGIN, reply: 7 }), 'proxy_error'],
  ])('%s', async (_, protocol, script, code) => {
    const proxy = await proxyOf(protocol, script, LOGIN)
    const error = await failureThrough(`${secure.origin}/ok`, proxy.server)
    expect(error.code, error.message).toBe(code)
    expect(error.message).toContain(code === 'proxy_error' ? `127.0.0.1:${proxy.server.port}` : `:${secure.port}`)
    expect(`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`).not.toMatch(/canary|jane|amFuZT/)
    await vi.waitFor(() => expect(proxy.openSockets()).toBe(0))
  })

  it('nobody listens there, or nobody has heard of it', async () => {
    const gone = await startProxy('http', honest)
    await gone.close()
    for (const protocol of ['http', 'https', 'socks5'] as const)
      expect((await failureThrough(`${plain.origin}/ok`, { ...gone.server, protocol })).code).toBe('proxy_error')
    const unknown = createHttpFetcher({
      clock: systemClock,
      lookup: (_, done) => done(Object.assign(new Error('x'), { code: 'ENOTFOUND' }), []),
    })
    const proxy = { ...gone.server, host: 'proxy.test' }
    expect(await codeOf(get(unknown, `${plain.origin}/ok`, {}, { proxy }))).toBe('proxy_error')
    await unknown.close()
  })

  it.each([
    ['expired', EXPIRED],
    ['wrong host', WRONG_HOST],
  ])('the certificate of the proxy is %s', async (_, cert) => {
    const proxy = await proxyOf('https', honest, LOGIN, { key: KEY, cert })
    for (const server of [plain, secure])
      expect((await failureThrough(`${server.origin}/ok`, proxy.server)).code).toBe('proxy_error')
    expect(proxy.heard()).toBe('')
  })

  it('a plain request is answered 407', async () => {
    const proxy = await proxyOf('http', answering('HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno'), LOGIN)
    expect((await failureThrough(`${plain.origin}/ok`, proxy.server)).code).toBe('proxy_error')
  })

  it('a 407 of a site is an answer like any other', async () => {
    const odd = await startBadServer({
      otherwise: (socket) => void socket.write('HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n'),
    })
    expect((await get(fetcher, `${odd.origin}/`)).status).toBe(407)
    await odd.close()
  })

  it('silence is held against a proxy that never opened a tunnel, and against the target when it has', async () => {
    let silent = true
    const proxy = await proxyOf('http', (caller) => (silent ? undefined : honest(caller)))
    expect((await failureThrough(`${secure.origin}/ok`, proxy.server, 200)).code).toBe('proxy_error')
    silent = false
    expect((await through(`${secure.origin}/close`, proxy.server)).status).toBe(200)
    silent = true
    expect((await failureThrough(`${secure.origin}/ok`, proxy.server, 200)).code).toBe('connect_error')
    await vi.waitFor(() => expect(proxy.openSockets()).toBe(0))
  })

  it('so is silence or a hang-up after a plain request', async () => {
    let script: Script = () => {}
    const proxy = await proxyOf('http', (caller) => script(caller))
    const failing = () => codeOf(get(fetcher, `${plain.origin}/ok`, { headersMs: 200 }, { proxy: proxy.server }))
    expect(await failing()).toBe('proxy_error')
    script = honest
    expect((await through(`${plain.origin}/close`, proxy.server)).status).toBe(200)
    script = () => {}
    expect(await failing()).toBe('timeout')
    script = async ({ socket, hear }) => {
      await hear(wholeHead)
      socket.end()
    }
    expect(await failing()).toBe('connect_error')
    await vi.waitFor(() => expect(proxy.openSockets()).toBe(0))
  })

  it('a tunnel that dies or stalls before TLS stands is the connection to the target', async () => {
    const cut = await proxyOf('http', async ({ socket, hear }) => {
      await hear(wholeHead)
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      await hear(atLeast(1))
      socket.resetAndDestroy()
    })
    expect((await failureThrough(`${secure.origin}/ok`, cut.server)).code).toBe('connect_error')
    const stalled = await proxyOf('http', answering('HTTP/1.1 200 OK\r\n\r\n'))
    expect((await failureThrough(`${secure.origin}/ok`, stalled.server, 300)).code).toBe('connect_error')
    await vi.waitFor(() => expect(cut.openSockets() + stalled.openSockets()).toBe(0))
  })
})

describe('the guard before the proxy is asked', () => {
  it.each([
    ['http://127.0.0.1/', 'private_address'],
    ['http://[::1]/', 'private_address'],
    ['https://169.254.169.254/', 'private_address'],
    ['http://localhost/', 'private_address'],
    ['http://site.test:6379/', 'blocked_port'],
  ])('%s → %s', async (url, code) => {
    const proxy = await proxyOf('http', honest)
    expect(await codeOf(get(fetcher, url, {}, { proxy: proxy.server, allowPrivate: [] }))).toBe(code)
    expect(proxy.connections()).toBe(0)
  })
})
