import { describe, expect, it } from 'vitest'
import type { CrawlStats, HostInfo, LinkInfo, WorkerInfo } from '../../../src/frontier/frontier.js'
import {
  type CrawlSnapshot,
  fleetSlots,
  isListed,
  progressOf,
  spiderHolders,
  stalledMs,
  workerRate,
  workerState,
} from '../../../src/observe/snapshots/health.js'

const NOW = 1_000_000

const stats = (change: Partial<CrawlStats> = {}) =>
  ({ id: 'c', spider: 's', spiderHash: 'h1', state: 'running', queued: 5, createdAt: 0, ...change }) as CrawlStats

const host = (change: Partial<HostInfo> = {}) =>
  ({ host: 'a', pending: 5, inFlight: 0, concurrency: 1, nextAt: 0, blockedUntil: null, ...change }) as HostInfo

const link = (change: Partial<LinkInfo>) => change as LinkInfo

const worker = (change: Partial<WorkerInfo> = {}): WorkerInfo => ({
  worker: 'w',
  inFlight: 0,
  done: 0,
  failed: 0,
  startedAt: 0,
  seenAt: NOW,
  progressAt: null,
  beatAt: null,
  lostAt: null,
  about: null,
  ...change,
})

const look = (change: Partial<CrawlSnapshot> = {}): CrawlSnapshot => ({
  stats: stats(),
  hosts: [host()],
  leased: [],
  queued: [link({ addedAt: 0 })],
  ...change,
})

const since = (progressAt: number, watched = true) => ({ progressAt, watched })

describe('health', () => {
  it('is no fault while the only hosts with work are blocked manually', () => {
    const closed = host({ set: { blocked: true } })
    expect(stalledMs(look({ hosts: [closed] }), since(NOW - 20_000), NOW)).toBe(0)
    expect(stalledMs(look({ hosts: [closed, host()] }), since(NOW - 20_000), NOW)).toBe(20_000)
  })

  it('is the time for which work was due and nothing moved', () => {
    expect(stalledMs(look(), since(NOW - 20_000), NOW)).toBe(20_000)
    expect(stalledMs(look(), since(NOW - 1_000), NOW)).toBe(1_000)
  })

  it('counts from when the work was due, not from the last progress', () => {
    expect(stalledMs(look({ hosts: [host({ nextAt: NOW - 3_000 })] }), since(0), NOW)).toBe(3_000)
    expect(stalledMs(look({ hosts: [host({ blockedUntil: NOW - 2_000 })] }), since(0), NOW)).toBe(2_000)
    expect(stalledMs(look({ queued: [link({ addedAt: NOW - 4_000 })] }), since(0), NOW)).toBe(4_000)
    expect(stalledMs(look({ stats: stats({ createdAt: NOW - 5_000 }) }), since(0), NOW)).toBe(5_000)
  })

  it.each([
    ['the crawl is paused', { stats: stats({ state: 'paused' }) }],
    ['nothing is queued', { stats: stats({ queued: 0 }) }],
    ['every host is blocked', { hosts: [host({ blockedUntil: NOW + 1 })] }],
    ['every host is at its limit', { hosts: [host({ inFlight: 1 })] }],
    ['every host waits for its delay', { hosts: [host({ nextAt: NOW + 1 })] }],
  ] satisfies [string, Partial<CrawlSnapshot>][])('is good when %s', (_, change) => {
    expect(stalledMs(look(change), since(0), NOW)).toBe(0)
  })

  it('takes a lease or an end of a link anywhere for progress', () => {
    const workers = [worker({ progressAt: 7 }), worker()]
    expect(progressOf(workers, [look({ leased: [link({ leasedAt: 9 })] })], NOW).progressAt).toBe(9)
    expect(progressOf(workers, [look()], NOW).progressAt).toBe(7)
    expect(progressOf([], [], NOW)).toEqual({ progressAt: 0, watched: false })
  })

  it('does not count from before somebody was there, however often one worker took the place of another', () => {
    const at = (startedAt: number, seenAt: number) => worker({ startedAt, seenAt })
    const young = at(NOW - 2_000, NOW)
    expect(progressOf([young], [look()], NOW).progressAt).toBe(NOW - 2_000)
    expect(progressOf([young, at(NOW, NOW)], [look()], NOW).progressAt).toBe(NOW - 2_000)
    // One that was there until a few seconds before, and one that had long gone.
    const before = at(NOW - 90_000, NOW - 9_000)
    expect(progressOf([before, young, at(5, NOW - 200_000)], [look()], NOW).progressAt).toBe(NOW - 90_000)
    expect(progressOf([at(5, NOW - 200_000)], [look()], NOW).progressAt).toBe(0)
  })

  it('trusts the slots of hosts only while somebody asks for them', () => {
    const late = look({ hosts: [host({ nextAt: NOW - 2_000 })] })
    expect(stalledMs(late, since(NOW - 20_000, true), NOW)).toBe(2_000)
    expect(stalledMs(late, since(NOW - 20_000, false), NOW)).toBe(20_000)
    expect(progressOf([worker({ seenAt: NOW - 16_000 })], [], NOW).watched).toBe(false)
  })
})

