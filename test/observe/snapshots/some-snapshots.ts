import type { CrawlStats, HostInfo } from '../../../src/frontier/frontier.js'
import type { WatchSnapshot } from '../../../src/observe/alerts/rules/rule.js'
import type { Sample } from '../../../src/observe/series/series.js'
import type { CrawlSnapshot, WorkerSnapshot } from '../../../src/observe/snapshots/snapshot.js'
import { NO_WAITS } from '../../../src/observe/snapshots/waits.js'

/** Figures of a crawl that runs well, with what the test says of them. */
export function crawlStats(given: Partial<CrawlStats>): CrawlStats {
  return {
    ...{ id: 'crawl', spider: 'books', state: 'running', endedBy: null, spiderHash: 'hash', spiderChanges: 0 },
    ...{ createdAt: 0, startedAt: 0, finishedAt: null, seeding: false },
    ...{ total: 0, queued: 0, delayed: 0, leased: 0, done: 0, dead: 0, skipped: 0 },
    ...{
      failed: 0,
      retried: 0,
      throttled: 0,
      reclaimed: 0,
      stale: 0,
      refused: 0,
      filtered: [],
      counts: [],
      bytes: 0,
      rate: 0,
    },
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

export function crawlSnapshot(given: Partial<CrawlSnapshot>): CrawlSnapshot {
  return {
    ...{
      stats: crawlStats({}),
      hosts: [],
      delayed: [],
      workers: [workerSnapshot({})],
      stalledMs: 0,
      visits: null,
      now: 0,
    },
    waits: NO_WAITS,
    estimate: { etaSeconds: null, decidedBy: null, plainSeconds: null },
    advice: { stage: 'none', sentence: '', next: '', moreWorkers: 0, host: null },
    ...given,
  }
}

export function workerSnapshot(given: Partial<WorkerSnapshot>): WorkerSnapshot {
  const about = { machine: 'm', pid: 1, version: '1', spiders: { books: 'hash' }, concurrency: 10, pools: [] }
  return {
    ...{ worker: 'w1', inFlight: 0, done: 0, failed: 0, startedAt: 0, seenAt: 0, progressAt: null, about },
    ...{ beatAt: null, lostAt: null },
    ...{ vitals: null, reportedMs: null, draining: false, state: 'working' },
    ...given,
  }
}

export function watchSnapshot(given: Partial<WatchSnapshot>): WatchSnapshot {
  return { now: 0, crawls: [], workers: [], pools: [], drifts: new Map(), capacity: null, active: [], ...given }
}

/** What happened within five seconds. */
export interface Step {
  readonly pages?: number
  readonly errors?: number
  readonly dead?: number
  readonly found?: number
}

/** A series as the watcher would have written it, one sample every five seconds, the last of them at `now`. */
export function samplesOf(steps: readonly Step[], now: number, pending = 1_000): Sample[] {
  let queued = pending
  let done = 0
  let lost = 0
  return steps.map(({ pages = 0, errors = 0, dead = 0, found = 0 }, index) => {
    queued = Math.max(0, queued + found - pages - dead)
    done += pages
    lost += dead
    return {
      at: now - (steps.length - 1 - index) * 5_000,
      ...{ pagesPerSecond: pages / 5, errorsPerSecond: errors / 5, bytesPerSecond: 0, latencyMs: null },
      ...{ queued, delayed: 0, leased: 0, done, dead: lost, skipped: 0, workers: 1 },
    }
  })
}

export function times(count: number, step: Step): Step[] {
  return Array.from({ length: count }, () => step)
}
