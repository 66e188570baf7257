import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { HostInfo } from '../../../src/frontier/frontier.js'
import type { ScaledCrawl } from '../../../src/observe/snapshots/fleet-room.js'
import type { WorkerSnapshot } from '../../../src/observe/snapshots/snapshot.js'
import { type FleetReading, usefulWorkers } from '../../../src/observe/snapshots/useful-workers.js'
import type { Spent, Vitals } from '../../../src/observe/vitals/vitals.js'
import { someVitals } from '../vitals/some-vitals.js'
import { crawlStats, hostInfo, workerSnapshot } from './some-snapshots.js'

const NOW = 1_000_000
const BOOKS = new Set(['books'])
const SPAN_MS = 15_000

/** A crawl with these hosts, all of whose links are queued. */
function crawlOn(hosts: readonly HostInfo[], given: Partial<ScaledCrawl> = {}): ScaledCrawl {
  const queued = hosts.reduce((sum, { pending }) => sum + pending, 0)
  return { stats: crawlStats({ queued }), hosts, others: [], later: 0, laterOn: new Map(), ...given }
}

function reading(crawls: readonly ScaledCrawl[], given: Partial<FleetReading> = {}): FleetReading {
  return { crawls, spiders: ['books'], paused: new Set(), workers: [], now: NOW, ...given }
}

function hostsOf(count: number, given: Partial<HostInfo>): HostInfo[] {
  return Array.from({ length: count }, (_, nth) => hostInfo({ host: `h${nth}.example`, ...given }))
}

interface Work {
  /** Of all workers together. */
  readonly pagesPerSecond?: number
  readonly fetchMs?: number
  readonly handlerMs?: number
  readonly loopBusy?: number
  readonly slots?: number
  /** The share of the slots' time that waits for a proxy. */
  readonly proxy?: number
}

/** Workers that have done this for the last fifteen seconds. */
function workersThat(count: number, work: Work = {}): WorkerSnapshot[] {
  const { pagesPerSecond = 10, fetchMs = 100, handlerMs = 0, loopBusy = 0.05, slots = 64, proxy = 0 } = work
  const pages = (pagesPerSecond * SPAN_MS) / 1_000 / Math.max(1, count)
  const zero = someVitals({})
  const busyMs = pages * (fetchMs + handlerMs)
  const proxyMs = proxy === 0 ? 0 : (busyMs * proxy) / (1 - proxy)
  const spent: Record<Spent, number> = {
    ...{ ...zero.spent, fetch: pages * fetchMs, handler: pages * handlerMs, proxy: proxyMs },
    idle: Math.max(0, slots * SPAN_MS - busyMs - proxyMs),
  }
  const { took } = zero
  return Array.from({ length: count }, (_, nth) => {
    const vitals: Partial<Vitals> = {
      worker: `w${nth}`,
      at: NOW,
      startedAt: NOW - SPAN_MS,
      pages,
      failed: 0,
      spent,
      loopBusy,
    }
    return workerSnapshot({
      worker: `w${nth}`,
      vitals: someVitals({
        ...vitals,
        slots,
        most: slots,
        earlier: { at: NOW - SPAN_MS, pages: 0, failed: 0, spent: zero.spent, took },
      }),
    })
  })
}

const useful = (given: FleetReading) => usefulWorkers(given, BOOKS)

