import type { Cookie } from 'playwright-core'

/** The seam to a session: its cookies come as a `cookie` header and go back as `set-cookie` headers, as with any other fetcher. */

/** Of the host alone, because that is all a `cookie` header says. */
export function cookiesOf(header: string, url: string): { name: string; value: string; url: string }[] {
  return header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.indexOf('=') > 0)
    .map((pair) => ({ name: pair.slice(0, pair.indexOf('=')), value: pair.slice(pair.indexOf('=') + 1), url }))
}

/** All that the page may send now, whether the server set it or a script did. */
export function cookiesAsHeaders(cookies: readonly Cookie[]): string[] {
  return cookies.map(({ name, value, domain, path, expires, httpOnly, secure, sameSite }) => {
    const parts = [`${name}=${value}`, `Path=${path}`]
    // A leading dot means the subdomains too; without it the cookie belongs to the host alone and says nothing.
    if (domain.startsWith('.')) parts.push(`Domain=${domain.slice(1)}`)
    if (expires > 0) parts.push(`Expires=${new Date(expires * 1_000).toUTCString()}`)
    if (secure) parts.push('Secure')
    if (httpOnly) parts.push('HttpOnly')
    if (sameSite !== undefined) parts.push(`SameSite=${sameSite}`)
    return parts.join('; ')
  })
}
