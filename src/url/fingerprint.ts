import { hash } from 'node:crypto'
import type { Fingerprint, RequestExtras } from './link.js'

export interface FingerprintOptions {
  readonly request?: RequestExtras | undefined
  /** The user's own definition of identity: replaces URL and request. */
  readonly dedupeKey?: string | undefined
}

/**
 * 64 bits of SHA-1 over the canonical URL, or over JSON if there is more than a URL. JSON starts with a bracket and a URL does not, and the number of
 * items distinguishes a key from a request, so no two of them share a text.
 */
export function fingerprint(url: string, options?: FingerprintOptions): Fingerprint {
  return hash('sha1', identity(url, options)).slice(0, 16)
}

function identity(url: string, options: FingerprintOptions | undefined): string {
  if (options === undefined) return url
  const { request, dedupeKey } = options
  if (dedupeKey !== undefined) return JSON.stringify([dedupeKey])
  if (request === undefined) return url
  const method = (request.method ?? 'GET').toUpperCase()
  const headers = Object.entries(request.headers ?? {})
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
  const body = request.body ?? ''
  if (method === 'GET' && headers.length === 0 && body === '') return url
  return JSON.stringify([method, url, headers, body])
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
