import tls from 'node:tls'
import type { Lookup } from '../../src/fetch/guard.js'
import { type H2_MODES, startBadH2Server } from '../support/bad-h2-server.js'
import { startBadServer } from '../support/bad-server.js'
import { CA, EXPIRED, GOOD, KEY, SELF_SIGNED, WRONG_HOST } from '../support/test-only-certificates.js'
import type { Bench } from './bench.js'
import type { Fixture } from './fixture.js'
import { page } from './page.js'

/** Servers and transport. Limits are small where a case is slow, so that all of them together take seconds. */

function secure(name: string, options: tls.TlsOptions, expected: string): Fixture {
  return {
    number: 15,
    name,
    expected,
    async run({ visit }) {
      const server = await startBadServer({ tls: { key: KEY, ...options } })
      return trusting(() =>
        visit(`${server.origin}/ok`, { definition: { allowPrivate: [`127.0.0.1:${server.port}`] } }),
      ).finally(() => server.close())
    },
  }
}

/** With the certificate authority of the tests beside those of the system. */
export async function trusting<Result>(run: () => Promise<Result>): Promise<Result> {
  const { connect } = tls
  tls.connect = ((options: tls.ConnectionOptions) => connect({ ...options, ca: CA })) as typeof tls.connect
  return run().finally(() => {
    tls.connect = connect
  })
}

function http2(number: number, mode: keyof typeof H2_MODES, expected: string, fetch = {}): Fixture {
  return {
    number,
    name: `HTTP/2: ${mode}`,
    expected,
    async run({ visit }) {
      const server = await startBadH2Server()
      server.behave(mode)
      const allowPrivate = [`${new URL(server.origin).host}`]
      return trusting(() => visit(`${server.origin}/page`, { definition: { allowPrivate, fetch } })).finally(() =>
        server.close(),
      )
    },
  }
}

const failing =
  (code: string): Lookup =>
  (_, done) =>
    setImmediate(() => done(Object.assign(new Error(code), { code }), []))

function dns(name: string, lookup: Lookup, expected: string, fetch = {}): Fixture {
  return {
    number: 16,
    name,
    expected,
    run: ({ site, visit }) =>
      visit(`http://name.test:${site.port}/ok`, {
        lookup,
        definition: { allowPrivate: ['name.test:*'], fetch },
      }),
  }
}

/** A kept connection dies under the second request: asked once more, at the cost of no attempt. */
async function hangsUpBetween({ site, crawl }: Bench): Promise<string> {
  const before = site.requests().length
  const { links } = await crawl(`${site.origin}/ok-then-hang-up-on-next`, {
    definition: { start: [`${site.origin}/ok-then-hang-up-on-next`, `${site.origin}/ok?next`], order: 'fifo' },
  })
  const attempts = links.map(({ state, attempts }) => `${state} after ${attempts}`).join(', ')
  return `${attempts}; ${site.requests().length - before} requests`
}

const TIMEOUT = 'timeout → retry'
const TOO_LARGE = 'too_large → dead'
const TRUNCATED = 'truncated → retry'
const DECODE = 'decode_error → dead'
const HEADERS = 'headers_too_large → dead'
const PROTOCOL = 'protocol_error → retry'
const CONNECT = 'connect_error → retry'
const TLS = 'tls_error → dead'

