import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import tls from 'node:tls'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../src/clock.js'
import { ShoalError } from '../../src/errors.js'
import type { Fetcher, FetchLimits } from '../../src/fetch/fetcher.js'
import { createHttpFetcher } from '../../src/fetch/http/http-fetcher.js'
import { isStaleSocket } from '../../src/fetch/stale-socket.js'
import { type BadServer, startBadServer } from '../support/bad-server.js'
import { gigabyteGzip } from '../support/misbehaviours.js'
import { CA, EXPIRED, GOOD, KEY, SELF_SIGNED, WRONG_HOST } from '../support/test-only-certificates.js'
import { codeOf, get, LIMITS, LOOPBACK, never, newFetcher } from './support.js'

let server: BadServer
let fetcher: Fetcher
beforeAll(async () => {
  server = await startBadServer()
})
afterAll(() => server.close())
beforeEach(() => {
  fetcher = newFetcher()
})
afterEach(() => fetcher.close())

const text = (body: Uint8Array) => Buffer.from(body).toString()
const settle = (ms: number) => systemClock.sleep(ms)

describe('answers', () => {
  it.each([
    ['/ok'],
    ['/close'],
    ['/until-close'],
    ['/chunked'],
    ['/gzip'],
    ['/x-gzip'],
    ['/br'],
    ['/deflate'],
    ['/deflate-raw'],
    ['/two-layers'],
    ['/early-hints'],
    ['/100-unasked'],
    ['/encoding-unknown'],
    ['/length-and-chunked'],
    ['/bare-lf'],
    ['/obs-fold'],
  ])('%s gives the page', async (path) => {
    const response = await get(fetcher, server.origin + path)
    expect(response.status).toBe(200)
    expect(text(response.body)).toBe('hello, world')
    expect(response.url).toBe(server.origin + path)
    expect(response.ms).toBeGreaterThanOrEqual(0)
  })

  it.each([
    ['/no-content', 204],
    ['/not-modified', 304],
    ['/partial', 206],
    ['/redirect', 302],
    ['/error', 500],
    ['/empty', 200],
    ['/empty-gzip', 200],
    ['/unknown', 404],
  ])('%s is an answer with status %i', async (path, status) => {
    expect((await get(fetcher, server.origin + path)).status).toBe(status)
  })

  it('keeps cookies apart, joins repeated headers and takes no prototype from the wire', async () => {
    const response = await get(fetcher, `${server.origin}/cookies`)
    expect(response.cookies).toEqual(['a=1', 'b=2, c'])
    expect(response.headers['x-two']).toBe('x, y')
    expect(response.headers['set-cookie']).toBeUndefined()
    expect(Object.entries(response.headers)).toContainEqual(['__proto__', 'p'])
    expect(response.headers.constructor).toBeUndefined()
  })

  it('counts the bytes on the wire, not the decoded ones', async () => {
    const response = await get(fetcher, `${server.origin}/gzip-large`)
    expect(response.body.length).toBe(3 << 20)
    expect(response.wireBytes).toBe(Number(response.headers['content-length']))
  })

  it('joins fifty thousand chunks of one byte', async () => {
    const response = await get(fetcher, `${server.origin}/tiny-chunks`)
    expect(text(response.body)).toBe('x'.repeat(50_000))
  })

  it('sends method, headers and body, its own headers where the request has none, and no fragment', async () => {
    const before = server.heads().length
    await get(fetcher, `${server.origin}/ok?q=1#part`, {}, { method: 'POST', headers: { 'X-Mine': '1' }, body: 'a=b' })
    const head = server.heads()[before]
    expect(head).toMatch(/^POST \/ok\?q=1 HTTP\/1.1\r\n/)
    expect(head).toContain('x-mine: 1')
    expect(head).toContain('content-length: 3')
    expect(head).toContain('user-agent: Shoal-test')
    expect(head).toMatch(/accept-encoding: gzip, deflate, br/)
  })

  it('HEAD has no body, whatever length it speaks of', async () => {
    const response = await get(fetcher, `${server.origin}/ten-terabytes`, {}, { method: 'HEAD' })
    expect(response.status).toBe(200)
    expect(response.body.length).toBe(0)
  })
})

