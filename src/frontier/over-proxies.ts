import type { Limits } from './frontier.js'
import { strictest } from './pace.js'

/**
 * What a host as a whole may be asked for when each of several proxies keeps to `each`: as much as all of them together, and never more than the
 * ceiling. The proxies' own pace is kept where they are granted; this keeps the lease from handing out what nobody could fetch.
 */
export function overProxies(each: Limits, proxies: number, ceiling: Limits | null): Limits {
  const count = Math.max(1, proxies)
  const gapMs = Math.max(each.delayMs, each.rate === undefined ? 0 : each.rate.perMs / each.rate.count)
  const all: Limits = {
    delayMs: 0,
    concurrency: each.concurrency * count,
    // Whole numbers: the gap of one proxy holds one request of each.
    ...(gapMs > 0 && { rate: { count, perMs: gapMs, burst: count * (each.rate?.burst ?? 1) } }),
  }
  return ceiling === null ? all : strictest([all, ceiling])
}
