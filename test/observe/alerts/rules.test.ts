import { describe, expect, it } from 'vitest'
import type { HostInfo } from '../../../src/frontier/frontier.js'
import type { AlertRule } from '../../../src/observe/alerts/alert.js'
import { judgesOf, ruleSettings } from '../../../src/observe/alerts/rules/all-rules.js'
import type { Finding, WatchSnapshot } from '../../../src/observe/alerts/rules/rule.js'
import type { CrawlSnapshot } from '../../../src/observe/snapshots/snapshot.js'
import type { DriftAlert } from '../../../src/quality/drift.js'
import {
  crawlSnapshot,
  crawlStats,
  hostInfo,
  type Step,
  samplesOf,
  times,
  watchSnapshot,
  workerSnapshot,
} from '../snapshots/some-snapshots.js'

const NOW = 1_000_000_000_000
const MINUTE = 60_000

/** The rule with its defaults, or with the thresholds given. */
function judge(rule: AlertRule, given: unknown = {}): (snapshot: WatchSnapshot) => readonly Finding[] | null {
  const found = judgesOf(ruleSettings.parse({ [rule]: given })).find((one) => one.rule === rule)
  if (found === undefined) throw new Error(`${rule} is off`)
  return found.judge
}

function levels(found: readonly Finding[] | null): string[] | null {
  return found?.map(({ level }) => level) ?? null
}

function withSamples(
  steps: readonly Step[],
  { pending, ...snapshot }: Partial<CrawlSnapshot> & { pending?: number } = {},
) {
  return watchSnapshot({
    now: NOW,
    crawls: [{ snapshot: crawlSnapshot(snapshot), samples: samplesOf(steps, NOW, pending) }],
  })
}

describe('error_spike', () => {
  const spike = judge('error_spike')
  const well = times(300, { pages: 50, errors: 1 })

  it('fires when far more visits fail than before, and says how many', () => {
    const [found] = spike(withSamples([...well, ...times(60, { pages: 35, errors: 15 })])) ?? []
    expect(found).toMatchObject({ level: 'over', severity: 'warn', crawl: 'crawl', spider: 'books' })
    expect(found?.message).toMatch(/^30 % of visits in the last 5 min failed, 2 % before: /)
  })

  it('fires when most visits fail, from the start of the crawl', () => {
    const snapshot = withSamples(times(12, { pages: 1, errors: 9 }))
    expect(spike(snapshot)).toMatchObject([{ level: 'over', severity: 'critical' }])
  })

  it('is silent in a crawl that is well, always has some errors, or is tiny', () => {
    expect(spike(withSamples(well))).toEqual([])
    expect(levels(spike(withSamples(times(360, { pages: 35, errors: 15 }))))).toEqual(['near'])
    expect(levels(spike(withSamples(times(12, { errors: 1 }))))).toEqual(['near'])
    expect(spike(withSamples([]))).toEqual([])
  })

  it('is not over before the share is halved, and takes thresholds of its own', () => {
    expect(levels(spike(withSamples([...well, ...times(60, { pages: 43, errors: 7 })])))).toEqual(['near'])
    expect(levels(spike(withSamples([...well, ...times(60, { pages: 47, errors: 3 })])))).toEqual([])
    const strict = judge('error_spike', { share: 0.05, times: 2 })
    expect(levels(strict(withSamples([...well, ...times(60, { pages: 45, errors: 5 })])))).toEqual(['over'])
  })
})

describe('queue_growing', () => {
  const growing = judge('queue_growing')
  const trap = times(300, { pages: 50, found: 150 })

  it('fires where every page brings as many new links as the last, and names the host with most of them', () => {
    const hosts = [hostInfo({ host: 'trap.example', pending: 28_000 })]
    const [found] = growing(withSamples(trap, { hosts })) ?? []
    expect(found).toMatchObject({ level: 'over', fields: { host: 'trap.example' } })
    expect(found?.message).toMatch(/keeps growing: 31,000 links are waiting, /)
  })

  it('is silent at the start, in a small crawl, while seeds are added, and where the links run out', () => {
    expect(levels(growing(withSamples(trap.slice(0, 150), { pending: 30_000 })))).toEqual(['near'])
    expect(growing(withSamples(times(300, { pages: 1, found: 3 })))).toEqual([])
    expect(growing(withSamples(trap, { stats: crawlStats({ seeding: true }) }))).toEqual([])
    const slower = Array.from({ length: 300 }, (_, i) => ({ pages: 50, found: 300 - i }))
    expect(levels(growing(withSamples(slower)))).toEqual(['near'])
    expect(growing(withSamples(times(300, { pages: 50, found: 40 }), { pending: 50_000 }))).toEqual([])
  })
})