describe('useful workers', () => {
  it('a million URLs on five hosts do not start fifty workers', () => {
    const crawl = crawlOn(hostsOf(5, { pending: 200_000, delayMs: 1_000, latencyMs: 400 }))
    expect(useful(reading([crawl], { workers: workersThat(1) }))).toEqual({
      ...{ workers: 1, slots: 2, slotsPerWorker: 64 },
      why: '1000000 links left on 5 hosts that can keep 2 slots busy',
    })
    expect(useful(reading([crawl], { workers: workersThat(50) })).workers, 'fifty that run already').toBe(1)
  })

  it('grows with the hosts', () => {
    const crawl = crawlOn(hostsOf(400, { pending: 1_000, delayMs: 0, concurrency: 2, latencyMs: 500 }))
    expect(useful(reading([crawl], { workers: workersThat(1) }))).toMatchObject({ workers: 13, slots: 800 })
    expect(usefulWorkers(reading([crawl], { workers: workersThat(1) }), BOOKS, 8)).toMatchObject({ workers: 100 })
  })

  it('is 0 when nothing runs, also when it is paused, and says why', () => {
    expect(useful(reading([]))).toMatchObject({ workers: 0, why: 'no crawl is running' })
    expect(useful(reading([], { paused: BOOKS }))).toMatchObject({ workers: 0, why: 'its crawl is paused' })
    const shops = crawlOn(hostsOf(3, { pending: 9 }), { stats: crawlStats({ spider: 'shops', queued: 27 }) })
    expect(useful(reading([shops]))).toMatchObject({ workers: 0 })
  })

  it('links that are due in an hour need no worker, those that are due soon do', () => {
    const stats = crawlStats({ delayed: 12 })
    expect(useful(reading([crawlOn([], { stats, later: 12 })]))).toMatchObject({
      ...{ workers: 0, why: '12 links left, all due in more than a minute' },
    })
    expect(useful(reading([crawlOn([], { stats, later: 11 })])).workers).toBe(1)
  })

  it('one worker waits for what is fed, and one for links that nobody may fetch yet', () => {
    expect(useful(reading([crawlOn([], { stats: crawlStats({ seeding: true }) })])).workers).toBe(1)
    expect(useful(reading([crawlOn([])])).workers, 'nothing left').toBe(0)
    const blocked = crawlOn(hostsOf(3, { pending: 9, blockedUntil: NOW + 3_600_000 }))
    expect(useful(reading([blocked], { workers: workersThat(4) })).workers).toBe(1)
  })

  it('one worker finds out how fast hosts respond, and those that run stay until it is known', () => {
    const crawl = crawlOn(hostsOf(40, { pending: 40, concurrency: 8, latencyMs: null }))
    expect(useful(reading([crawl])).workers).toBe(1)
    const silent = workersThat(3).map((worker) => ({ ...worker, vitals: null }))
    expect(useful(reading([crawl], { workers: silent })).workers).toBe(3)
  })

  it('a host that two crawls or two spiders share has its room once', () => {
    const hosts = hostsOf(10, { pending: 10_000, delayMs: 0, concurrency: 32, latencyMs: 500 })
    const workers = workersThat(1)
    const alone = useful(reading([crawlOn(hosts)], { workers }))
    expect(alone.slots).toBe(320)
    expect(useful(reading([crawlOn(hosts), crawlOn(hosts)], { workers })).slots).toBe(320)
    const shops = crawlOn(hosts, { stats: crawlStats({ spider: 'shops', queued: 100_000 }) })
    expect(useful(reading([crawlOn(hosts), shops], { workers })).slots).toBe(160)
  })

  it('hosts that were not read count like some that were', () => {
    const hosts = hostsOf(100, { pending: 100_000, delayMs: 0, latencyMs: 1_000 })
    const others = hostsOf(100, { pending: 10, delayMs: 0, latencyMs: 1_000 }).map((one) => ({
      ...one,
      host: `a-${one.host}`,
    }))
    const stats = crawlStats({ queued: 100 * 100_000 + 100_000 * 10 })
    expect(useful(reading([crawlOn(hosts, { stats, others })], { workers: workersThat(1) })).slots).toBe(100_100)
  })

  it('pages that need CPU fill a worker before its slots are full', () => {
    const crawl = crawlOn(hostsOf(50, { pending: 10_000, delayMs: 0, concurrency: 4, latencyMs: 400 }))
    const workers = workersThat(2, { pagesPerSecond: 100, loopBusy: 0.9, fetchMs: 400 })
    const answer = useful(reading([crawl], { workers }))
    expect(answer).toMatchObject({ workers: 10, why: 'CPU: hosts allow 500 pages/s, and one worker handles 50' })
  })

  it('slots that wait for proxies start no worker', () => {
    const crawl = crawlOn(hostsOf(400, { pending: 1_000, delayMs: 0, latencyMs: 500 }))
    const workers = workersThat(3, { proxy: 0.8 })
    expect(useful(reading([crawl], { workers }))).toMatchObject({
      workers: 1,
      why: expect.stringContaining('wait for a proxy 80 %'),
    })
  })

  it('links that are done in a moment start no worker, but keep those that run', () => {
    const crawl = crawlOn(hostsOf(100, { pending: 100, delayMs: 0, concurrency: 4, latencyMs: 100 }))
    expect(useful(reading([crawl], { workers: workersThat(1) })).workers).toBe(1)
    expect(useful(reading([crawl], { workers: workersThat(5) })).workers).toBe(5)
  })

  it('workers that are missing or leave do not count', () => {
    const crawl = crawlOn(hostsOf(40, { pending: 40, latencyMs: null }))
    const silent = workersThat(3).map((worker) => ({ ...worker, vitals: null }))
    const [first, ...rest] = silent.map((worker) => ({ ...worker, state: 'missing' as const }))
    expect(useful(reading([crawl], { workers: [...(first ? [first] : []), ...rest] })).workers).toBe(1)
  })
})

