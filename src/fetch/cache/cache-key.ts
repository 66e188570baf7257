import { hash } from 'node:crypto'
import type { RequestExtras } from '../../url/link.js'
import type { RenderWish } from '../fetcher.js'

/** Everything that two requests must have in common to get the same page. */
export interface CacheableRequest extends RequestExtras {
  readonly url: string
  readonly render?: RenderWish
  /** The spider whose session sends it; null: no session. A page for one visitor is not the page for another. */
  readonly session: string | null
  /** Where its proxies are; null: anywhere. */
  readonly country: string | null
}

/** Part of the key: entries of an older format are never found. */
const FORMAT = 1

/**
 * The name of an entry, 64 hex digits. Only a hash, because bodies and headers of requests may contain passwords. References to secrets are in it as
 * references: whoever computes the key does not have their values.
 */
export function cacheKey({
  url,
  method = 'GET',
  headers = {},
  body,
  render,
  session,
  country,
}: CacheableRequest): string {
  const named = Object.entries(headers).map(([name, value]): [string, string] => [name.toLowerCase(), value])
  named.sort(([a], [b]) => (a < b ? -1 : 1))
  // The identity of the visitor is not part of the wish: it is another object in each run.
  const wish = render === undefined ? null : [render.wait, render.settleMs, render.images]
  return hash('sha256', JSON.stringify([FORMAT, method, url, named, body ?? null, wish, session, country]), 'hex')
}
