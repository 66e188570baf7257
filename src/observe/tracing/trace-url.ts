import { parseUrl } from '../../url/parse-url.js'

/** Names of parameters whose values are secrets: those in OpenTelemetry's conventions, and other common ones. */
const SECRET =
  /(^|[-_.])(api_?key|key|token|auth|authorization|access_?token|sig|signature|secret|pass|passwd|password|pwd|session|sid|jwt|code|otp|awsaccesskeyid|credential)s?$/i
const MOST = 2_000

/** A URL that may be sent to third-party servers: without a password or the value of a parameter that resembles one. */
export function traceUrl(text: string): string {
  const url = parseUrl(text)
  if (url === null) return ''
  url.username = ''
  url.password = ''
  for (const name of [...url.searchParams.keys()]) if (SECRET.test(name)) url.searchParams.set(name, 'REDACTED')
  url.hash = ''
  return url.href.slice(0, MOST)
}