describe('dead_rising', () => {
  const rising = judge('dead_rising')

  it('fires when many links are given up', () => {
    const snapshot = withSamples([...times(100, { pages: 20 }), ...times(120, { pages: 20, dead: 5 })])
    expect(rising(snapshot)).toMatchObject([{ level: 'over', fields: { dead: 600 } }])
  })

  it('is silent for a few, for a small share, and for those of long ago', () => {
    expect(rising(withSamples(times(200, { pages: 20 })))).toEqual([])
    expect(rising(withSamples([{ dead: 0 }, { dead: 9 }, { pages: 5 }]))).toEqual([])
    expect(rising(withSamples(times(200, { pages: 200, dead: 1 })))).toEqual([])
    expect(rising(withSamples([...times(20, { dead: 50 }), ...times(150, { pages: 1 })]))).toEqual([])
    expect(levels(rising(withSamples([{ dead: 0 }, { dead: 12 }])))).toEqual(['near'])
  })
})

describe('no_progress', () => {
  const stands = judge('no_progress')
  const snapshot = (stalledMs: number, workers = [workerSnapshot({})]) =>
    watchSnapshot({ now: NOW, crawls: [{ snapshot: crawlSnapshot({ stalledMs, workers }), samples: [] }] })

  it('fires when nothing moves for a minute, and not for a hiccup', () => {
    expect(stands(snapshot(0))).toEqual([])
    expect(levels(stands(snapshot(20_000)))).toEqual(['near'])
    expect(stands(snapshot(61_000))).toMatchObject([{ level: 'over', severity: 'critical' }])
    expect(stands(snapshot(61_000, []))?.[0]?.next).toContain('shoal worker')
    expect(levels(judge('no_progress', { after: '5min' })(snapshot(61_000)))).toEqual(['near'])
  })
})

describe('host_stalled', () => {
  /** The same host seen every fifteen seconds for so many minutes. */
  const watched = (
    minutes: number,
    hostAt: (index: number) => Partial<HostInfo>,
    snapshot: Partial<CrawlSnapshot> = {},
  ) => {
    const stalled = judge('host_stalled')
    let found: readonly Finding[] | null = []
    for (let i = 0; i <= minutes * 4; i++) {
      const now = NOW + i * 15_000
      const hosts = [hostInfo({ pending: 100, nextAt: now - 1, ...hostAt(i) })]
      found = stalled(
        watchSnapshot({ now, crawls: [{ snapshot: crawlSnapshot({ hosts, now, ...snapshot }), samples: [] }] }),
      )
    }
    return found
  }

  it('fires when a host gives nothing although its slots are open', () => {
    const [found] = watched(11, () => ({ done: 7 })) ?? []
    expect(found).toMatchObject({ level: 'over', about: 'shop.example', fields: { why: 'idle', pending: 100 } })
  })

  it('fires when every visit fails, and when it asks for time again and again', () => {
    expect(watched(11, (i) => ({ nextAt: NOW * 2, failed: i }))).toMatchObject([{ fields: { why: 'failing' } }])
    const closed = { nextAt: NOW * 2, blockedUntil: NOW * 2, throttles: 6 }
    const [found] = watched(11, () => closed) ?? []
    expect(found).toMatchObject({ fields: { why: 'throttled' } })
    expect(found?.message).toContain('rate limited us 6 times in a row')
  })

  it('is silent while pages come, before its time, for a slow pace, a few links, a closed host, busy and absent workers', () => {
    expect(watched(30, (i) => ({ done: Math.floor(i / 20) }))).toEqual([])
    expect(watched(9, () => ({ done: 7 }))).toEqual([])
    expect(watched(30, () => ({ nextAt: NOW * 2 }))).toEqual([])
    expect(watched(30, () => ({ pending: 4 }))).toEqual([])
    expect(watched(30, () => ({ set: { blocked: true } }))).toEqual([])
    expect(watched(30, () => ({}), { stats: crawlStats({ leased: 10 }) })).toEqual([])
    expect(watched(30, () => ({}), { workers: [] })).toEqual([])
  })

  it('names five hosts of a crawl at most', () => {
    const stalled = judge('host_stalled')
    const at = (now: number) => {
      const hosts = Array.from({ length: 40 }, (_, i) => hostInfo({ host: `h${i}.example`, pending: 50 }))
      return stalled(watchSnapshot({ now, crawls: [{ snapshot: crawlSnapshot({ hosts }), samples: [] }] }))
    }
    expect(at(NOW)).toEqual([])
    const found = at(NOW + 11 * MINUTE)
    expect(found).toHaveLength(5)
    expect(found?.[0]?.message).toContain('40 hosts are affected')
  })
})

