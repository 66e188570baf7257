import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import tls from 'node:tls'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { ShoalError } from '../../src/errors.js'
import type { Fetcher } from '../../src/fetch/fetcher.js'
import { CA, EXPIRED, GOOD, KEY, NOT_YET, SELF_SIGNED, WRONG_HOST } from '../support/test-only-certificates.js'
import { get, newFetcher } from './support.js'

let fetcher: Fetcher
let authorities: readonly string[] = [CA]
let close = () => {}
beforeEach(() => {
  authorities = [CA]
  const connect = tls.connect
  vi.spyOn(tls, 'connect').mockImplementation(((given: tls.ConnectionOptions) =>
    connect({ ...given, ca: [...authorities] })) as typeof tls.connect)
  fetcher = newFetcher()
})
afterEach(async () => {
  vi.restoreAllMocks()
  await fetcher.close()
  close()
})

async function listen(server: ReturnType<typeof createServer>): Promise<string> {
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  close = () => server.close()
  return `https://localhost:${(server.address() as AddressInfo).port}/`
}

/** Counts what it was asked: a request that reached a server whose certificate is wrong is a leak. */
let asked = 0
async function secure(options: tls.TlsOptions): Promise<string> {
  asked = 0
  return listen(
    tls.createServer({ key: KEY, ...options }, (socket) => {
      socket.on('error', () => {})
      socket.on('data', () => {
        asked++
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      })
    }),
  )
}

/** Speaks no TLS: it answers the first bytes of a handshake. */
const answering = (answer: (socket: Socket) => void) =>
  listen(
    createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => answer(socket))
    }),
  )

async function failure(url: string, limits = {}): Promise<ShoalError> {
  const error = await get(fetcher, url, limits).catch((thrown: unknown) => thrown)
  if (error instanceof ShoalError) return error
  throw new Error('it should have failed', { cause: error })
}

/** A fatal alert of TLS 1.2. */
const alert = (code: number) => Buffer.from([0x15, 3, 3, 0, 2, 2, code])

it.each<[string, tls.TlsOptions, readonly string[], RegExp]>([
  ['expired', { cert: EXPIRED }, [CA], /CERT_HAS_EXPIRED/],
  ['not valid yet', { cert: NOT_YET }, [NOT_YET], /CERT_NOT_YET_VALID/],
  ['self-signed', { cert: SELF_SIGNED }, [CA], /DEPTH_ZERO_SELF_SIGNED_CERT/],
  ['for another host', { cert: WRONG_HOST }, [CA], /ERR_TLS_CERT_ALTNAME_INVALID/],
  ['of an unknown authority', { cert: GOOD }, [SELF_SIGNED], /UNABLE_TO_/],
  ['TLS 1.0 only', { cert: GOOD, minVersion: 'TLSv1', maxVersion: 'TLSv1' }, [CA], /ERR_SSL_/],
  ['TLS 1.1 only', { cert: GOOD, minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' }, [CA], /ERR_SSL_/],
  ['a client certificate is demanded', { cert: GOOD, requestCert: true, rejectUnauthorized: true }, [CA], /ERR_SSL_/],
  [
    'a client certificate is demanded, TLS 1.2',
    { cert: GOOD, requestCert: true, rejectUnauthorized: true, maxVersion: 'TLSv1.2' },
    [CA],
    /ERR_SSL_/,
  ],
  [
    'SNI that the server does not know',
    { cert: GOOD, SNICallback: (_, done) => done(new Error('unknown')) },
    [CA],
    /ECONNRESET|ERR_SSL_/,
  ],
])('%s: the request is not sent, and the message has the reason', async (name, options, trusted, reason) => {
  authorities = trusted
  const url = await secure(options)
  const { code, message, next } = await failure(url)
  // A server that merely hangs up may have been restarted; everything else stays wrong.
  expect([code, next]).toEqual(name.startsWith('SNI') ? ['connect_error', 'retry'] : ['tls_error', 'dead'])
  expect(message).toMatch(reason)
  expect(message).toContain('https://localhost:')
  expect(asked).toBe(0)
})

it.each<[string, (socket: Socket) => void, string, RegExp]>([
  ['alert handshake_failure', (socket) => socket.end(alert(40)), 'tls_error', /HANDSHAKE_FAILURE/],
  ['alert unrecognized_name', (socket) => socket.end(alert(112)), 'tls_error', /UNRECOGNIZED_NAME/],
  ['alert protocol_version', (socket) => socket.end(alert(70)), 'tls_error', /PROTOCOL_VERSION/],
  ['alert internal_error', (socket) => socket.end(alert(80)), 'tls_error', /INTERNAL_ERROR/],
  ['garbage', (socket) => socket.end(Buffer.alloc(300, 7)), 'tls_error', /ERR_SSL_/],
  ['plain HTTP', (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'), 'tls_error', /ERR_SSL_/],
  ['half a record', (socket) => socket.end(Buffer.from([0x16, 3, 3, 0, 100, 2])), 'connect_error', /ECONNRESET/],
  ['closed', (socket) => socket.end(), 'connect_error', /ECONNRESET/],
  ['reset', (socket) => socket.resetAndDestroy(), 'connect_error', /ECONNRESET/],
  ['silence', () => {}, 'connect_error', /no connection within 200 ms/],
])('instead of a handshake: %s', async (_name, answer, code, reason) => {
  const error = await failure(await answering(answer), { connectMs: 200 })
  expect(error.code).toBe(code)
  expect(error.message).toMatch(reason)
})

it('a certificate that is right for the name is accepted, one by address too', async () => {
  const url = await secure({ cert: GOOD })
  expect((await get(fetcher, url)).status).toBe(200)
  expect((await get(fetcher, url.replace('localhost', '127.0.0.1'))).status).toBe(200)
  expect(asked).toBe(2)
})