describe('workers', () => {
  it('are missing after a minute, whatever they hold', () => {
    expect(workerState(worker({ inFlight: 3, seenAt: NOW - 60_000 }), NOW)).toBe('missing')
    expect(workerState(worker({ inFlight: 3 }), NOW)).toBe('working')
    expect(workerState(worker(), NOW)).toBe('idle')
  })

  it.each([
    [10_000, 4_900, 'working'],
    [10_000, 5_000, 'missing'],
    [2_000, 4_900, 'working'],
    [60_000, 29_000, 'working'],
    [60_000, 30_000, 'missing'],
    [600_000, 60_000, 'missing'],
  ] as const)(
    'of a fleet that waits %d ms for a beat, one not heard of for %d ms is %s',
    (lostAfter, silentMs, state) => {
      const beatAt = NOW - silentMs
      expect(workerState(worker({ inFlight: 3, seenAt: beatAt, beatAt, lostAt: beatAt + lostAfter }), NOW)).toBe(state)
    },
  )

  it('stay missing when they are lost: then the queue has forgotten their beats, and given away what they held', () => {
    expect(workerState(worker({ seenAt: NOW - 6_000 }), NOW)).toBe('missing')
    expect(workerState(worker({ seenAt: NOW - 5_000 }), NOW)).toBe('idle')
    // A worker without beats that computes for long has links in flight.
    expect(workerState(worker({ seenAt: NOW - 30_000, inFlight: 1 }), NOW)).toBe('working')
  })

  it('are listed while somebody may look for them', () => {
    expect(isListed(worker({ seenAt: NOW - 59_000 }), NOW)).toBe(true)
    expect(isListed(worker({ seenAt: NOW - 61_000 }), NOW)).toBe(false)
    expect(isListed(worker({ seenAt: NOW - 61_000, inFlight: 1 }), NOW)).toBe(true)
  })

  it('have a rate since their start', () => {
    expect(workerRate(worker({ done: 50, startedAt: NOW - 10_000 }), NOW)).toBe(5)
    expect(workerRate(worker({ done: 5, startedAt: NOW }), NOW)).toBe(5)
  })

  it('have as many slots together as they say, for the crawls of their spiders', () => {
    const about = { machine: 'm', pid: 1, version: '0', spiders: { s: 'h1' }, concurrency: 8 }
    const other = { ...about, spiders: { t: 'h1' } }
    expect(fleetSlots(stats(), [worker({ about }), worker({ about }), worker({ about: other })])).toBe(16)
    expect(fleetSlots(stats(), [worker({ about }), worker()])).toBeNull()
    expect(fleetSlots(stats(), [])).toBe(0)
  })

  it('are asked which version of a spider they have', () => {
    const about = { machine: 'm', pid: 1, version: '0' }
    const has = (name: string, spiders: Record<string, string>) =>
      worker({ worker: name, about: { ...about, spiders } })
    const alive = [has('same', { s: 'h1' }), has('other', { s: 'h2' }), has('none', { t: 'h1' })]
    expect(spiderHolders(stats(), alive)).toEqual({ holders: 2, otherVersion: ['other'] })
    expect(spiderHolders(stats({ spider: 'u' }), alive)).toEqual({ holders: 0, otherVersion: [] })
    expect(spiderHolders(stats({ spider: 'u' }), [worker()])).toEqual({ holders: 1, otherVersion: [] })
  })
})
