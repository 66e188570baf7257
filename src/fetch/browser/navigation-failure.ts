import { ShoalError } from '../../errors.js'
import { parseUrl } from '../../url/parse-url.js'
import type { Traffic } from './traffic.js'

/** What the browser reports about a document that did not load. If the guard proxy could not reach the host, its own error is more precise. */
export function navigationFailure(url: string, said: string, traffic: Pick<Traffic, 'failureOf'>): ShoalError {
  const parsed = parseUrl(url)
  const known = parsed === null ? null : traffic.failureOf(parsed)
  if (known !== null) return known
  const code = /net::(ERR_\w+)/.exec(said)?.[1] ?? (said.split('\n')[0] ?? '').slice(0, 200)
  const message = `${url}: ${code}`
  if (/ERR_CERT_|ERR_SSL_|ERR_BAD_SSL/.test(code)) return new ShoalError('tls_error', message)
  if (/ERR_(INVALID_RESPONSE|INVALID_HTTP|HTTP2_PROTOCOL|RESPONSE_HEADERS|UNEXPECTED)/.test(code))
    return new ShoalError('protocol_error', message)
  if (/ERR_(CONTENT_LENGTH_MISMATCH|INCOMPLETE_CHUNKED)/.test(code)) return new ShoalError('truncated', message)
  if (/ERR_CONTENT_DECODING/.test(code)) return new ShoalError('decode_error', message)
  // Anything but a network error comes from Playwright: the page or its browser is gone.
  return new ShoalError(code.startsWith('ERR_') ? 'connect_error' : 'browser_crashed', message)
}
