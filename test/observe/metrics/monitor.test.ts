import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/clock.js'
import { ShoalError } from '../../../src/errors.js'
import type { CrawlSpec, Frontier, HostPage } from '../../../src/frontier/frontier.js'
import { createMonitor, type MonitorParts } from '../../../src/observe/metrics/monitor.js'
import { sharedAnswer } from '../../../src/observe/metrics/shared-answer.js'
import { ALERTS_KEY } from '../../../src/observe/note-keys.js'
import { STALLED_MS } from '../../../src/observe/snapshots/health.js'
import type { Link } from '../../../src/url/link.js'
import { type Backends, openBackends } from '../../../src/wire/backends.js'
import { done } from '../../contract/frontier-fixtures.js'
import { checkMetrics } from '../../support/check-metrics.js'
import { someVitals } from '../vitals/some-vitals.js'

let clock: ManualClock
let backends: Backends

beforeEach(async () => {
  clock = new ManualClock()
  backends = await openBackends({ queue: 'memory:', store: 'memory:' }, { clock })
})

afterEach(() => backends.close())

const spec = (id: string): CrawlSpec => ({
  ...{ id, spider: 'books', spiderHash: 'h', order: 'priority', limits: { delayMs: 1_000, concurrency: 1 } },
  ...{ routeLimits: {}, visibilityMs: 60_000, retryPriorityStep: 1, agingMs: 1_000, maxReclaims: 3 },
  ...{ maxPending: 1_000_000, overflow: 'keep', budget: {}, gen: 1 },
})

const link = (host: string, n = 0): Link => ({
  ...{
    fp: createHash('md5').update(`${host}/${n}`).digest('hex'),
    url: `https://${host}/${n}`,
    host,
    route: 'page',
    depth: 0,
    priority: 0,
  },
})

async function leased(worker = 'w1') {
  const { leases } = await backends.frontier.lease({ worker, seq: 1, want: 1, spiders: ['books'] })
  const [lease] = leases
  if (lease === undefined) throw new Error('nothing was leased')
  return lease
}

function bound(frontier: Frontier, name: string | symbol): unknown {
  const member: unknown = Reflect.get(frontier, name, frontier)
  return typeof member === 'function' ? member.bind(frontier) : member
}

function monitor(given: Partial<MonitorParts> = {}) {
  return createMonitor({ backends, clock, fleet: true, queue: true, localWorkers: null, ...given })
}

async function told(given: Partial<MonitorParts> = {}) {
  const { problems, lines } = checkMetrics(await monitor(given).metricsText())
  expect(problems).toEqual([])
  const value = (name: string, labels: Readonly<Record<string, string>> = {}) =>
    lines.find((line) => line.name === name && Object.entries(labels).every(([key, text]) => line.labels[key] === text))
      ?.value
  return { lines, value }
}