describe('answers that are refused', () => {
  it.each<[string, string, Partial<FetchLimits>]>([
    ['/silent', 'timeout', { headersMs: 300 }],
    ['/silent', 'timeout', { totalMs: 300 }],
    ['/drip-headers', 'timeout', { totalMs: 500 }],
    ['/drip-headers', 'timeout', { headersMs: 500 }],
    ['/drip-body', 'timeout', { totalMs: 500 }],
    ['/stall-body', 'timeout', { idleMs: 300 }],
    ['/endless-chunks', 'too_large', {}],
    ['/endless-until-close', 'too_large', {}],
    ['/ten-terabytes', 'too_large', {}],
    ['/gzip-bomb', 'too_large', {}],
    ['/brotli-bomb', 'too_large', {}],
    ['/nested-bomb', 'too_large', {}],
    ['/gzip-large', 'too_large', { maxBodyBytes: 100_000 }],
    ['/20000-headers', 'headers_too_large', {}],
    ['/megabyte-header', 'headers_too_large', {}],
    ['/endless-headers', 'headers_too_large', {}],
    ['/length-too-large', 'truncated', {}],
    ['/length-too-small', 'truncated', {}],
    ['/chunks-cut', 'truncated', {}],
    ['/chunks-cut-close', 'truncated', {}],
    ['/headers-cut', 'truncated', {}],
    ['/fin-before-headers', 'connect_error', {}],
    ['/reset-before-headers', 'connect_error', {}],
    ['/reset-mid-body', 'truncated', {}],
    ['/reset-mid-chunks', 'truncated', {}],
    ['/reset-until-close', 'truncated', {}],
    ['/encodings-200', 'decode_error', {}],
    ['/encodings-3', 'decode_error', {}],
    ['/gzip-broken', 'decode_error', {}],
    ['/gzip-cut', 'decode_error', {}],
    ['/gzip-plain', 'decode_error', {}],
    ['/br-cut', 'decode_error', {}],
    ['/http-0.9', 'protocol_error', {}],
    ['/garbage', 'protocol_error', {}],
    ['/bad-status', 'protocol_error', {}],
    ['/two-lengths', 'protocol_error', {}],
    ['/bad-chunk', 'protocol_error', {}],
    ['/1xx-flood', 'protocol_error', {}],
    ['/101', 'protocol_error', {}],
  ])('%s → %s %o', async (path, code, limits) => {
    expect(await codeOf(get(fetcher, server.origin + path, limits))).toBe(code)
  })

  it.each(['/silent', '/drip-headers', '/drip-body', '/endless-chunks', '/ten-terabytes', '/1xx-flood', '/garbage'])(
    '%s leaves no socket open and its connection is not used again',
    async (path) => {
      await codeOf(get(fetcher, server.origin + path, { totalMs: 300 }))
      await vi.waitFor(() => expect(server.openSockets()).toBe(0))
      const before = server.connections()
      expect((await get(fetcher, `${server.origin}/ok`)).status).toBe(200)
      expect(server.connections()).toBe(before + 1)
    },
  )

  it.each(['/gzip-bomb', '/brotli-bomb', '/endless-chunks'])('%s costs less than 60 MB', async (path) => {
    gigabyteGzip()
    await codeOf(get(fetcher, server.origin + path))
    const before = process.memoryUsage.rss()
    let peak = before
    const timer = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage.rss())
    }, 5)
    await codeOf(get(fetcher, server.origin + path))
    clearInterval(timer)
    expect(Math.max(peak, process.memoryUsage.rss()) - before).toBeLessThan(60 << 20)
  })
})