const someHost = fc.record({
  pending: fc.integer({ min: 1, max: 100_000 }),
  delayMs: fc.constantFrom(0, 100, 1_000, 10_000),
  concurrency: fc.integer({ min: 1, max: 32 }),
  latencyMs: fc.integer({ min: 1, max: 10_000 }),
  blockedUntil: fc.constantFrom(null, NOW + 10_000, NOW + 600_000),
})
const someHosts = fc
  .array(someHost, { minLength: 1, maxLength: 30 })
  .map((hosts) => hosts.map((host, nth) => hostInfo({ host: `h${nth}.example`, throttles: 1, ...host })))
const someWork = fc.record({
  pagesPerSecond: fc.integer({ min: 0, max: 200 }),
  loopBusy: fc.double({ min: 0, max: 1, noNaN: true }),
  slots: fc.integer({ min: 1, max: 64 }),
  proxy: fc.constantFrom(0, 0.1, 0.5, 0.9),
})
const fewWorkers = fc.integer({ min: 0, max: 20 })

describe('whatever hosts and workers there are', () => {
  it('never more than links left, nor than hosts allow at once; at least 1 while there are links', () => {
    fc.assert(
      fc.property(someHosts, fewWorkers, someWork, (hosts, count, work) => {
        const left = hosts.reduce((sum, { pending }) => sum + pending, 0)
        const atOnce = hosts.reduce((sum, { concurrency, pending }) => sum + Math.min(concurrency, pending), 0)
        const { workers, slots } = useful(reading([crawlOn(hosts)], { workers: workersThat(count, work) }))
        expect(workers).toBeGreaterThanOrEqual(1)
        expect(Number.isInteger(workers)).toBe(true)
        // What runs stays until something was measured.
        if (count === 0) expect(workers).toBe(1)
        else {
          expect(slots).toBeLessThanOrEqual(atOnce + 0.1)
          expect(workers).toBeLessThanOrEqual(Math.max(1, left))
        }
      }),
    )
  })

  it('another host never means fewer workers', () => {
    fc.assert(
      fc.property(someHosts, someHost, fewWorkers, someWork, (hosts, host, count, work) => {
        const workers = workersThat(count, work)
        const more = [...hosts, hostInfo({ host: 'more.example', throttles: 1, ...host, blockedUntil: null })]
        const calm = hosts.map((one) => ({ ...one, blockedUntil: null }))
        const calmMore = more.map((one) => ({ ...one, blockedUntil: null }))
        const before = useful(reading([crawlOn(calm)], { workers })).workers
        expect(useful(reading([crawlOn(calmMore)], { workers })).workers).toBeGreaterThanOrEqual(before)
      }),
    )
  })
})

interface World {
  readonly hosts: number
  readonly host: Partial<HostInfo>
  readonly links: (second: number) => number
  readonly cpuMs?: number
  readonly slots?: number
  /** Seconds in which all hosts are blocked. */
  readonly blocked?: readonly [number, number]
}

const POLL_S = 15