describe('the metrics of the queue', () => {
  it('tell of crawls, links, workers, dead letters, hosts, alerts and of what runs here', async () => {
    await backends.frontier.open(spec('c1'))
    await backends.frontier.add('c1', [link('a.test'), link('b.test'), link('b.test', 1)])
    const lease = await leased()
    await backends.frontier.settle([{ lease, outcome: { kind: 'dead', failure: { code: 'timeout', message: '' } } }])
    await backends.notes.post(ALERTS_KEY, 'watch', JSON.stringify({ active: [], ended: [], undelivered: [] }), 60_000)
    const { value } = await told()
    expect(value('shoal_build_info')).toBe(1)
    expect(value('shoal_queue_up')).toBe(1)
    expect(value('shoal_crawls', { state: 'running' })).toBe(1)
    expect(value('shoal_links', { crawl: 'c1', spider: 'books', state: 'queued' })).toBe(2)
    expect(value('shoal_links', { state: 'dead' })).toBe(1)
    expect(value('shoal_dead_letters', { code: 'timeout' })).toBe(1)
    expect(value('shoal_workers', { state: 'idle' })).toBe(1)
    expect(value('shoal_crawl_hosts', { state: 'open' })).toBeGreaterThan(0)
    expect(value('shoal_crawl_stalled_seconds')).toBe(0)
    expect(value('shoal_alerts_active', { rule: 'no_progress' })).toBe(0)
  })

  it('tell what the filter did to links, by reason', async () => {
    await backends.frontier.open(spec('c1'))
    await backends.frontier.add('c1', [link('a.test')])
    const example = { url: 'https://a.test/?PHPSESSID=1', became: 'https://a.test/' }
    const filtered = [{ reason: 'session_id', count: 800, example }] as const
    const lease = await leased()
    await backends.frontier.settle([{ lease, outcome: { kind: 'done', links: [], bytes: 1, filtered } }])
    const { value, lines } = await told()
    expect(value('shoal_crawl_filtered_links_total', { crawl: 'c1', reason: 'session_id' })).toBe(800)
    expect(lines.filter(({ name }) => name === 'shoal_crawl_filtered_links_total')).toHaveLength(1)
  })

  it('tell what spiders counted, by name, quoted as labels must be', async () => {
    await backends.frontier.open(spec('c1'))
    await backends.frontier.add('c1', [link('a.test')])
    const counts = [
      { name: 'sold out', count: 3 },
      { name: 'say "no" \\', count: 1 },
    ]
    const lease = await leased()
    await backends.frontier.settle([{ lease, outcome: { kind: 'done', links: [], bytes: 1, counts } }])
    const { value } = await told()
    expect(value('shoal_crawl_counts_total', { crawl: 'c1', name: 'sold out' })).toBe(3)
    expect(value('shoal_crawl_counts_total', { crawl: 'c1', name: 'say "no" \\' })).toBe(1)
  })

  it('tell of proxies by pool', async () => {
    const about = { machine: 'm', pid: 1, version: '1', pools: ['dc'] }
    await backends.frontier.lease({ worker: 'w1', seq: 1, want: 1, spiders: ['books'], about })
    const limits = { delayMs: 0, concurrency: 9 }
    const ask = { pool: 'dc', host: 'a.test', site: 'a.test', limits }
    const rest = { strikes: 1, baseMs: 60_000, capMs: 60_000 }
    for (const [proxy, kind] of [
      ['one', 'good'],
      ['two', 'broken'],
    ] as const) {
      await backends.proxies.grant([{ ...ask, ask: proxy, proxies: [proxy], holdMs: 10_000 }])
      await backends.proxies.report([
        { ...ask, ask: proxy, proxy, verdict: { kind }, elapsedMs: 5, bytes: 9, cost: 0.5, rest },
      ])
    }
    const { value } = await told()
    expect(value('shoal_proxies', { pool: 'dc' })).toBe(2)
    expect(value('shoal_proxies_resting', { pool: 'dc' })).toBe(1)
    expect(value('shoal_proxy_requests_total', { verdict: 'good' })).toBe(1)
    expect(value('shoal_proxy_requests_total', { verdict: 'broken' })).toBe(1)
    expect(value('shoal_proxy_cost_total')).toBe(1)
  })

  it('do not grow with the number of hosts, and name none', async () => {
    await backends.frontier.open(spec('c1'))
    await backends.frontier.add('c1', [link('host-0.test')])
    const before = (await told()).lines.length
    const [host] = await backends.frontier.hosts('c1', { limit: 1 })
    const hosts = Array.from({ length: 100_000 }, (_, i) => host && { ...host, host: `host-${i}.test` })
    let read = 0
    // A queue that has so many: what is asked of it is what a real one would be asked.
    const frontier = new Proxy(backends.frontier, {
      get(target, name) {
        if (name === 'hosts')
          return async (_: string, { limit }: HostPage) => {
            read += limit
            return hosts.slice(0, limit)
          }
        if (name === 'stats') return async (id: string) => ({ ...(await target.stats(id)), queued: 100_000 })
        return bound(target, name)
      },
    })
    const { lines, value } = await told({ backends: { ...backends, frontier } })
    expect(value('shoal_links', { state: 'queued' })).toBe(100_000)
    expect(value('shoal_crawl_hosts', { state: 'open' })).toBe(100)
    // The busiest, and as many of the others for the number of useful workers.
    expect(read).toBe(200)
    expect(lines.length).toBeLessThanOrEqual(before + 1)
    expect(JSON.stringify(lines)).not.toContain('.test')
  })

  it('name fifty crawls, those that have not ended first, and count the rest together', async () => {
    for (let i = 0; i < 60; i++) {
      clock.advance(1)
      await backends.frontier.open(spec(`c${i}`))
      await backends.frontier.add(`c${i}`, [link('a.test', i)])
      if (i >= 55) await backends.frontier.setState(`c${i}`, 'cancelled')
    }
    const { lines, value } = await told()
    const crawls = new Set(lines.filter(({ name }) => name === 'shoal_links').map(({ labels }) => labels.crawl))
    expect(crawls.size).toBe(51)
    expect(crawls.has('c54')).toBe(true)
    expect(crawls.has('c55')).toBe(false)
    expect(crawls.has('c4')).toBe(false)
    expect(value('shoal_links', { crawl: 'other', spider: 'other', state: 'queued' })).toBe(5)
    expect(value('shoal_crawls', { state: 'running' })).toBe(55)
    expect(value('shoal_crawls', { state: 'cancelled' })).toBe(5)
  })

  it('are left out where only workers are told of, and where the queue is away', async () => {
    const localWorkers = () => [{ vitals: someVitals({ worker: 'w1' }), ageMs: 0 }]
    const own = await told({ queue: false, localWorkers })
    expect(own.value('shoal_slots', { worker: 'w1' })).toBe(4)
    expect(own.value('shoal_queue_up')).toBeUndefined()
    const frontier = new Proxy(backends.frontier, {
      get: () => () => Promise.reject(new ShoalError('queue_down', 'gone')),
    })
    const away = await told({ backends: { ...backends, frontier }, localWorkers })
    expect(away.value('shoal_queue_up')).toBe(0)
    expect(away.value('shoal_slots', { worker: 'w1' })).toBe(4)
    expect(away.value('shoal_links')).toBeUndefined()
  })

  it('ask the queue once, however many ask for them', async () => {
    let asked = 0
    const frontier = new Proxy(backends.frontier, {
      get(target, name) {
        if (name === 'crawls') asked++
        return bound(target, name)
      },
    })
    const { metricsText, healthReply } = monitor({ backends: { ...backends, frontier } })
    await Promise.all(Array.from({ length: 20 }, () => metricsText()))
    expect(asked).toBe(1)
    await Promise.all(Array.from({ length: 20 }, () => healthReply()))
    expect(asked).toBe(2)
    clock.advance(1_000)
    await metricsText()
    expect(asked).toBe(3)
  })
})

