import { describe, expect, it } from 'vitest'
import { logText } from '../../../src/cli/terminal/log-line.js'
import { styleFor } from '../../../src/cli/terminal/style.js'
import { decidedByText, progressLine, progressLines, usefulLines } from '../../../src/cli/views/progress-view.js'
import { NO_WAITS } from '../../../src/observe/snapshots/waits.js'
import type { RunProgress } from '../../../src/run/run-summary.js'

const plain = styleFor({}, {})
const NOW = 1_000_000
const progress: RunProgress = {
  stats: {
    ...{ id: 'c1', spider: 'books', state: 'running', endedBy: null, spiderHash: 'h', spiderChanges: 0, createdAt: 0 },
    ...{ startedAt: 0, finishedAt: null, seeding: false, total: 2_000, queued: 996, delayed: 0, leased: 4, done: 990 },
    ...{
      dead: 8,
      skipped: 2,
      failed: 20,
      retried: 12,
      throttled: 1,
      reclaimed: 0,
      stale: 0,
      refused: 0,
      filtered: [],
      counts: [],
      bytes: 1,
      rate: 50,
    },
  },
  waits: NO_WAITS,
  hosts: [
    {
      ...{
        host: 'slow.example',
        pending: 996,
        inFlight: 4,
        done: 990,
        failed: 20,
        dead: 8,
        delayMs: 100,
        concurrency: 2,
      },
      ...{
        ratePerSecond: null,
        nextAt: NOW,
        slowedFromMs: null,
        blockedUntil: null,
        throttles: 0,
        latencyMs: 20,
        set: null,
      },
    },
  ],
  records: 900,
  rejected: 3,
  workersAlive: 2,
  workersReady: 2,
  responses: null,
}

describe('progress', () => {
  it('says how much came from the cache, where there is one', () => {
    const cached = { ...progress, responses: { cache: 1_200, network: 3 } }
    expect(progressLines(cached, { workers: 2, concurrency: 64 }, NOW, plain)[1]).toContain('1,200 from the cache')
    expect(progressLine(cached, { workers: 2, concurrency: 64 }, NOW)).toContain('1,200 from the cache')
  })

  it('is a bar, the figures and what decides the end', () => {
    expect(progressLines(progress, { workers: 2, concurrency: 64 }, NOW, plain)).toEqual([
      `books  ${'━'.repeat(16)}${'─'.repeat(16)}  1,000 / 2,000  50 %`,
      '  50.0/s · 900 records · 3 rejected · 20 failed, 12 retried · 8 dead · 4 in flight · 2 workers',
      '  ends in about 1 min 40 s, limited by slow.example (crawl delay)',
    ])
  })

  it('tells when a worker is missing', () => {
    expect(progressLines(progress, { workers: 3, concurrency: 1 }, NOW, plain)[1]).toContain('2 of 3 workers')
  })

  it('with auto, shows as many workers as there are, and none while it is one', () => {
    const fleet = { workers: 'auto', concurrency: 64 } as const
    expect(progressLines(progress, fleet, NOW, plain)[1]).toMatch(/ · 2 workers$/)
    expect(progressLines({ ...progress, workersAlive: 1 }, fleet, NOW, plain)[1]).toMatch(/ · 4 in flight$/)
  })

  it('says that workers start, as long as none is there and nothing was fetched', () => {
    const stats = {
      ...progress.stats,
      total: 1,
      queued: 1,
      leased: 0,
      done: 0,
      dead: 0,
      skipped: 0,
      failed: 0,
      rate: 0,
    }
    const starting = { ...progress, stats, records: 0, workersAlive: 4, workersReady: 0 }
    const fleet = { workers: 4, concurrency: 64 }
    expect(progressLine(starting, fleet, NOW)).toBe('0/1 link (0 %) · 0.0/s · no records · starting 4 workers')
    expect(progressLines({ ...starting, workersAlive: 1 }, fleet, NOW, plain).at(-1)).toBe('  starting a worker')
    expect(progressLine({ ...starting, workersReady: 1 }, fleet, NOW)).not.toContain('starting')
    // A crawl that is resumed has pages already.
    expect(progressLine({ ...progress, workersReady: 0 }, fleet, NOW)).not.toContain('starting')
  })

  it('is one line on a pipe', () => {
    expect(progressLine(progress, { workers: 1, concurrency: 64 }, NOW)).toBe(
      '1,000/2,000 links (50 %) · 50.0/s · 900 records · 20 failed · 8 dead · ends in about 1 min 40 s, limited by slow.example (crawl delay)',
    )
  })

  it('names what decides', () => {
    expect(decidedByText({ kind: 'workers' })).toContain('workers')
    expect(decidedByText({ kind: 'retries' })).toContain('a retry')
    expect(decidedByText({ kind: 'host', host: 'a\x1b.example', reason: 'blocked' })).toBe(
      'a .example (asked us to wait)',
    )
  })
})

describe('a line of the log', () => {
  it('is told in words on a terminal', () => {
    const line =
      '{"time":"2026-11-15T12:51:46.758Z","level":"error","event":"worker.died","worker":"w1","code":null,"reclaimed":2}\n'
    expect(logText(line, plain)).toMatch(/^\d\d:\d\d:46 {2}worker\.died worker=w1 reclaimed=2$/)
    expect(logText('no JSON\x1b[2J', plain)).toBe('no JSON [2J')
  })
})

it('says how many workers are useful beside those that run, and nothing when the number is right', () => {
  const useful = { workers: 5, slots: 28, slotsPerWorker: 6, why: '900 links left on 40 hosts' }
  expect(usefulLines({ ...useful, running: 3 })).toEqual(['3 workers running, 5 useful: 900 links left on 40 hosts'])
  expect(usefulLines({ ...useful, running: 1 })).toEqual(['1 worker running, 5 useful: 900 links left on 40 hosts'])
  expect(usefulLines({ ...useful, running: 5 })).toEqual([])
  expect(usefulLines(null)).toEqual([])
})