export const TRANSPORT: readonly Fixture[] = [
  page(1, '/drip-headers', TIMEOUT, { timeout: '300ms' }),
  page(1, '/drip-headers?headers', TIMEOUT, { headersTimeout: '300ms' }),
  page(2, '/drip-body', TIMEOUT, { timeout: '300ms' }),
  page(2, '/stall-body', TIMEOUT, { idleTimeout: '200ms' }),
  http2(2, 'drips the body', TIMEOUT, { timeout: '300ms' }),
  page(3, '/endless-chunks', TOO_LARGE),
  page(3, '/endless-until-close', TOO_LARGE),
  http2(3, 'endless body', TOO_LARGE, { maxBodyBytes: '1mb' }),
  page(4, '/ten-terabytes', TOO_LARGE),
  http2(4, 'ten terabytes', TOO_LARGE),
  page(5, '/length-too-large', TRUNCATED),
  page(5, '/length-too-small', TRUNCATED),
  page(5, '/chunks-cut', TRUNCATED),
  http2(5, 'length too large', TRUNCATED),
  http2(5, 'length too small', TRUNCATED),
  page(6, '/gzip-bomb', TOO_LARGE),
  page(6, '/nested-bomb', TOO_LARGE),
  page(7, '/brotli-bomb', TOO_LARGE),
  page(7, '/brotli-gigabyte', TOO_LARGE),
  page(8, '/encodings-200', DECODE),
  page(8, '/encodings-3', DECODE),
  page(9, '/gzip-broken', DECODE),
  page(9, '/gzip-cut', DECODE),
  page(9, '/br-cut', DECODE),
  page(9, '/gzip-plain', DECODE),
  page(9, '/encoding-unknown', 'page'),
  page(10, '/20000-headers', HEADERS),
  page(10, '/megabyte-header', HEADERS),
  page(10, '/endless-headers', HEADERS),
  http2(10, '3,000 headers', HEADERS),
  http2(10, 'headers without end', HEADERS),
  page(11, '/http-0.9', PROTOCOL),
  page(11, '/garbage', PROTOCOL),
  page(11, '/bad-status', PROTOCOL),
  page(11, '/bare-lf', 'page'),
  page(11, '/obs-fold', 'page'),
  page(11, '/length-and-chunked', 'page'),
  page(11, '/two-lengths', PROTOCOL),
  page(11, '/bad-chunk', PROTOCOL),
  page(12, '/reset-mid-body', TRUNCATED),
  page(12, '/fin-before-headers', CONNECT),
  page(12, '/silent', TIMEOUT, { headersTimeout: '200ms' }),
  http2(12, 'reset without error', TRUNCATED),
  http2(12, 'reset cancel', TRUNCATED),
  http2(12, 'go away before an answer', CONNECT),
  {
    number: 13,
    name: 'keep-alive closed between requests',
    expected: 'done after 1, done after 1; 3 requests',
    run: hangsUpBetween,
  },
  page(14, '/1xx-flood', PROTOCOL),
  page(14, '/101', PROTOCOL),
  http2(14, 'endless 1xx', PROTOCOL),
  secure('expired', { cert: EXPIRED }, TLS),
  secure('self-signed', { cert: SELF_SIGNED }, TLS),
  secure('wrong host', { cert: WRONG_HOST }, TLS),
  secure('TLS 1.0 only', { cert: GOOD, minVersion: 'TLSv1', maxVersion: 'TLSv1' }, TLS),
  secure('good', { cert: GOOD }, 'page'),
  {
    number: 15,
    name: 'handshake stalls',
    expected: CONNECT,
    run: ({ site, visit }) =>
      visit(`https://127.0.0.1:${site.port}/`, { definition: { fetch: { connectTimeout: '200ms' } } }),
  },
  dns('NXDOMAIN', failing('ENOTFOUND'), 'dns_not_found → dead'),
  dns('SERVFAIL', failing('ESERVFAIL'), 'dns_error → retry'),
  dns('temporary failure', failing('EAI_AGAIN'), 'dns_error → retry'),
  dns('CNAME loop', failing('ETIMEOUT'), 'dns_error → retry'),
  dns('no answer', () => {}, CONNECT, { connectTimeout: '200ms' }),
  dns('no addresses', (_, done) => done(null, []), 'dns_error → retry'),
  dns('300 addresses', (_, done) => done(null, Array(300).fill({ address: '127.0.0.1', family: 4 })), 'page'),
  page(17, '/error-page', 'page'),
  page(17, '/empty', 'page'),
  page(17, '/no-content', 'page'),
  page(17, '/partial', 'page'),
  page(17, '/not-modified', 'http_error → dead'),
]
