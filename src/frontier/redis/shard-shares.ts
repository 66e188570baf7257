/**
 * Limits of a whole crawl are divided over its shards: links pending, pages, bytes, in this order (codec.ts, sharesOf). A shard that has used up its share
 * gets some of the others'.
 */
export interface ShardShare {
  readonly used: readonly number[]
  /** −1: no limit. */
  readonly share: readonly number[]
}

const BYTES = 2

/** What one shard gives up: half of what it has to spare, and more if the needy one has not got enough yet. */
export function giveUp({ used, share }: ShardShare, need: number, got: readonly number[]): number[] {
  return share.map((limit, nth) => {
    const spare = limit - (used[nth] ?? 0)
    const short = Math.max(0, need - (got[nth] ?? 0))
    return limit < 0 || spare <= 0 ? 0 : Math.min(spare, Math.max(Math.floor(spare / 2), short))
  })
}

/** The first shard that has links left and no bytes to spend, and how many it lacks. */
export function outOfBytes(shares: readonly ShardShare[]): { readonly shard: number; readonly need: number } | null {
  for (const [shard, { used, share }] of shares.entries()) {
    const [pending = 0, , bytes = 0] = used
    const limit = share[BYTES] ?? -1
    if (pending > 0 && limit >= 0 && bytes >= limit) return { shard, need: bytes - limit + 1 }
  }
  return null
}

/** Bytes alone, so that nothing else moves. */
export function bytesOnly(shares: readonly ShardShare[]): ShardShare[] {
  return shares.map(({ used, share }) => ({ used, share: share.map((limit, nth) => (nth === BYTES ? limit : -1)) }))
}
