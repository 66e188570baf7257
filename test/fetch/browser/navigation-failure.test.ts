import { expect, it } from 'vitest'
import { ShoalError } from '../../../src/errors.js'
import { navigationFailure } from '../../../src/fetch/browser/navigation-failure.js'

const known = (error: ShoalError | null) => ({ failureOf: () => error })

it.each([
  ['page.goto: net::ERR_CERT_AUTHORITY_INVALID at https://a.example/', 'tls_error'],
  ['page.goto: net::ERR_SSL_PROTOCOL_ERROR at https://a.example/', 'tls_error'],
  ['page.goto: net::ERR_CONNECTION_CLOSED at https://a.example/', 'connect_error'],
  ['page.goto: net::ERR_TUNNEL_CONNECTION_FAILED at https://a.example/', 'connect_error'],
  ['page.goto: net::ERR_INVALID_HTTP_RESPONSE at http://a.example/', 'protocol_error'],
  ['page.goto: net::ERR_CONTENT_DECODING_FAILED at http://a.example/', 'decode_error'],
  ['page.goto: net::ERR_INCOMPLETE_CHUNKED_ENCODING at http://a.example/', 'truncated'],
  ['page.goto: Target page, context or browser has been closed', 'browser_crashed'],
  ['page.goto: Page crashed', 'browser_crashed'],
])('%s: %s', (said, code) => {
  expect(navigationFailure('http://a.example/', `Error: ${said}`, known(null)).code).toBe(code)
})

it('believes the guarding proxy first', () => {
  const refused = new ShoalError('private_address', 'inside')
  expect(navigationFailure('http://a.example/', 'net::ERR_TUNNEL_CONNECTION_FAILED', known(refused))).toBe(refused)
})
