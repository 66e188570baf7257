import { sameSlotPrefix } from '../../redis/slots.js'

/**
 * Keys of a feed. The list or stream has the name that others push to; the keys that Shoal adds carry that name as their hash
 * tag, so that a cluster puts all of it on one node.
 */
export interface FeedKeys {
  /** List, set, sorted set or stream: others push, Shoal takes. */
  readonly source: string
  /** Hash, number → entry: taken, not ended. */
  readonly taken: string
  /** Sorted set, number by the time (ms) at which it may be taken again. */
  readonly due: string
  /** String: the last number given. */
  readonly numbers: string
  /** List of JSON {text, reason, at, cut, id}, newest first, bounded. */
  readonly refused: string
  /** Hash: `bytes` of the refused entries that are kept, and how many were `dropped`. */
  readonly refusedSums: string
}

export function feedKeys(source: string): FeedKeys {
  const base = sameSlotPrefix(source)
  return {
    source,
    taken: `${base}:taken`,
    due: `${base}:due`,
    numbers: `${base}:numbers`,
    refused: `${base}:refused`,
    refusedSums: `${base}:refused-sums`,
  }
}

export function defaultFeedKey(spider: string): string {
  return `shoal:feed:${spider}`
}
