import type { UrlParts } from './url-parts.js'

/** The rules of the filter; part of a resolved spider. */
export interface AdmitRules {
  /**
   * `example.com` for that name on any port, `example.com:8080` for one port, `*.example.com` for its subdomains only (at any depth, not the name
   * itself); empty: any host.
   */
  readonly hosts: readonly string[]
  /** Patterns (see patterns.ts) for the canonical URL: at least one must match, unless there are none. */
  readonly allow: readonly (string | RegExp)[]
  /** The same: none may match. */
  readonly deny: readonly (string | RegExp)[]
  readonly maxDepth: number
  readonly maxUrlLength: number
  readonly traps: TrapRules
  readonly canonical: CanonicalRules
  /** Added to the priority per level of depth: negative for breadth-first, positive for depth-first, 0 for neither. */
  readonly depthPriority: number
  readonly pace: PaceRules
  /** The route whose pattern matches, with its priority; null if none does. */
  routeOf(url: UrlParts): { readonly name: string; readonly priority: number } | null
  /** Priority of a route named by a link rule or a handler; null if there is no such route. */
  priorityOf(route: string): number | null
}

/** What the pace of a URL applies to. */
export interface PaceRules {
  /** Each host separately, or all hosts of a registrable domain together. */
  readonly per: 'host' | 'domain'
  /** URLs that share one pace, whatever their hosts. The first that matches; a group without patterns is used by name only. */
  readonly groups: readonly PaceGroup[]
}

interface PaceGroup {
  readonly name: string
  readonly match: readonly (string | RegExp)[]
}

export interface CanonicalRules {
  /** Query parameters to drop; a trailing * matches the rest of the name. Defaults to the known tracking parameters. */
  readonly dropParams: readonly string[]
  readonly sortParams: boolean
  /** 'keep' | 'strip' (not on the root path). */
  readonly trailingSlash: 'keep' | 'strip'
  /** The user's own last step; must be idempotent. */
  readonly rewrite: ((url: URL) => void) | null
}

export interface TrapRules {
  /** Maximum number of path segments. */
  readonly maxSegments: number
  /** How often the same segment, or group of segments, may occur in a row. */
  readonly maxRepeat: number
  /** Maximum number of query parameters. */
  readonly maxParams: number
  /**
   * Session ids in the query and `;jsessionid=` are removed; URLs with one in the path are refused. True: those with a name that nothing else has
   * (PHPSESSID); 'likely': also what looks like one (`sid` or `s` with 26 letters and digits).
   */
  readonly sessionIds: SessionIdRule
  /** Dates outside the years 1900 to 2100 are refused. */
  readonly calendars: boolean
}

export type SessionIdRule = boolean | 'likely'