describe('health', () => {
  it('is red when work is due and nobody takes it, and says which', async () => {
    await backends.frontier.open(spec('c1'))
    await backends.frontier.add('c1', [link('a.test')])
    expect(await monitor().healthReply()).toEqual({ status: 200, body: { ok: true, reasons: [] } })
    clock.advance(STALLED_MS * 3)
    const { status, body } = await monitor().healthReply()
    expect(status).toBe(503)
    expect(body.reasons).toMatchObject([{ code: 'stalled', message: expect.stringContaining('c1 of books') }])
    // On one machine nobody is expected.
    expect((await monitor({ fleet: false }).healthReply()).status).toBe(200)
  })

  it('of a process with workers is about their spiders, and not about what waited for them to start', async () => {
    for (const [id, spider] of [
      ['c1', 'books'],
      ['c2', 'news'],
    ] as const) {
      await backends.frontier.open({ ...spec(id), spider })
      await backends.frontier.add(id, [link(`${id}.test`)])
    }
    clock.advance(STALLED_MS * 3)
    const localWorkers = () => [{ vitals: someVitals({ worker: 'w1' }), ageMs: 0 }]
    const asked = monitor({ localWorkers })
    const stalled = async () => (await asked.healthReply()).body.reasons.map(({ message }) => message)
    expect(await stalled()).toEqual([])
    clock.advance(STALLED_MS)
    // They have not begun: whatever is due is named.
    expect(await stalled()).toHaveLength(2)
    const about = { machine: 'm', pid: 1, version: '1', spiders: { news: 'h' } }
    const ask = () => backends.frontier.lease({ worker: 'w1', seq: 1, want: 0, spiders: ['news'], about })
    await ask()
    clock.advance(STALLED_MS)
    expect(await stalled()).toEqual([])
    clock.advance(STALLED_MS)
    await ask()
    expect(await stalled()).toEqual([expect.stringContaining('c2 of news')])
  })

  it('asks of no crawl while something ends anywhere, and else of twenty in turn', async () => {
    for (let i = 0; i < 30; i++) {
      await backends.frontier.open(spec(`c${i}`))
      // The last one alone has work that is due.
      await backends.frontier.add(`c${i}`, [link(`h${i}.test`)])
      if (i < 29) await backends.frontier.setHost(`h${i}.test`, { blocked: true })
    }
    const lease = await leased()
    const asked: string[] = []
    const frontier = new Proxy(backends.frontier, {
      get(target, name) {
        if (name === 'stats' || name === 'hosts' || name === 'links')
          return (about: { crawl: string } & string, page: never) => {
            asked.push(`${String(name)} ${about.crawl ?? about}`)
            return (target[name] as (...args: unknown[]) => unknown).call(target, about, page)
          }
        return bound(target, name)
      },
    })
    const { healthReply } = monitor({ backends: { ...backends, frontier } })
    clock.advance(STALLED_MS * 2)
    await backends.frontier.settle([{ lease, outcome: done([]) }])
    await backends.frontier.add('c29', [link('h29.test', 1)])
    clock.advance(5_000)
    expect((await healthReply()).status).toBe(200)
    expect(asked).toEqual([])
    clock.advance(STALLED_MS)
    expect((await healthReply()).status).toBe(200)
    // The first twenty had their turn; what stands still is looked at each time from then on.
    for (let turn = 0; turn < 3; turn++) {
      clock.advance(5_000)
      asked.length = 0
      expect((await healthReply()).status).toBe(503)
      expect(asked.filter((call) => call.startsWith('stats'))).toHaveLength(20)
      expect(asked.filter((call) => call.startsWith('links')).length).toBeLessThanOrEqual(20)
    }
  })

  it('is red when the event loop of a worker stands still', async () => {
    const localWorkers = () => [{ vitals: someVitals({ worker: 'w1' }), ageMs: 12_000 }]
    const { status, body } = await monitor({ localWorkers }).healthReply()
    expect(status).toBe(503)
    expect(body.reasons).toEqual([{ code: 'worker_stuck', message: 'the event loop of w1 has been blocked for 12 s' }])
  })

  it('is red while the queue is away, also when it says nothing at all', async () => {
    const silent = {
      ...backends,
      frontier: { crawls: () => new Promise(() => {}), identity: async () => 'known', workers: async () => [] },
      notes: { read: () => new Promise(() => {}) },
    }
    const asked = monitor({ backends: silent as unknown as { frontier: Frontier } & Backends })
    const replies = Promise.all([asked.healthReply(), asked.readyReply()])
    await new Promise(setImmediate)
    clock.advance(5_000)
    for (const { status, body } of await replies) {
      expect(status).toBe(503)
      expect(body.reasons).toMatchObject([{ code: 'queue_down' }])
    }
  })
})

