import type { CrawlStats, HostInfo } from '../../src/frontier/frontier.js'

/** Figures of a crawl that runs well, with what the test says of them. */
export function crawlStats(given: Partial<CrawlStats>): CrawlStats {
  return {
    ...{ id: 'crawl', spider: 'books', state: 'running', endedBy: null, spiderHash: 'hash', spiderChanges: 0 },
    ...{ createdAt: 0, startedAt: 0, finishedAt: null, seeding: false },
    ...{ total: 0, queued: 0, delayed: 0, leased: 0, done: 0, dead: 0, skipped: 0 },
    ...{ failed: 0, retried: 0, throttled: 0, reclaimed: 0, stale: 0, refused: 0, bytes: 0, rate: 0 },
    ...given,
  }
}

export function hostInfo(given: Partial<HostInfo>): HostInfo {
  return {
    ...{ host: 'shop.example', pending: 0, inFlight: 0, done: 0, failed: 0, dead: 0 },
    ...{ delayMs: 1_000, slowedFromMs: null, concurrency: 1, ratePerSecond: null, nextAt: 0, blockedUntil: null },
    ...{ throttles: 0, latencyMs: 100, set: null },
    ...given,
  }
}
