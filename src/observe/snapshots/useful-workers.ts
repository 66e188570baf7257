import { AUTO_CONCURRENCY } from '../../options.js'
import { percent, some } from '../in-words.js'
import type { SlotLimit } from '../vitals/vitals.js'
import { type AdvisedWorker, type FleetLoad, LITTLE, LOOP_FULL, loadOf, SLOW_CALL_MS } from './fleet-load.js'
import { fleetRoom, type ScaledCrawl, type VisitTimes } from './fleet-room.js'

/**
 * How many workers the crawls of a spider can keep busy: the figure that autoscalers follow. It is absolute, so an autoscaler that asks twice does not add
 * twice, and it has no memory, so every process that reads the same queue gives the same answer. docs/autoscaling.md explains it with an example.
 */
export interface UsefulWorkers {
  readonly workers: number
  /** Visits at once that hosts and links can keep busy. */
  readonly slots: number
  /** Visits at once that one worker can keep up with: its --concurrency, fewer if its CPU or memory is full before. */
  readonly slotsPerWorker: number
  /** One line for people: what decided it. */
  readonly why: string
}

export interface FleetReading {
  /** Those that run. */
  readonly crawls: readonly ScaledCrawl[]
  /** Spiders with a crawl in any state or a worker, sorted. */
  readonly spiders: readonly string[]
  /** Those with a paused crawl. */
  readonly paused: ReadonlySet<string>
  readonly workers: readonly AdvisedWorker[]
  readonly now: number
}

/** Links that the running workers finish within this time are not worth another one. */
const WORTH_MS = 20_000
/** A share that is most of it. */
const MOST = 0.5
/** What an event loop does without pages: beats, leases, reports. */
const LOOP_IDLE = 0.05
/** What a page costs is known from this many pages, or from loops that are busy enough for LOOP_IDLE not to matter. */
const PAGES_MEASURED = 100
const LOOP_MEASURED = 0.4
/** If the store, the queue or the proxies are the limit, there are as many workers as wait for them this share of their time. */
const HELD_UP = 0.2
/** Less waiting than this is no limit. */
const HARDLY_HELD_UP = 0.05
/** Why a worker has fewer slots than its ceiling for good, apart from CPU, which `pagesPerWorker` measures. */
const FULL: ReadonlySet<SlotLimit> = new Set(['memory', 'bodies', 'outbox'])

/** `spiders`: those of one kind of worker, usually one. `slots`: per worker, for a caller who knows better than the workers that run. */
export function usefulWorkers(
  { crawls, paused, workers, now }: FleetReading,
  spiders: ReadonlySet<string>,
  slots: number | null = null,
): UsefulWorkers {
  const ours = crawls.filter(({ stats }) => spiders.has(stats.spider))
  const known = workers.filter((worker) => serves(worker, spiders))
  const fleet = known.filter(counts)
  const alive = fleet.length
  const most = slots ?? slotsEach(alive > 0 ? fleet : known)
  const left = linksLeft(ours)
  if (left === 0) {
    const isPaused = [...spiders].some((spider) => paused.has(spider))
    const expected = ours.some(({ stats }) => stats.seeding)
    return answer({ workers: expected ? 1 : 0, why: expected ? EXPECTED : nothingText(ours, isPaused) }, 0, most)
  }
  const load = loadOf(fleet)
  const times = visitTimes(fleet, load, ours)
  // Before the first response, hosts seem to have room for as many requests as they allow at once: 10 workers were wanted where 3 were useful.
  if (times === null || load.reporting === 0) {
    const stay = Math.max(1, alive)
    return answer({ workers: stay, why: unmeasuredText(alive) }, Math.min(left, stay * most), most)
  }
  const room = fleetRoom(ours, crawls, { now, times })
  const useful = Math.min(room.slots, left)
  const perWorker = pagesPerWorker(fleet, load)
  // Where CPU is the limit, a worker is full with the slots that its pages per second occupy.
  const byCpu =
    perWorker === null || room.startsPerSecond === 0 ? most : (room.slots * perWorker) / room.startsPerSecond
  const slotsPerWorker = Math.min(most, byCpu)
  const visitMs = room.startsPerSecond === 0 ? 0 : (room.slots / room.startsPerSecond) * 1_000
  const worth = (left * visitMs) / WORTH_MS / slotsPerWorker
  const decided = [
    {
      workers: steady(useful / slotsPerWorker, alive),
      why: byCpu < most ? cpuText(room.startsPerSecond, perWorker ?? 0) : hostsText(room, left),
    },
    { workers: Math.max(1, alive, Math.ceil(worth)), why: `${some(left, 'link')} left: not worth another worker` },
    heldUpBy(load, alive),
  ].reduce((least, one) => (one.workers < least.workers ? one : least))
  const stay = room.blocked >= MOST ? Math.min(alive, Math.ceil(useful)) : 0
  // Links that nobody may fetch yet keep one worker.
  const { workers: count, why } = stay > decided.workers ? { workers: stay, why: BLOCKED } : decided
  return answer({ workers: Math.max(1, count), why }, useful, slotsPerWorker)
}

/** Those that the figure is compared with. */
export function countedWorkers({ workers }: FleetReading, spiders: ReadonlySet<string>): AdvisedWorker[] {
  return workers.filter((worker) => serves(worker, spiders) && counts(worker))
}

function counts({ state }: AdvisedWorker): boolean {
  return state !== 'missing' && state !== 'draining'
}

interface Decided {
  readonly workers: number
  readonly why: string
}

const EXPECTED = 'waiting for start URLs; a worker takes what is fed'
const BLOCKED = 'most hosts are blocked for less than a minute: the running workers stay'