describe('readiness', () => {
  it('begins with the first question to the queue and ends with the drain', async () => {
    const vitals = someVitals({})
    const leasing = { ...vitals.took, lease: { counts: [1, ...Array<number>(15).fill(0)], sumMs: 1 } }
    let localWorkers: { vitals: typeof vitals; ageMs: number }[] = []
    let draining = false
    const asked = monitor({ localWorkers: () => localWorkers, draining: () => draining })
    const codes = async () => (await asked.readyReply()).body.reasons.map(({ code }) => code)
    expect(await codes()).toEqual(['not_leasing'])
    localWorkers = [{ vitals, ageMs: 0 }]
    expect(await codes()).toEqual(['not_leasing'])
    localWorkers = [{ vitals: { ...vitals, took: leasing }, ageMs: 0 }]
    expect(await codes()).toEqual([])
    draining = true
    expect(await codes()).toEqual(['draining'])
    expect((await monitor().readyReply()).status).toBe(200)
  })
})

it('a failed answer is asked for again, and one that takes long is shared', async () => {
  let asked = 0
  let answer: (value: number) => void = () => {}
  const shared = sharedAnswer(clock, 1_000, () => {
    asked++
    return asked === 1 ? Promise.reject(new Error('no')) : new Promise<number>((resolve) => (answer = resolve))
  })
  await expect(shared()).rejects.toThrow('no')
  const first = shared()
  clock.advance(60_000)
  const second = shared()
  answer(7)
  expect(await Promise.all([first, second, shared()])).toEqual([7, 7, 7])
  expect(asked).toBe(2)
})

describe('how many workers help', () => {
  it('is 1 for a crawl with links, 0 for a spider that nobody knows, and stays a series when the crawl has ended', async () => {
    await backends.frontier.open(spec('c1'))
    await backends.frontier.add('c1', [link('a.test'), link('b.test')])
    const { scale } = monitor()
    expect(await scale?.({ spiders: ['books'], slots: null })).toMatchObject({
      ...{ spider: 'books', workers: 1, slotsPerWorker: 64 },
    })
    expect(await scale?.({ spiders: ['shops'], slots: null })).toMatchObject({
      ...{ spider: 'shops', workers: 0, why: 'no crawl is running' },
    })
    expect(await scale?.({ spiders: null, slots: 8 })).toMatchObject({
      ...{ workers: 1, spiders: [{ spider: 'books', slotsPerWorker: 8 }] },
    })
    expect((await told()).value('shoal_workers_useful', { spider: 'books' })).toBe(1)
    await backends.frontier.setState('c1', 'cancelled')
    expect((await told()).value('shoal_workers_useful', { spider: 'books' })).toBe(0)
  })

  it('is not answered while the queue is down, nor by a process that does not read it', async () => {
    const frontier = new Proxy(backends.frontier, {
      get: (target, name) =>
        name === 'crawls'
          ? async () => {
              throw new ShoalError('queue_down', 'gone')
            }
          : bound(target, name),
    })
    const { scale } = monitor({ backends: { ...backends, frontier } })
    await expect(scale?.({ spiders: ['books'], slots: null })).rejects.toMatchObject({ code: 'queue_down' })
    expect(monitor({ queue: false }).scale).toBeNull()
  })
})
