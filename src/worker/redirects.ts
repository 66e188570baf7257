import type { FetchResponse } from '../fetch/fetcher.js'
import type { RequestExtras } from '../url/link.js'

const REDIRECTS = new Set([301, 302, 303, 307, 308])

export function redirectTarget({ status, headers }: Pick<FetchResponse, 'status' | 'headers'>): string | null {
  // An empty one is none, as in browsers: it would lead back to the same page for ever.
  return REDIRECTS.has(status) ? headers.location || null : null
}

/** As browsers do: 303 always, and 301 and 302 for a POST, turn the request into a plain GET. */
export function afterRedirect(request: RequestExtras, status: number): RequestExtras {
  const keeps = status === 307 || status === 308 || (status !== 303 && request.method !== 'POST')
  if (keeps) return request
  return request.headers === undefined ? {} : { headers: request.headers }
}

export const NO_HEADERS = {}
let lastHeaders: { agent: string; base: object; headers: Record<string, string> } | null = null

/** The same object for the same spider: the fetcher lays it out once. */
export function headersFor(
  userAgent: string,
  base: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  if (own !== undefined) return { 'user-agent': userAgent, ...base, ...own }
  if (lastHeaders?.agent !== userAgent || lastHeaders.base !== base) {
    lastHeaders = { agent: userAgent, base, headers: { 'user-agent': userAgent, ...base } }
  }
  return lastHeaders.headers
}
