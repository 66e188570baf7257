import { LATENCY_BUCKETS, type ProxyScore } from './proxy-ledger.js'

/** How proxies did, taken together: of a pool, of a site, of one proxy. */
export interface ProxyTotals {
  readonly requests: number
  readonly good: number
  readonly banned: number
  readonly broken: number
  /** The site failed in a way that says nothing about the proxy. */
  readonly neutral: number
  /** Of the requests that say something about the proxy, 0 to 1; null: there are none. */
  readonly success: number | null
  readonly p50Ms: number | null
  readonly p90Ms: number | null
  readonly p99Ms: number | null
  readonly bytes: number
  readonly cost: number
  /** Of 1,000 good pages; null: there is no good page yet. */
  readonly costPer1000: number | null
}

export type Counted = Pick<ProxyScore, 'good' | 'neutral' | 'banned' | 'broken' | 'bytes' | 'cost' | 'latency'>

export function totalsOf(scores: readonly Counted[]): ProxyTotals {
  const sum = (part: (score: Counted) => number) => scores.reduce((total, score) => total + part(score), 0)
  const good = sum((score) => score.good)
  const banned = sum((score) => score.banned)
  const broken = sum((score) => score.broken)
  const neutral = sum((score) => score.neutral)
  const cost = sum((score) => score.cost)
  const meaningful = good + banned + broken
  const buckets = Array.from({ length: LATENCY_BUCKETS.length + 1 }, (_, index) =>
    sum((score) => score.latency[index] ?? 0),
  )
  return {
    ...{ requests: meaningful + neutral, good, banned, broken, neutral },
    success: meaningful === 0 ? null : good / meaningful,
    p50Ms: percentile(buckets, 0.5),
    p90Ms: percentile(buckets, 0.9),
    p99Ms: percentile(buckets, 0.99),
    bytes: sum((score) => score.bytes),
    cost,
    costPer1000: good === 0 ? null : (cost / good) * 1000,
  }
}

/** Between the ends of the bucket in which it falls, in proportion; after the last end, that end. */
export function percentile(buckets: readonly number[], share: number): number | null {
  const total = buckets.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let left = share * total
  for (const [index, count] of buckets.entries()) {
    const from = LATENCY_BUCKETS[index - 1] ?? 0
    const to = LATENCY_BUCKETS[index]
    if (to === undefined) break
    if (left <= count && count > 0) return Math.round(from + ((to - from) * left) / count)
    left -= count
  }
  return LATENCY_BUCKETS.at(-1) ?? null
}
