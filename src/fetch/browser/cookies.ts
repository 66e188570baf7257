import type { BrowserContext, Cookie } from 'playwright-core'
import { parseUrl } from '../../url/parse-url.js'

/** The interface to a session: its cookies come as a `cookie` header and go back as `set-cookie` headers, as with any other fetcher. */

/** Chromium refuses larger ones. */
const MOST_BYTES = 4096

export interface GivenCookie {
  readonly name: string
  readonly value: string
  readonly url: string
}

/** For this host and no other, because that is all a `cookie` header says. What the browser would refuse is left out. */
export function cookiesOf(header: string, url: string): GivenCookie[] {
  const home = new URL('/', url)
  return header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.indexOf('=') > 0 && Buffer.byteLength(pair) <= MOST_BYTES)
    .map((pair) => ({
      name: pair.slice(0, pair.indexOf('=')),
      value: pair.slice(pair.indexOf('=') + 1),
      url: home.href,
    }))
    .filter(({ name }) => home.protocol === 'https:' || !/^__(host|secure)-/i.test(name))
}

/** A cookie that the browser refuses anyway is no reason to lose the page. Returns those that it accepted. */
export async function giveCookies(context: BrowserContext, cookies: readonly GivenCookie[]): Promise<GivenCookie[]> {
  if (cookies.length === 0) return []
  try {
    await context.addCookies(cookies)
  } catch {
    for (const cookie of cookies) await context.addCookies([cookie]).catch(() => {})
  }
  const taken = new Set((await context.cookies()).map(({ name }) => name))
  return cookies.filter(({ name }) => taken.has(name))
}

/**
 * What changed since the page was requested, by its server (`sent`, its Set-Cookie lines) or by a script. The rest is not returned: a `cookie` header
 * does not say how long a cookie lives, where else it is sent and whether scripts may read it, and the session knows.
 */
export function changedCookies(
  now: readonly Cookie[],
  given: readonly GivenCookie[],
  sent: readonly string[],
  url: string,
): string[] {
  const host = parseUrl(url)?.hostname ?? ''
  const own = now.filter(({ domain }) =>
    domain.startsWith('.') ? `.${host}`.endsWith(domain) : domain === host || `[${domain}]` === host,
  )
  const changed = own.filter(
    ({ name, value, path, domain }) =>
      domain.startsWith('.') || path !== '/' || !given.some((cookie) => cookie.name === name && cookie.value === value),
  )
  const names = new Set(changed.map(({ name }) => name))
  const gone = given.filter(({ name }) => !own.some((cookie) => cookie.name === name))
  return [
    ...sent.filter((line) => !names.has(line.slice(0, Math.max(0, line.indexOf('='))).trim())),
    ...gone.map(({ name }) => `${name}=; Path=/; Max-Age=0`),
    ...changed.map(asHeader),
  ]
}

function asHeader({ name, value, domain, path, expires, httpOnly, secure, sameSite }: Cookie): string {
  const parts = [`${name}=${value}`, `Path=${path}`]
  // A leading dot includes the subdomains; without it the cookie belongs to the host only and has no Domain.
  if (domain.startsWith('.')) parts.push(`Domain=${domain.slice(1)}`)
  if (expires > 0) parts.push(`Expires=${new Date(expires * 1_000).toUTCString()}`)
  if (secure) parts.push('Secure')
  if (httpOnly) parts.push('HttpOnly')
  if (sameSite !== undefined) parts.push(`SameSite=${sameSite}`)
  return parts.join('; ')
}