describe('proxies_resting', () => {
  const resting = judge('proxies_resting')
  const pool = (rests: number) =>
    watchSnapshot({ now: NOW, pools: [{ pool: 'dc', proxies: 3, resting: rests, firstBackAt: NOW + 5 * MINUTE }] })
  const host = (given: Partial<HostInfo>) => {
    const hosts = [hostInfo({ pending: 5, ...given })]
    return watchSnapshot({ now: NOW, crawls: [{ snapshot: crawlSnapshot({ hosts }), samples: [] }] })
  }

  it('fires when all proxies of a pool rest', () => {
    expect(resting(pool(3))).toMatchObject([{ level: 'over', about: 'dc', severity: 'critical' }])
    expect(resting(pool(2))).toEqual([])
  })

  it('fires when no way leads to a host, and not when the host itself asked for time or was blocked manually', () => {
    expect(levels(resting(host({ blockedUntil: NOW + MINUTE })))).toEqual(['over'])
    expect(levels(resting(host({ blockedUntil: NOW - 1_000 })))).toEqual(['near'])
    expect(resting(host({ blockedUntil: NOW - 2 * MINUTE }))).toEqual([])
    expect(resting(host({ blockedUntil: NOW + MINUTE, throttles: 1 }))).toEqual([])
    expect(resting(host({ blockedUntil: NOW + MINUTE, set: { blocked: true } }))).toEqual([])
    expect(resting(host({ blockedUntil: NOW + MINUTE, pending: 0 }))).toEqual([])
  })
})

describe('eta_slipping', () => {
  const watched = (minutes: number, etaAt: (minute: number) => number | null, queuedAt = (_: number) => 10_000) => {
    const slipping = judge('eta_slipping')
    let found: readonly Finding[] | null = []
    for (let i = 0; i <= minutes * 4; i++) {
      const etaSeconds = etaAt(i / 4)
      const snapshot = crawlSnapshot({
        stats: crawlStats({ queued: queuedAt(i / 4) }),
        estimate: { etaSeconds, decidedBy: { kind: 'host', host: 'slow.example', reason: 'latency' }, plainSeconds: 1 },
      })
      found = slipping(watchSnapshot({ now: NOW + i * 15_000, crawls: [{ snapshot, samples: [] }] }))
    }
    return found
  }

  it('fires when the time left grows all the way through', () => {
    const [found] = watched(16, (minute) => 3_600 + minute * 120) ?? []
    expect(found).toMatchObject({ level: 'over', fields: { decidedBy: 'host' } })
    expect(found?.next).toContain('limited by slow.example (latency)')
  })

  it('is silent while it shrinks or stands, for one bad minute, for a short rest, before its time and while the queue grows', () => {
    expect(watched(30, (minute) => 3_600 - minute * 60)).toEqual([])
    expect(watched(30, () => 3_600)).toEqual([])
    expect(levels(watched(16, (minute) => (minute > 15 ? 9_000 : 3_600)))).toEqual([])
    expect(levels(watched(16, (minute) => 30 + minute * 20))).toEqual(['near'])
    expect(watched(10, (minute) => 3_600 + minute * 120)).toEqual([])
    expect(
      watched(
        16,
        (minute) => 3_600 + minute * 120,
        (minute) => 10_000 + minute * 1_000,
      ),
    ).toEqual([])
    expect(watched(30, () => null)).toEqual([])
  })
})

