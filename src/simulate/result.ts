import { FIGURES } from './figures.js'
import type { Profile } from './profile.js'
import type { Prices } from './profile-schema.js'
import { LIMITS, type Limit, type Stretch } from './series.js'
import type { SimulatedHost } from './simulated-host.js'
import { BEGIN, type EndedBy, type Simulation } from './simulation.js'

/** What a crawl would take. Times in milliseconds since its start, sizes in bytes. */
export interface SimulationResult {
  readonly name: string
  readonly seed: number
  /** False: it was stopped before the end, and everything is that of the part before. */
  readonly complete: boolean
  readonly endMs: number
  readonly endedBy: EndedBy | null
  /** When these shares of the pages had ended. */
  readonly doneAt: Readonly<Record<'p50' | 'p90' | 'p95' | 'p99', number>>
  readonly pages: {
    readonly done: number
    readonly dead: number
    readonly refused: number
    readonly neverFound: number
  }
  readonly pagesPerSecond: { readonly mean: number; readonly most: number }
  readonly requests: number
  readonly retries: number
  readonly throttled: number
  readonly banned: number
  readonly bytes: number
  /** The share of the time in which each was the limit; those that never were are left out. */
  readonly limits: readonly { readonly limit: Limit; readonly share: number }[]
  /** Those that ended last, the last one first. */
  readonly lastHosts: readonly LastHost[]
  readonly workers: WorkersNeeded
  readonly queue: { readonly mostPending: number; readonly bytes: number; readonly busy: number }
  readonly store: { readonly bytes: number; readonly rawBytes: number }
  readonly cost: Cost | null
  readonly course: { readonly widthMs: number; readonly stretches: readonly Stretch[] }
}

export interface LastHost {
  readonly host: string
  readonly endedAtMs: number
  readonly urls: number
  readonly because: 'crawl_delay' | 'down' | 'rate_limit' | 'pace' | 'latency'
}

interface WorkersNeeded {
  /** At the end, and on average. */
  readonly last: number
  readonly mean: number
  /** With more than this, the crawl would end less than 5 % earlier. An estimate from the work that was done, not another simulation. */
  readonly needed: number
  /** Share of the cores of the workers that were in use, and of their slots. */
  readonly cpuBusy: number
  readonly slotsBusy: number
}

/** In the currency of the prices. */
interface Cost {
  readonly workers: number
  readonly servers: number
  readonly storage: number
  readonly traffic: number
  readonly proxies: number
  readonly total: number
}

const LAST_HOSTS = 10
const HOUR_MS = 3_600_000
const MONTH_MS = 730 * HOUR_MS
const GB = 1e9
/** Ends that differ by less are the same. */
const NEARLY = 1.05

export function resultOf(simulation: Simulation, complete: boolean): SimulationResult {
  const { profile, queue, totals, series } = simulation
  const endMs = complete && simulation.endedBy === null ? simulation.endedAt - BEGIN : simulation.elapsedMs
  const hosts = lastHosts(simulation)
  const workers = workersOf(simulation, endMs)
  const sizes = sizesOf(simulation)
  return {
    ...{ name: profile.name, seed: profile.seed, complete, endMs: round(endMs), endedBy: simulation.endedBy },
    doneAt: doneAt(simulation, endMs),
    pages: {
      ...{ done: totals.done, dead: totals.dead, refused: queue.refused },
      neverFound: queue.hosts.reduce((all, { unknown }) => all + unknown, 0),
    },
    pagesPerSecond: {
      mean: perSecond(simulation.ended, endMs),
      most: Math.max(0, ...series.stretches.map(({ ended }) => perSecond(ended, series.widthMs))),
    },
    ...{ requests: totals.requests, retries: totals.retries, throttled: totals.throttled, banned: totals.banned },
    bytes: totals.bytes,
    limits: limitsOf(series.stretches),
    lastHosts: hosts,
    workers,
    queue: { mostPending: queue.mostPending, bytes: sizes.queue, busy: round(totals.queueMs / Math.max(1, endMs), 4) },
    store: { bytes: sizes.store, rawBytes: sizes.raw },
    cost: costOf(profile, endMs, workers.mean, totals.bytes, sizes),
    course: { widthMs: series.widthMs, stretches: series.stretches },
  }
}

function limitsOf(stretches: readonly Stretch[]): SimulationResult['limits'] {
  const counts = LIMITS.map((limit) => ({
    limit,
    count: stretches.reduce((all, { limits }) => all + limits[limit], 0),
  }))
  const all = counts.reduce((sum, { count }) => sum + count, 0)
  return counts
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count)
    .map(({ limit, count }) => ({ limit, share: round(count / all, 4) }))
}

function doneAt({ series, ended }: Simulation, endMs: number): SimulationResult['doneAt'] {
  const at = (share: number) => {
    let before = 0
    for (const { fromMs, ended: here } of series.stretches) {
      const wanted = ended * share - before
      if (here > 0 && wanted <= here) return round(Math.min(endMs, fromMs + (wanted / here) * series.widthMs))
      before += here
    }
    return round(endMs)
  }
  return { p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99) }
}

