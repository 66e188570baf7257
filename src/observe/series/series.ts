import type { LinkCounts } from '../../frontier/frontier.js'

/** One moment of a crawl. Rates are since the previous sample. */
export interface Sample extends LinkCounts {
  /** Milliseconds, by the queue. */
  readonly at: number
  readonly pagesPerSecond: number
  readonly errorsPerSecond: number
  readonly bytesPerSecond: number
  /** Of the requests since the previous sample; null: none, or no worker reports. */
  readonly latencyMs: { readonly p50: number; readonly p90: number; readonly p99: number } | null
  readonly workers: number
}

/** How far apart samples are, and how far they go back. */
export const SPANS = { '30m': 5_000, '24h': 60_000 } as const
export type Span = keyof typeof SPANS
