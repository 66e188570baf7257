import type { PoolProxy } from './proxy.js'
import type { RestRules } from './proxy-ledger.js'

/** Proxies that are bought, used and judged alike. */
export interface Pool {
  readonly name: string
  /** 'datacenter', 'residential', 'mobile', or a name of the user's own. */
  readonly kind: string
  readonly proxies: readonly PoolProxy[]
  readonly rest: RestRules
  readonly rotation: Rotation
}

/**
 * Which proxy is asked for first. `rotate`: each in turn. `weighted`: by chance, in proportion to the weights. `cheapest`: what a good page of
 * that site costs through it, as measured.
 */
export type ProxyChoice = 'rotate' | 'weighted' | 'cheapest'

/** A session (proxy, cookies, user agent) ends after so many requests or so much time, whichever comes first. */
export interface Rotation {
  readonly requests: number
  readonly timeMs: number
}