describe('connections', () => {
  it('keeps one connection for requests in a row and opens no more than there are requests at once', async () => {
    const before = server.connections()
    for (let i = 0; i < 5; i++) await get(fetcher, `${server.origin}/ok`)
    expect(server.connections()).toBe(before + 1)
    await Promise.all(Array.from({ length: 20 }, () => get(fetcher, `${server.origin}/gzip`)))
    expect(server.connections()).toBeLessThanOrEqual(before + 20)
    await Promise.all(Array.from({ length: 20 }, () => get(fetcher, `${server.origin}/gzip`)))
    expect(server.connections()).toBeLessThanOrEqual(before + 20)
  })

  it('does not ask on a connection that the server closed, or that has been idle for too long', async () => {
    await get(fetcher, `${server.origin}/ok-then-fin`)
    await vi.waitFor(() => expect(server.openSockets()).toBe(0))
    await get(fetcher, `${server.origin}/ok-for-a-second`)
    await vi.waitFor(() => expect(server.openSockets()).toBe(0), { timeout: 5_000 })
    const before = server.connections()
    await get(fetcher, `${server.origin}/ok`)
    expect(server.connections()).toBe(before + 1)
  })

  it('a server that closes after each answer is dialled again', async () => {
    for (let i = 0; i < 3; i++) expect((await get(fetcher, `${server.origin}/close`)).status).toBe(200)
  })

  it('says when a kept connection had gone stale, and does not ask again by itself', async () => {
    await get(fetcher, `${server.origin}/ok-then-hang-up-on-next`)
    const before = server.requests().length
    const error = await get(fetcher, `${server.origin}/ok?stale`).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ShoalError)
    expect(isStaleSocket(error)).toBe(true)
    expect(server.requests().length).toBe(before + 1)
    expect((await get(fetcher, `${server.origin}/ok`)).status).toBe(200)
  })

  it('a POST on a stale connection is not safe to repeat, nor is a failure on a fresh one', async () => {
    await get(fetcher, `${server.origin}/ok-then-hang-up-on-next`)
    const post = await get(fetcher, `${server.origin}/ok`, {}, { method: 'POST', body: 'x' }).catch((e: unknown) => e)
    expect(isStaleSocket(post)).toBe(false)
    const fresh = await get(fetcher, `${server.origin}/fin-before-headers`).catch((e: unknown) => e)
    expect(isStaleSocket(fresh)).toBe(false)
  })

  it('tells of the dispatch just before the request is written, and a refusal there sends nothing', async () => {
    const told: number[] = []
    await get(fetcher, `${server.origin}/ok`, {}, { onDispatch: () => told.push(server.requests().length) })
    expect(told).toEqual([server.requests().length - 1])
    const before = server.requests().length
    const late = new ShoalError('throttled', 'the permit is too old')
    const onDispatch = () => {
      throw late
    }
    // On a connection that was just dialled for it, and on a kept one: either way it is there for the next request.
    const fresh = newFetcher()
    const connections = server.connections()
    for (let i = 0; i < 3; i++) {
      await expect(get(fresh, `${server.origin}/ok`, {}, { onDispatch })).rejects.toBe(late)
    }
    await get(fresh, `${server.origin}/error`)
    await expect(get(fresh, `${server.origin}/ok`, {}, { onDispatch })).rejects.toBe(late)
    await get(fresh, `${server.origin}/empty`)
    expect(server.requests().slice(before)).toEqual(['/error', '/empty'])
    expect(server.connections()).toBe(connections + 1)
    await fresh.close()
  })

  it('gives up when the signal says so, before and during the request', async () => {
    const before = server.requests().length
    const request = { url: `${server.origin}/silent`, limits: LIMITS, allowPrivate: LOOPBACK }
    expect(await codeOf(fetcher.fetch(request, AbortSignal.abort()))).toBe('aborted')
    expect(server.requests().length).toBe(before)
    const stop = new AbortController()
    const fetching = codeOf(fetcher.fetch(request, stop.signal))
    await vi.waitFor(() => expect(server.requests().length).toBe(before + 1))
    stop.abort()
    expect(await fetching).toBe('aborted')
    await vi.waitFor(() => expect(server.openSockets()).toBe(0))
  })

  it('does not blame the server for the time in which this process stood still', async () => {
    await get(fetcher, `${server.origin}/ok`)
    const standStill = () => {
      const until = systemClock.mono() + 700
      while (systemClock.mono() < until) {}
    }
    const limits = { totalMs: 400, headersMs: 400, idleMs: 400 }
    const fetching = get(fetcher, `${server.origin}/gzip-large`, limits, { onDispatch: () => setImmediate(standStill) })
    expect((await fetching).status).toBe(200)
    expect(await codeOf(get(fetcher, `${server.origin}/drip-body`, limits))).toBe('timeout')
  })

  it('close ends what is running, closes every socket and refuses what comes later', async () => {
    await get(fetcher, `${server.origin}/ok`)
    const running = codeOf(get(fetcher, `${server.origin}/silent`))
    await settle(50)
    await fetcher.close()
    expect(await running).toBe('aborted')
    expect(await codeOf(get(fetcher, `${server.origin}/ok`))).toBe('aborted')
    await vi.waitFor(() => expect(server.openSockets()).toBe(0))
  })

  it('nobody listens → connect_error; a request that cannot be written → bad_url', async () => {
    const gone = await startBadServer()
    await gone.close()
    expect(await codeOf(get(fetcher, `${gone.origin}/`))).toBe('connect_error')
    expect(await codeOf(get(fetcher, `${server.origin}/ok`, {}, { headers: { 'bad name': 'x' } }))).toBe('bad_url')
    expect(await codeOf(get(fetcher, `${server.origin}/ok`, {}, { headers: { a: 'x\r\nb: y' } }))).toBe('bad_url')
    expect(await codeOf(get(fetcher, 'not a url'))).toBe('bad_url')
    expect(await codeOf(get(fetcher, 'file:///etc/passwd'))).toBe('bad_scheme')
    expect((await get(fetcher, `${server.origin}/ok`)).status).toBe(200)
  })
})