function lastHosts({ queue, web, profile }: Simulation): LastHost[] {
  const last: SimulatedHost[] = []
  for (const host of queue.hosts) {
    if (host.ended === 0) continue
    if (last.length === LAST_HOSTS && host.endedAt <= (last.at(-1)?.endedAt ?? 0)) continue
    last.push(host)
    last.sort((a, b) => b.endedAt - a.endedAt || a.id - b.id)
    last.length = Math.min(last.length, LAST_HOSTS)
  }
  const because = ({ id, floorMs, limits, latencyMs }: SimulatedHost): LastHost['because'] => {
    if (web.isDown(id)) return 'down'
    if (floorMs > profile.spec.limits.delayMs) return 'crawl_delay'
    if (web.limitsRate(id)) return 'rate_limit'
    return (latencyMs ?? 0) / limits.concurrency > limits.delayMs && limits.rate === undefined ? 'latency' : 'pace'
  }
  return last.map((host) => ({
    host: `host-${host.id + 1}`,
    endedAtMs: round(host.endedAt - BEGIN),
    urls: host.ended,
    because: because(host),
  }))
}

/**
 * A crawl cannot end before its slowest host (`tail`), nor before its work is done by so many slots and cores. The first number of workers at which the work
 * takes no longer than the slowest host is what is needed.
 */
function workersOf(simulation: Simulation, endMs: number): WorkersNeeded {
  const { profile, totals, workers, series } = simulation
  const stretches = series.stretches
  const cpuMs = workers.reduce((all, worker) => all + worker.cpuMs, 0)
  const mean =
    stretches.length === 0 ? workers.length : stretches.reduce((all, one) => all + one.workers, 0) / stretches.length
  const slowestMs = simulation.queue.hosts.reduce((most, host) => Math.max(most, aloneMs(simulation, host)), 1)
  const byCores = cpuMs / slowestMs
  const bySlots = totals.slotMs / profile.concurrency / slowestMs
  return {
    last: stretches.at(-1)?.workers ?? workers.length,
    mean: round(mean, 2),
    needed: Math.max(1, Math.ceil(Math.max(byCores, bySlots) / NEARLY)),
    cpuBusy: round(cpuMs / Math.max(1, mean * endMs), 4),
    slotsBusy: round(totals.slotMs / Math.max(1, mean * endMs * profile.concurrency), 4),
  }
}

/** How long the host alone would take, asked as fast as it allows. */
function aloneMs({ queue, profile }: Simulation, host: SimulatedHost): number {
  const limits = queue.limitsOf(host)
  const byRate = limits.rate === undefined ? 0 : limits.rate.perMs / limits.rate.count
  const latencyMs = host.latencyMs ?? profile.latency.medianMs
  return host.ended * Math.max(limits.delayMs, byRate, latencyMs / limits.concurrency) + latencyMs
}

interface Sizes {
  readonly queue: number
  readonly store: number
  readonly raw: number
}

function sizesOf({ profile, queue, totals }: Simulation): Sizes {
  const { redis, sqlite, postgres, rawPages } = FIGURES
  const { engine } = profile.queue
  const perSeen = profile.spec.seen?.mode === 'bloom' ? redis.bytesPerSeenBloom : redis.bytesPerSeen
  const inRedis =
    queue.mostPending * redis.bytesPerQueued + queue.added * perSeen + queue.hostsAsked * redis.bytesPerHost
  const inFile = queue.mostPending * sqlite.bytesPerQueued + queue.added * sqlite.bytesPerDone
  const records = totals.done * profile.page.records
  const store = engine === 'sqlite' ? sqlite : postgres
  return {
    queue: Math.round(engine === 'redis' ? inRedis : inFile),
    store: Math.round(records * store.bytesPerRecord + totals.requests * store.bytesPerFetch),
    raw: profile.savePages
      ? Math.round(totals.bytes * rawPages.compressedShare + totals.done * rawPages.indexBytesPerPage)
      : 0,
  }
}

/** Null: no price is known. */
function costOf(
  { prices, proxies }: Profile,
  endMs: number,
  workers: number,
  bytes: number,
  sizes: Sizes,
): Cost | null {
  if (Object.keys(prices).length === 0) return null
  const of = (name: keyof Prices) => prices[name] ?? 0
  const hours = endMs / HOUR_MS
  const months = Math.ceil(endMs / MONTH_MS)
  const cost = {
    workers: cents(workers * hours * of('workerHour')),
    servers: cents(hours * (of('queueHour') + of('storeHour'))),
    storage: cents(((sizes.store + sizes.raw) / GB) * of('gbMonth')),
    traffic: cents((bytes / GB) * of('trafficGb')),
    proxies: proxies === null ? 0 : cents((bytes / GB) * of('proxyGb') + proxies.count * months * of('proxyMonth')),
  }
  return { ...cost, total: cents(Object.values(cost).reduce((all, part) => all + part, 0)) }
}

function perSecond(count: number, ms: number): number {
  return ms <= 0 ? 0 : round((count * 1_000) / ms, 2)
}

function cents(value: number): number {
  return round(value, 2)
}

/** Fewer digits: the last ones say nothing. */
function round(value: number, digits = 0): number {
  const scale = 10 ** digits
  return Math.round(value * scale) / scale
}
