import type { CrawlStats, WorkerId } from '../../frontier/frontier.js'
import { HISTOGRAM_MS } from '../vitals/vitals.js'
import type { Sample } from './series.js'

/** The source of a sample: counters at one moment. */
export interface Totals {
  readonly at: number
  readonly done: number
  readonly failed: number
  readonly bytes: number
  /** Request durations of each worker that reports vitals. */
  readonly fetch: ReadonlyMap<WorkerId, FetchCounts>
}

export interface FetchCounts {
  /** By the queue. */
  readonly startedAt: number
  readonly counts: readonly number[]
}

export function totalsOf(
  { done, failed, bytes }: CrawlStats,
  fetch: ReadonlyMap<WorkerId, FetchCounts>,
  at: number,
): Totals {
  return { at, done, failed, bytes, fetch }
}

/** Without an earlier moment, rates are since the start of the crawl. `workers`: alive, with this spider. */
export function sampleOf(before: Totals | null, now: Totals, stats: CrawlStats, workers: number): Sample {
  const { startedAt, createdAt, queued, delayed, leased, done, dead, skipped } = stats
  const since = before ?? { at: startedAt ?? createdAt, done: 0, failed: 0, bytes: 0 }
  const seconds = Math.max(1, now.at - since.at) / 1000
  // A replay or a recrawl lowers the counts; a rate is never negative.
  const rate = (from: number, to: number) => Math.max(0, to - from) / seconds
  return {
    at: now.at,
    pagesPerSecond: rate(since.done, now.done),
    errorsPerSecond: rate(since.failed, now.failed),
    bytesPerSecond: rate(since.bytes, now.bytes),
    latencyMs: latencyOf(before === null ? [] : between(before, now)),
    ...{ queued, delayed, leased, done, dead, skipped, workers },
  }
}

/**
 * Requests that ended in between, by duration. A worker that started since then counts in full, and so does one that restarted under the
 * same name. For one that had not reported by then, old and new cannot be separated; it counts from the next sample on.
 */
function between(before: Totals, now: Totals): number[] {
  const sum: number[] = []
  for (const [worker, { startedAt, counts }] of now.fetch) {
    const old = before.fetch.get(worker)
    if (old === undefined && startedAt <= before.at) continue
    const anew = old === undefined || counts.some((count, bucket) => count < (old.counts[bucket] ?? 0))
    counts.forEach((count, bucket) => {
      sum[bucket] = (sum[bucket] ?? 0) + count - (anew ? 0 : (old.counts[bucket] ?? 0))
    })
  }
  return sum
}

function latencyOf(counts: readonly number[]): Sample['latencyMs'] {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  return { p50: quantile(counts, total, 0.5), p90: quantile(counts, total, 0.9), p99: quantile(counts, total, 0.99) }
}

/** Interpolates linearly within a bucket; for the last, open one it returns the lower end. */
function quantile(counts: readonly number[], total: number, share: number): number {
  let below = 0
  for (const [bucket, count] of counts.entries()) {
    const from = bucket === 0 ? 0 : (HISTOGRAM_MS[bucket - 1] ?? 0)
    const to = HISTOGRAM_MS[bucket]
    if (count > 0 && below + count >= total * share) {
      const within = to === undefined ? 0 : ((total * share - below) / count) * (to - from)
      return Math.round((from + within) * 10) / 10
    }
    below += count
  }
  return HISTOGRAM_MS.at(-1) ?? 0
}
