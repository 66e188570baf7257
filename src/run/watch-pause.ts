import type { CrawlStats } from '../frontier/frontier.js'

const SHORTEST_MS = 250
const LONGEST_MS = 1_000
/** A small crawl has ended by then, and whoever waits for it should not notice a pause. */
const YOUNG_MS = 5_000

/**
 * How long `run` waits until it reads the counters of its crawl again. A reading is several calls to the queue, so it is one a second, and more often only where
 * it shows: at the beginning, and when the end is near.
 */
export function watchPause(
  { queued, delayed, leased, rate }: Pick<CrawlStats, 'queued' | 'delayed' | 'leased' | 'rate'>,
  ageMs: number,
): number {
  if (ageMs < YOUNG_MS) return SHORTEST_MS
  const endsInMs = rate > 0 ? ((queued + delayed + leased) / rate) * 1_000 : LONGEST_MS * 2
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, endsInMs / 2))
}
