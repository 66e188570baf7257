import { once } from 'node:events'
import http2, { type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import tls from 'node:tls'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../src/clock.js'
import { ShoalError } from '../../src/errors.js'
import type { Fetcher, FetchLimits } from '../../src/fetch/fetcher.js'
import { isHttp2Safe } from '../../src/fetch/http/h2-wire.js'
import { createHttpFetcher } from '../../src/fetch/http/http-fetcher.js'
import { isStaleSocket } from '../../src/fetch/stale-socket.js'
import { type BadH2Server, type H2_MODES, startBadH2Server } from '../support/bad-h2-server.js'
import { startBadServer } from '../support/bad-server.js'
import { CA, GOOD, KEY } from '../support/test-only-certificates.js'
import { honest, socks, startProxy } from './scripted-proxy.js'
import { codeOf, get, newFetcher } from './support.js'

let bad: BadH2Server
let fetcher: Fetcher
const good = http2.createSecureServer({ key: KEY, cert: GOOD, allowHTTP1: true })
let origin: string
let sessions = 0
const seen: http2.IncomingHttpHeaders[] = []

const PAGES: Record<string, (stream: ServerHttp2Stream) => void> = {
  '/gzip': (stream) => {
    stream.respond({ ':status': 200, 'content-encoding': 'gzip', 'set-cookie': ['a=1', 'b=2'], 'x-two': 'x' })
    stream.end(gzipSync('hello, world'))
  },
  '/large': (stream) => {
    stream.respond({ ':status': 200 })
    stream.end(Buffer.alloc(3 << 20))
  },
  '/length': (stream) => {
    stream.respond({ ':status': 200, 'content-length': 12 })
    stream.end('hello, world')
  },
  '/raw-location': (stream) => {
    stream.respond({ ':status': 302, location: '/caf\xc3\xa9' })
    stream.end()
  },
  '/404': (stream) => {
    stream.respond({ ':status': 404 })
    stream.end('nothing')
  },
}

beforeAll(async () => {
  const connect = tls.connect
  vi.spyOn(tls, 'connect').mockImplementation(((given: tls.ConnectionOptions) =>
    connect({ ...given, ca: CA })) as typeof tls.connect)
  bad = await startBadH2Server()
  good.on('session', (session) => {
    sessions++
    session.on('error', () => {})
  })
  good.on('request', (request, response) => {
    if (request.httpVersion === '1.1') response.end('old')
  })
  good.on('stream', (stream, headers) => {
    seen.push(headers)
    stream.on('error', () => {})
    let body = ''
    stream.on('data', (piece) => {
      body += piece
    })
    stream.on('end', () => {
      const page = PAGES[headers[':path'] ?? '']
      if (page !== undefined) return page(stream)
      stream.respond({ ':status': 200 })
      stream.end(`${headers[':method']} ${body}`)
    })
  })
  good.listen(0, '127.0.0.1')
  await once(good, 'listening')
  origin = `https://127.0.0.1:${(good.address() as AddressInfo).port}`
})
afterAll(async () => {
  vi.restoreAllMocks()
  good.close()
  await bad.close()
})
beforeEach(() => {
  fetcher = newFetcher()
})
afterEach(() => fetcher.close())

const text = (body: Uint8Array) => Buffer.from(body).toString()

describe('a real HTTP/2 server', () => {
  it('gives pages: encodings, cookies, status, methods, bodies, on one connection for requests in a row', async () => {
    const before = sessions
    const page = await get(fetcher, `${origin}/gzip`)
    expect(text(page.body)).toBe('hello, world')
    expect(page.cookies).toEqual(['a=1', 'b=2'])
    expect(page.headers).toMatchObject({ 'x-two': 'x', 'content-encoding': 'gzip' })
    expect(Object.keys(page.headers).some((name) => name.startsWith(':'))).toBe(false)
    expect((await get(fetcher, `${origin}/404`)).status).toBe(404)
    expect((await get(fetcher, `${origin}/large`)).body.length).toBe(3 << 20)
    expect((await get(fetcher, `${origin}/length`, {}, { method: 'HEAD' })).body.length).toBe(0)
    const headers = { 'X-Mine': '1', Connection: 'keep-alive', Host: 'other.test' }
    const posted = await get(fetcher, `${origin}/post?q=1#part`, {}, { method: 'POST', body: 'a=b', headers })
    expect(text(posted.body)).toBe('POST a=b')
    expect(seen.at(-1)).toMatchObject({ ':path': '/post?q=1', ':authority': 'other.test', 'x-mine': '1' })
    expect(seen.at(-1)).toMatchObject({ 'user-agent': 'Shoal-test', 'accept-encoding': expect.stringMatching(/gzip/) })
    expect(sessions).toBe(before + 1)
  })

  it('escapes the raw bytes of a Location once', async () => {
    expect((await get(fetcher, `${origin}/raw-location`)).headers.location).toBe('/caf%C3%A9')
  })

  it('as many connections as requests at once, no more', async () => {
    const before = sessions
    for (let round = 0; round < 2; round++)
      await Promise.all(Array.from({ length: 5 }, () => get(fetcher, `${origin}/gzip`)))
    expect(sessions).toBeLessThanOrEqual(before + 5)
  })

  it('a server without HTTP/2 is spoken to in HTTP/1.1, also after it hung up', async () => {
    const old = await startBadServer({ tls: { key: KEY, cert: GOOD } })
    for (const path of ['/ok', '/ok', '/close', '/ok', '/close', '/close'])
      expect(text((await get(fetcher, old.origin + path)).body)).toBe('hello, world')
    expect(old.heads().every((head) => head.includes('HTTP/1.1'))).toBe(true)
    await old.close()
  })

  it.each(['http', 'socks5'] as const)('through a tunnel of a proxy (%s)', async (protocol) => {
    const proxy = await startProxy(protocol, protocol === 'http' ? honest : socks())
    for (let i = 0; i < 3; i++)
      expect(text((await get(fetcher, `${origin}/gzip`, {}, { proxy: proxy.server })).body)).toBe('hello, world')
    expect(proxy.connections()).toBe(1)
    await fetcher.close()
    await vi.waitFor(() => expect(proxy.openSockets()).toBe(0))
    await proxy.close()
  })

  it('a refusal at the dispatch sends nothing and keeps the connection', async () => {
    const before = seen.length
    const connections = sessions
    const late = new ShoalError('throttled', 'the permit is too old')
    const onDispatch = () => {
      throw late
    }
    for (let i = 0; i < 3; i++) await expect(get(fetcher, `${origin}/gzip`, {}, { onDispatch })).rejects.toBe(late)
    const told: number[] = []
    await get(fetcher, `${origin}/404`, {}, { onDispatch: () => told.push(seen.length) })
    expect(told).toEqual([before])
    expect(seen.length).toBe(before + 1)
    expect(sessions).toBe(connections + 1)
  })

  it('close ends what is kept', async () => {
    await get(fetcher, `${origin}/gzip`)
    await fetcher.close()
    expect(await codeOf(get(fetcher, `${origin}/gzip`))).toBe('aborted')
  })
})

describe('a Node that a malformed frame can end', () => {
  it.each([
    ['1.61.0', false],
    ['1.68.0', false],
    ['1.68.1', true],
    ['1.69.0-DEV', true],
    ['2.0.0', true],
  ])('nghttp2 %s: %s', (version, safe) => {
    expect(isHttp2Safe(version)).toBe(safe)
  })

  it('speaks HTTP/1.1', async () => {
    const before = sessions
    const old = createHttpFetcher({ clock: systemClock, http2: false })
    expect((await get(old, `${origin}/old`)).status).toBe(200)
    expect(sessions).toBe(before)
    await old.close()
  })
})

describe('an HTTP/2 server that misbehaves', () => {
  it.each<[keyof typeof H2_MODES, string, Partial<FetchLimits>]>([
    ['ok', 'ok', {}],
    ['not modified', 'ok', {}],
    ['early hints', 'ok', {}],
    ['go away in the middle, then the rest', 'ok', {}],
    ['go away after the answer', 'ok', {}],
    ['silent', 'timeout', { headersMs: 200 }],
    ['silent', 'timeout', { totalMs: 200 }],
    ['pings without end', 'timeout', { headersMs: 300 }],
    ['half and silence', 'timeout', { idleMs: 200 }],
    ['drips the body', 'timeout', { totalMs: 400 }],
    ['endless body', 'too_large', { maxBodyBytes: 1 << 20 }],
    ['ten terabytes', 'too_large', {}],
    ['endless 1xx', 'protocol_error', {}],
    ['reset without error', 'truncated', {}],
    ['reset cancel', 'truncated', {}],
    ['reset internal error', 'truncated', {}],
    ['reset before an answer', 'connect_error', {}],
    ['refused stream', 'connect_error', {}],
    ['go away in the middle', 'timeout', { idleMs: 200 }],
    ['go away before an answer', 'connect_error', {}],
    ['ends the connection', 'truncated', {}],
    ['cuts the connection', 'truncated', {}],
    ['cuts before an answer', 'connect_error', {}],
    ['length too large', 'truncated', {}],
    ['length too small', 'truncated', {}],
    ['3,000 headers', 'headers_too_large', {}],
    ['100 headers of 400 bytes', 'headers_too_large', {}],
    ['100 headers of 400 bytes', 'ok', { maxHeaderBytes: 65_536 }],
    ['headers without end', 'headers_too_large', {}],
    // Node answers it with GOAWAY and hears no more; a server that stays is left to the deadlines.
    ['garbage', 'timeout', { headersMs: 200 }],
  ])('%s → %s', async (mode, code, limits) => {
    bad.behave(mode)
    const requests = bad.requests()
    const connections = bad.connections()
    const outcome = await get(fetcher, `${bad.origin}/page`, limits).catch((error: unknown) => error)
    expect(outcome instanceof ShoalError ? outcome.code : 'ok', String(outcome)).toBe(code)
    if (code !== 'ok') await vi.waitFor(() => expect(bad.openSockets()).toBe(0))
    // Neither asked again nor dialled again by itself.
    expect(bad.requests()).toBe(requests + 1)
    expect(bad.connections()).toBe(connections + 1)
    bad.behave('ok')
    // Time for a GOAWAY behind the answer; a request that crosses it is refused, and safe to repeat.
    await systemClock.sleep(20)
    expect(text((await get(fetcher, `${bad.origin}/next`)).body)).toBe('hello, world')
  })

  it('says when a kept connection had gone stale, and does not ask on one that the server gave up', async () => {
    bad.behave('ok')
    await get(fetcher, `${bad.origin}/first`)
    bad.behave('cuts before an answer')
    const error = await get(fetcher, `${bad.origin}/second`).catch((thrown: unknown) => thrown)
    expect(isStaleSocket(error)).toBe(true)
    bad.behave('go away after the answer')
    await get(fetcher, `${bad.origin}/third`)
    await systemClock.sleep(50)
    const before = bad.connections()
    bad.behave('ok')
    await get(fetcher, `${bad.origin}/fourth`)
    expect(bad.connections()).toBe(before + 1)
  })
})
