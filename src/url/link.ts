/** A JSON value: what may travel on a link or in a record. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** 64 bits of SHA-1 over the canonical request, as 16 hex digits. 100 million URLs: 3e-4 collisions expected. */
export type Fingerprint = string

/**
 * The key under which a pace is kept, one of:
 *   `shop.example`, `shop.example:8080`   a host, with its port when that is not the scheme's own
 *   `example`                             a registrable domain, where the spider says so
 *   `@name`                               a named group of URLs, such as those of one API key
 *   `shop.example|203.0.113.7`            any of these through one way out
 */
export type HostKey = string

/** What a request carries beside its URL. Absent for a plain GET, which nearly every link is. */
export interface RequestExtras {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** A URL that was admitted: canonical, in scope, with a route. Made only by url/admit. */
export interface Link {
  readonly url: string
  readonly fp: Fingerprint
  /** Its pace key. */
  readonly host: HostKey
  readonly route: string
  /** Clicks from a seed. */
  readonly depth: number
  /** −100 … 100, higher first. */
  readonly priority: number
  readonly request?: RequestExtras
  /** The user's own data, opaque to the queue. */
  readonly data?: Json
  /** Not before this long after it is added. */
  readonly delayMs?: number
  /** To be visited again if it is known and has ended; see `Frontier.add`. */
  readonly again?: true
}

export const PRIORITY_MIN = -100
export const PRIORITY_MAX = 100

export function clampPriority(priority: number): number {
  if (Number.isNaN(priority)) return 0
  return Math.max(PRIORITY_MIN, Math.min(PRIORITY_MAX, Math.round(priority)))
}
