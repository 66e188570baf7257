import type { Exit } from './proxy.js'
import type { RestRules } from './proxy-ledger.js'

/** Exits that are bought, used and judged alike. */
export interface Pool {
  readonly name: string
  /** 'datacenter', 'residential', 'mobile', or a name of the user's own. */
  readonly kind: string
  readonly exits: readonly Exit[]
  readonly rest: RestRules
  readonly rotation: Rotation
}

/**
 * Which exit is asked for first. `rotate`: each in turn. `weighted`: by chance, in proportion to the weights. `cheapest`: what a good page of
 * that site costs through it, as measured.
 */
export type ExitChoice = 'rotate' | 'weighted' | 'cheapest'

/** A session (exit, cookies, user agent) ends after so many requests or so much time, whichever comes first. */
export interface Rotation {
  readonly requests: number
  readonly timeMs: number
}
