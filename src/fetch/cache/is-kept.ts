import type { FetchResponse } from '../fetcher.js'

/** A spider's limit for pages is 10 MiB by default; a sitemap may have 50 MB. */
const MOST_BODY_BYTES = 64 * 1024 * 1024

const KEPT = new Set([301, 302, 303, 307, 308, 404, 410])

/**
 * Whether the next run should get this response again. Only what the site would answer tomorrow too: not 429 and 5xx, nor 401 and 403, which are
 * often a ban, because every later run would be stuck with them. 206 is a part of a page, and 304 none at all.
 */
export function isKept({ status, body }: Pick<FetchResponse, 'status' | 'body'>): boolean {
  if (body.length > MOST_BODY_BYTES) return false
  return (status >= 200 && status < 300 && status !== 206) || KEPT.has(status)
}