describe('queue_memory', () => {
  const full = judge('queue_memory')
  const GB = 1024 ** 3
  const at = (usedBytes: number, limitBytes: number, what: 'memory' | 'disk') =>
    full(watchSnapshot({ capacity: { usedBytes, limitBytes, what } }))

  it('fires when Redis nears its limit, ends well below, and cannot tell without one', () => {
    expect(at(0.7 * GB, GB, 'memory')).toEqual([])
    expect(levels(at(0.82 * GB, GB, 'memory'))).toEqual(['near'])
    expect(at(0.86 * GB, GB, 'memory')).toMatchObject([{ level: 'over', severity: 'warn', about: '' }])
    expect(at(0.97 * GB, GB, 'memory')).toMatchObject([{ level: 'over', severity: 'critical' }])
    expect(full(watchSnapshot({}))).toBeNull()
  })

  it('fires when the disk is nearly full, not when a large one is well used', () => {
    expect(at(450 * GB, 500 * GB, 'disk')).toEqual([])
    expect(levels(at(499.5 * GB, 500 * GB, 'disk'))).toEqual(['over'])
    expect(at(8 * GB, 10 * GB, 'disk')).toEqual([])
    expect(levels(at(9.6 * GB, 10 * GB, 'disk'))).toEqual(['over'])
  })
})

describe('worker_lost', () => {
  const lost = judge('worker_lost')
  const worker = (given: Parameters<typeof workerSnapshot>[0]) =>
    lost(watchSnapshot({ now: NOW, workers: [workerSnapshot({ seenAt: NOW - 12_000, ...given })] }))

  it('fires for one that holds pages and is missing, and holds on when they were taken from it', () => {
    expect(worker({ state: 'missing', inFlight: 3, reportedMs: 12_000 })).toMatchObject([
      { level: 'over', about: 'w1' },
    ])
    const [alert] = worker({ state: 'missing', inFlight: 3, beatAt: NOW - 12_000, lostAt: NOW + 2_000 }) ?? []
    expect(alert?.message).toBe(
      'worker w1 on m is missing, last seen 12 s ago; its 3 links return to the queue in 2.0 s',
    )
    expect(levels(worker({ state: 'missing', inFlight: 0 }))).toEqual(['near'])
  })

  it('is silent for those that work, leave, or were lost long ago', () => {
    expect(worker({ state: 'working', inFlight: 3 })).toEqual([])
    expect(worker({ state: 'idle' })).toEqual([])
    expect(worker({ state: 'draining', inFlight: 3 })).toEqual([])
    expect(worker({ state: 'missing', inFlight: 3, seenAt: NOW - 11 * MINUTE })).toEqual([])
  })
})

describe('field_drift', () => {
  const drifting = judge('field_drift')
  const drift: DriftAlert = {
    ...{ name: 'records.drift', severity: 'warn', episode: 'e', spider: 'books', message: 'm' },
    change: 'fell',
    fields: { kind: 'book', field: 'price' },
  }

  it('fires for what drifts, and keeps what nobody can snapshot at now', () => {
    const [found] = drifting(watchSnapshot({ now: NOW, drifts: new Map([['books', [drift]]]) })) ?? []
    expect(found).toMatchObject({ level: 'over', spider: 'books', about: 'e', fields: { field: 'price' } })
    if (found === undefined) return
    const { level: _, ...held } = found
    const active = [{ ...held, rule: 'field_drift', episode: 'x', since: NOW - MINUTE } as const]
    expect(levels(drifting(watchSnapshot({ now: NOW, active })))).toEqual(['near'])
    expect(drifting(watchSnapshot({ now: NOW, active, drifts: new Map([['books', []]]) }))).toEqual([])
  })
})