function answer({ workers, why }: Decided, slots: number, slotsPerWorker: number): UsefulWorkers {
  return { workers, slots: rounded(slots), slotsPerWorker: rounded(slotsPerWorker), why }
}

/** A worker that does not report its spiders may have these. */
function serves({ about }: AdvisedWorker, spiders: ReadonlySet<string>): boolean {
  return about?.spiders === undefined || Object.keys(about.spiders).some((spider) => spiders.has(spider))
}

/** The ceiling of a worker, on average. One that has just started uses fewer slots, and so does one that has no more to do: both could use all of them. */
function slotsEach(workers: readonly AdvisedWorker[]): number {
  const each = workers.flatMap(({ vitals, about }) => {
    if (vitals !== null) return [FULL.has(vitals.because) ? vitals.slots : vitals.most]
    return about?.concurrency === undefined ? [] : [about.concurrency]
  })
  return each.length === 0 ? AUTO_CONCURRENCY : Math.max(1, sum(each) / each.length)
}

function linksLeft(crawls: readonly ScaledCrawl[]): number {
  return sum(crawls.map(({ stats, later }) => stats.queued + stats.leased + Math.max(0, stats.delayed - later)))
}

/** Null: nothing was measured yet. While all hosts are blocked no page ends, so what pages took since the workers started has to do. */
function visitTimes(
  fleet: readonly AdvisedWorker[],
  load: FleetLoad,
  crawls: readonly ScaledCrawl[],
): VisitTimes | null {
  const all = fleet.flatMap(({ vitals }) => (vitals === null ? [] : [vitals]))
  const pages = sum(all.map(({ pages, failed }) => pages + failed))
  const { fetch, handler } = load.part
  const recent = load.visitMs === null ? null : { ms: load.visitMs, handler: handler / (fetch + handler || 1) }
  const spent = { fetch: sum(all.map(({ spent }) => spent.fetch)), handler: sum(all.map(({ spent }) => spent.handler)) }
  const since =
    pages === 0
      ? null
      : { ms: (spent.fetch + spent.handler) / pages, handler: spent.handler / (spent.fetch + spent.handler || 1) }
  const visit = recent ?? since
  const latencyMs = meanLatency(crawls)
  if (visit === null && latencyMs === null) return null
  const handlerMs = visit === null ? 0 : visit.ms * visit.handler
  return { fetchMs: latencyMs ?? (visit === null ? 0 : visit.ms - handlerMs), handlerMs }
}

function meanLatency(crawls: readonly ScaledCrawl[]): number | null {
  let links = 0
  let ms = 0
  for (const { hosts, others } of crawls)
    for (const { latencyMs, pending } of [...hosts, ...others]) {
      if (latencyMs === null || pending === 0) continue
      links += pending
      ms += latencyMs * pending
    }
  return links === 0 ? null : ms / links
}

/** Pages per second of a worker whose event loop is full; null: not known, because the workers have hardly anything to do. */
function pagesPerWorker(fleet: readonly AdvisedWorker[], load: FleetLoad): number | null {
  const loops = fleet.flatMap(({ vitals }) => (vitals === null ? [] : [vitals.loopBusy]))
  const measured = load.visits >= PAGES_MEASURED || sum(loops) >= LOOP_MEASURED * loops.length
  const busy = sum(loops.map((loop) => Math.max(0, loop - LOOP_IDLE)))
  return !measured || busy === 0 || load.visitsPerSecond === 0 ? null : (LOOP_FULL * load.visitsPerSecond) / busy
}

/**
 * If slots wait for the store, the queue or a proxy, the pages per second are what these allow, whatever the number of workers: so many workers that only
 * HELD_UP of their time is waiting do the same.
 */
function heldUpBy(load: FleetLoad, alive: number): Decided {
  const { idle, store, proxy, queue } = load.part
  const waits = {
    'the store': store,
    'a proxy': proxy,
    'the queue': (load.meanMs('lease') ?? 0) >= SLOW_CALL_MS ? queue : 0,
  }
  const waiting = sum(Object.values(waits)) / Math.max(0.01, 1 - idle)
  const [what] = Object.entries(waits).reduce((worst, one) => (one[1] > worst[1] ? one : worst))
  return {
    workers: waiting <= HARDLY_HELD_UP ? Number.POSITIVE_INFINITY : Math.ceil((alive * (1 - waiting)) / (1 - HELD_UP)),
    why: `slots wait for ${what} ${percent(waiting)} of the time: more workers would not help`,
  }
}

/** One more than there are only for a tenth more work. */
function steady(wanted: number, alive: number): number {
  return wanted > alive && wanted < alive * LITTLE ? alive : Math.ceil(wanted)
}

function nothingText(ours: readonly ScaledCrawl[], isPaused: boolean): string {
  const later = sum(ours.map((crawl) => crawl.later))
  if (later > 0) return `${some(later, 'link')} left, all due in more than a minute`
  if (ours.length > 0) return 'no links left'
  return isPaused ? 'its crawl is paused' : 'no crawl is running'
}

function unmeasuredText(alive: number): string {
  return alive === 0
    ? 'one worker to measure how fast the hosts respond'
    : 'no response was measured yet: the running workers stay'
}

function hostsText(room: { readonly hosts: number; readonly slots: number }, left: number): string {
  return left <= room.slots
    ? `${some(left, 'link')} left`
    : `${some(left, 'link')} left on ${some(room.hosts, 'host')} that can keep ${some(Math.ceil(room.slots), 'slot')} busy`
}

function cpuText(startsPerSecond: number, perWorker: number): string {
  return `CPU: hosts allow ${rounded(startsPerSecond)} pages/s, and one worker handles ${rounded(perWorker)}`
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
