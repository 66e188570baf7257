import type { TopCrawl, TopSnapshot } from '../../../src/cli/top/top-snapshot.js'
import type { CrawlStats, HostInfo } from '../../../src/frontier/frontier.js'
import type { Advice } from '../../../src/observe/snapshots/advice.js'
import type { CrawlSnapshot, WorkerSnapshot } from '../../../src/observe/snapshots/snapshot.js'
import { NO_WAITS } from '../../../src/observe/snapshots/waits.js'
import { someVitals } from '../../observe/vitals/some-vitals.js'

const NOW = Date.UTC(2026, 10, 16, 12, 0, 0)

export function someHost(change: Partial<HostInfo> = {}): HostInfo {
  return {
    ...{ host: 'shop.example', pending: 500, inFlight: 1, done: 90, failed: 2, dead: 0 },
    ...{ delayMs: 1_000, slowedFromMs: null, concurrency: 2, ratePerSecond: null, nextAt: NOW + 300 },
    ...{ blockedUntil: null, throttles: 0, latencyMs: 120, set: null },
    ...change,
  }
}

export function someCrawl(change: Partial<CrawlStats> = {}, hosts: readonly HostInfo[] = [someHost()]): TopCrawl {
  const stats: CrawlStats = {
    ...{ id: 'books-1', spider: 'books', state: 'running', endedBy: null, spiderHash: 'h', spiderChanges: 0 },
    ...{ createdAt: NOW - 60_000, startedAt: NOW - 60_000, finishedAt: null, seeding: false },
    ...{ total: 1_000, queued: 500, delayed: 0, leased: 1, done: 490, dead: 4, skipped: 5, failed: 12, retried: 8 },
    ...{ throttled: 0, reclaimed: 0, stale: 0, refused: 0, filtered: [], counts: [], bytes: 5_000_000, rate: 8 },
    ...change,
  }
  const estimate = {
    etaSeconds: 62,
    decidedBy: { kind: 'host', host: 'shop.example', reason: 'delay' },
    plainSeconds: 63,
  } as const
  const advice: Advice = {
    stage: 'host_pace',
    sentence: 'the pace of shop.example: one request every 1.0 s, 8.0/s are done',
    ...{ next: 'more workers do not help', moreWorkers: 0, host: 'shop.example' },
  }
  const snapshot: CrawlSnapshot = {
    ...{ stats, hosts, delayed: [], workers: [], estimate, stalledMs: 0, visits: null, waits: NO_WAITS, advice },
    now: NOW,
  }
  return { stats, snapshot, advice, rates: [1, 2, 3, 8] }
}

export function someWorker(change: Partial<WorkerSnapshot> = {}): WorkerSnapshot {
  return {
    ...{ worker: 'w1', inFlight: 1, done: 490, failed: 12, startedAt: NOW - 60_000, seenAt: NOW, progressAt: NOW },
    ...{ beatAt: NOW, lostAt: NOW + 10_000 },
    about: { machine: 'm1', pid: 7, version: '1.0.0' },
    ...{ vitals: someVitals({ rssBytes: 123e6, loopBusy: 0.25 }), reportedMs: 500, draining: false, state: 'working' },
    ...change,
  }
}

export function someSnapshot(change: Partial<TopSnapshot> = {}): TopSnapshot {
  return { now: NOW, crawls: [someCrawl()], workers: [someWorker()], alerts: [], ...change }
}
