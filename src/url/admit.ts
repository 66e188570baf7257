import type { ErrorCode } from '../errors.js'
import type { Fingerprint, HostKey, Json, Link, RequestExtras } from './link.js'

/** What the door goes by; part of a resolved spider. */
export interface AdmitRules {
  /** Exact host names or host:port; `*.example.com` for subdomains only; empty: any host. */
  readonly hosts: readonly string[]
  readonly allow: readonly RegExp[]
  readonly deny: readonly RegExp[]
  readonly maxDepth: number
  readonly maxUrlLength: number
  readonly traps: TrapRules
  readonly canonical: CanonicalRules
  /** Added to the priority for each level of depth: negative for breadth first, positive for depth first, 0 for neither. */
  readonly depthPriority: number
  /** The route whose pattern matches, with its priority; null when none does. */
  routeOf(url: URL): { readonly name: string; readonly priority: number } | null
  /** Priority of a route named by a link rule or a handler. */
  priorityOf(route: string): number | null
}

export interface CanonicalRules {
  /** Query parameters to drop; a trailing * matches the rest of the name. Defaults to the known tracking parameters. */
  readonly dropParams: readonly string[]
  readonly sortParams: boolean
  /** 'keep' | 'strip' (not on the root path). */
  readonly trailingSlash: 'keep' | 'strip'
  /** The user's own last word; must be idempotent. */
  readonly rewrite: ((url: URL) => void) | null
}

export interface TrapRules {
  /** Path segments at most. */
  readonly maxSegments: number
  /** The same segment in a row at most. */
  readonly maxRepeat: number
  /** Query parameters at most. */
  readonly maxParams: number
  readonly sessionIds: boolean
  readonly calendars: boolean
}

/** A URL that passed the door, independent of the page it was found on. */
export interface Target {
  readonly url: string
  readonly fp: Fingerprint
  readonly host: HostKey
  readonly route: string
  readonly priority: number
}

export interface Refusal {
  readonly code: ErrorCode
  readonly message: string
}

export type Admission = { readonly ok: true; readonly target: Target } | { readonly ok: false; readonly refusal: Refusal }

export interface LinkOptions {
  readonly route?: string
  readonly priority?: number
  readonly data?: Json
  readonly request?: RequestExtras
  readonly dedupeKey?: string
  readonly delayMs?: number
}

export interface Admitter {
  /**
   * Resolves `href` against `base` and judges it; the answer is remembered, because the forty navigation links of a page stand on
   * every page. Depth is not part of it: `link` judges depth.
   */
  resolve(href: string, base: string, options?: LinkOptions): Admission
  /** A link at `depth`, or the refusal `too_deep`. */
  link(target: Target, depth: number, options?: LinkOptions): Link | Refusal
}