describe('TLS', () => {
  it.each<[string, tls.TlsOptions, string, string]>([
    ['expired', { key: KEY, cert: EXPIRED }, CA, 'tls_error'],
    ['self-signed', { key: KEY, cert: SELF_SIGNED }, CA, 'tls_error'],
    ['unknown issuer', { key: KEY, cert: GOOD }, SELF_SIGNED, 'tls_error'],
    ['wrong host', { key: KEY, cert: WRONG_HOST }, CA, 'tls_error'],
    ['TLS 1.0 and 1.1 only', { key: KEY, cert: GOOD, minVersion: 'TLSv1', maxVersion: 'TLSv1.1' }, CA, 'tls_error'],
    ['good', { key: KEY, cert: GOOD }, CA, 'ok'],
  ])('%s', async (_, options, ca, code) => {
    const secure = await startBadServer({ tls: options })
    const connect = tls.connect
    const spy = vi
      .spyOn(tls, 'connect')
      .mockImplementation(((given: tls.ConnectionOptions) => connect({ ...given, ca })) as typeof tls.connect)
    try {
      expect(await codeOf(get(fetcher, `${secure.origin}/ok`))).toBe(code)
      expect(secure.requests().length).toBe(code === 'ok' ? 1 : 0)
    } finally {
      spy.mockRestore()
      await secure.close()
    }
  })

  it('a handshake that stalls ends by the connect limit, and its socket is closed', async () => {
    expect(await codeOf(get(fetcher, `https://127.0.0.1:${server.port}/`, { connectMs: 200 }))).toBe('connect_error')
    await vi.waitFor(() => expect(server.openSockets()).toBe(0))
  })

  it('a server that speaks plain HTTP where TLS is expected', async () => {
    const plain = createServer((socket) => {
      socket.on('error', () => {})
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')
    }).listen(0, '127.0.0.1')
    await once(plain, 'listening')
    const { port } = plain.address() as AddressInfo
    expect(await codeOf(get(fetcher, `https://127.0.0.1:${port}/`))).toBe('tls_error')
    plain.close()
  })
})

describe('DNS', () => {
  const failing = (code: string) =>
    createHttpFetcher({
      clock: systemClock,
      lookup: (_, done) => setImmediate(() => done(Object.assign(new Error(code), { code }), [])),
    })

  it.each([
    ['ENOTFOUND', 'dns_not_found'],
    ['EAI_AGAIN', 'dns_error'],
    ['ESERVFAIL', 'dns_error'],
    ['ETIMEOUT', 'dns_error'],
  ])('%s → %s', async (error, code) => {
    for (const scheme of ['http', 'https']) {
      const failed = failing(error)
      expect(await codeOf(get(failed, `${scheme}://site.test/`))).toBe(code)
      await failed.close()
    }
  })

  it('a resolver that never answers ends by the connect limit', async () => {
    const stuck = createHttpFetcher({ clock: systemClock, lookup: () => {} })
    expect(await codeOf(get(stuck, 'http://site.test/', { connectMs: 200 }))).toBe('connect_error')
    await stuck.close()
  })

  it('300 addresses are no trouble', async () => {
    const many = createHttpFetcher({
      clock: systemClock,
      lookup: (_, done) =>
        done(
          null,
          Array.from({ length: 300 }, () => ({ address: '127.0.0.1', family: 4 })),
        ),
    })
    const request = { url: `http://site.test:${server.port}/ok`, limits: LIMITS, allowPrivate: ['site.test:*'] }
    expect((await many.fetch(request, never)).status).toBe(200)
    await many.close()
  })
})
