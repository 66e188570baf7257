/** A JSON value: what a link or a record may contain. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** 64 bits of SHA-1 over the canonical request, as 16 hex digits. 100 million URLs: 3e-4 collisions expected. */
export type Fingerprint = string

/**
 * The key of a pace, one of:
 *   `shop.example`, `shop.example:8080`   a host, with its port if that is not the scheme's default
 *   `example`                             a registrable domain, if the spider says so
 *   `@name`                               a named group of URLs, such as those of one API key
 *   `shop.example|203.0.113.7`            any of these through one proxy
 */
export type HostKey = string

/** What a request has in addition to its URL. Absent for a plain GET, which nearly every link is. */
export interface RequestExtras {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** A URL that was accepted: canonical, in scope, with a route. Created only by url/admit. */
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
  /** Wait at least this long after it is added. */
  readonly delayMs?: number
  /** Visit it again even if it is known and has ended; see `Frontier.add`. */
  readonly again?: true
}

export const PRIORITY_MIN = -100
export const PRIORITY_MAX = 100

export function clampPriority(priority: number): number {
  if (Number.isNaN(priority)) return 0
  return Math.max(PRIORITY_MIN, Math.min(PRIORITY_MAX, Math.round(priority)))
}