/** An autoscaler that follows the figure at once, every fifteen seconds, without a window of its own. */
function closedLoop({ hosts, host, links, cpuMs = 1, slots = 64, blocked = [-1, -1] }: World, polls: number): number[] {
  const { delayMs = 1_000, concurrency = 1, latencyMs } = hostInfo(host)
  const ms = latencyMs ?? 100
  const pace = Math.min(1_000 / Math.max(1, delayMs), (concurrency * 1_000) / ms)
  let alive = 0
  let done = 0
  const seen: number[] = []
  for (let poll = 0; poll < polls; poll++) {
    const second = poll * POLL_S
    const isBlocked = second >= blocked[0] && second < blocked[1]
    const left = Math.max(0, Math.round(links(second) - done))
    const byFleet = Math.min((alive * slots * 1_000) / ms, (alive * 1_000) / cpuMs)
    const rate = isBlocked ? 0 : Math.min(hosts * pace, byFleet, left / POLL_S)
    const loopBusy = alive === 0 ? 0 : Math.min(1, (rate * cpuMs) / 1_000 / alive + 0.03)
    const pending = Math.ceil(left / hosts)
    const block = isBlocked ? { blockedUntil: NOW + (blocked[1] - second) * 1_000, throttles: 1 } : {}
    const known = poll === 0 ? { latencyMs: null } : {}
    const crawl = crawlOn(left === 0 ? [] : hostsOf(hosts, { ...host, ...known, ...block, pending }))
    const workers = workersThat(alive, { pagesPerSecond: rate, fetchMs: ms, loopBusy, slots })
    done += rate * POLL_S
    alive = useful(reading([crawl], { workers })).workers
    seen.push(alive)
  }
  return seen
}

/** How often the direction changed. */
function turnsOf(seen: readonly number[]): number {
  const steps = seen.map((now, nth) => Math.sign(now - (seen[nth - 1] ?? now))).filter((step) => step !== 0)
  return steps.filter((step, nth) => nth > 0 && step !== steps[nth - 1]).length
}

describe('an autoscaler that follows the figure', () => {
  const always = (links: number) => () => links
  const settled: readonly [string, World, number][] = [
    [
      '40 hosts, one request a second each, 10 slots per worker',
      { hosts: 40, host: { latencyMs: 700 }, links: always(1e6), slots: 10 },
      3,
    ],
    ['five hosts with a million URLs', { hosts: 5, host: { latencyMs: 400 }, links: always(1e6) }, 1],
    ['one host', { hosts: 1, host: { delayMs: 0, concurrency: 4 }, links: always(1e5) }, 1],
    [
      'pages that need CPU',
      { hosts: 50, host: { delayMs: 0, concurrency: 4, latencyMs: 400 }, links: always(1e6), cpuMs: 20 },
      12,
    ],
  ]
  it.each(settled)('settles and stays: %s', (_, world, wanted) => {
    const seen = closedLoop(world, 30)
    expect(seen[0]).toBe(1)
    expect(new Set(seen.slice(-20)), seen.join(' ')).toEqual(new Set([wanted]))
    expect(turnsOf(seen), seen.join(' ')).toBe(0)
    expect(Math.max(...seen), 'never more on the way').toBe(wanted)
  })

  it('follows links that become more, and the end of the crawl', () => {
    const host = { delayMs: 0, concurrency: 8, latencyMs: 1_000 }
    const ramp = closedLoop({ hosts: 100, host, links: (second) => 500 + second * 1_000 }, 12)
    expect(turnsOf(ramp), ramp.join(' ')).toBe(0)
    expect(ramp.at(-1)).toBe(13)
    const end = closedLoop({ hosts: 100, host, links: always(100_000) }, 40)
    expect(turnsOf(end), end.join(' ')).toBe(1)
    expect(end.at(-1)).toBe(0)
  })

  it('a minute in which all hosts are blocked changes nothing', () => {
    const world: World = {
      hosts: 50,
      host: { delayMs: 0, concurrency: 4, latencyMs: 400 },
      links: always(1e6),
      cpuMs: 20,
    }
    const seen = closedLoop({ ...world, blocked: [150, 210] }, 30)
    expect(new Set(seen.slice(8)), seen.join(' ')).toEqual(new Set([12]))
  })
})
