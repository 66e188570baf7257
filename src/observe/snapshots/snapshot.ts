import { type Estimate, estimateEnd } from '../../coordinator/eta.js'
import { ShoalError } from '../../errors.js'
import type {
  CrawlInfo,
  CrawlStats,
  Frontier,
  HostInfo,
  LinkInfo,
  WorkerId,
  WorkerInfo,
} from '../../frontier/frontier.js'
import type { Notes } from '../../notes/notes.js'
import type { RecordStore } from '../../store/record-store.js'
import type { VisitCounts } from '../../store/visits.js'
import { drainKey } from '../note-keys.js'
import { NOTES_AT_ONCE, readVitals } from '../vitals/read-vitals.js'
import { MISSED_MS, type Vitals } from '../vitals/vitals.js'
import { type Advice, adviceOf, isCpuBound } from './advice.js'
import { loadOf } from './fleet-load.js'
import {
  fleetSlots,
  isListed,
  isMissing,
  progressOf,
  STALLED_MS,
  stalledMs,
  type WorkerState,
  workerState,
} from './health.js'
import { blocksOf, NO_WAITS, type Waits, waitsOf } from './waits.js'

/** What people, alerts and the dashboard see of a queue at one moment: read here and nowhere else. */
export interface SnapshotBackends {
  readonly frontier: Frontier
  readonly notes: Notes
  readonly store: Pick<RecordStore, 'visits'>
}

export interface WorkerSnapshot extends WorkerInfo {
  /** Null: it reports nothing, or has not for a minute. */
  readonly vitals: Vitals | null
  /** Since its last report. */
  readonly reportedMs: number | null
  /** It was asked to stop. */
  readonly draining: boolean
  readonly state: WorkerState
}

export interface CrawlSnapshot {
  readonly stats: CrawlStats
  /** The busiest hosts. */
  readonly hosts: readonly HostInfo[]
  /** Some of the delayed links. */
  readonly delayed: readonly LinkInfo[]
  /** Workers that are alive. */
  readonly workers: readonly WorkerSnapshot[]
  readonly estimate: Estimate
  /** How long links have been due without progress; 0: healthy. */
  readonly stalledMs: number
  readonly visits: VisitCounts | null
  /** Missing workers that hold its links, and hosts that cannot be reached. */
  readonly waits: Waits
  readonly advice: Advice
  readonly now: number
}

/** How full the storage of the queue is. */
export interface Capacity {
  readonly usedBytes: number
  readonly limitBytes: number
  /** `memory`: of Redis. `disk`: the one with the queue file. */
  readonly what: 'memory' | 'disk'
}

/** The busiest hosts: enough for an estimate. */
export const HOSTS_READ = 100
const LEASES_READ = 1_000
export const DELAYED_READ = 1_000
const QUEUED_READ = 20

/** All workers that the queue knows; one that shut down properly is forgotten. */
export async function workerSnapshots(
  { frontier, notes }: Pick<SnapshotBackends, 'frontier' | 'notes'>,
  now: number,
): Promise<WorkerSnapshot[]> {
  const workers = await frontier.workers()
  // A worker that has been missing for a while has no vitals any more, so they are not read.
  const recent = workers.filter((worker) => isListed(worker, now)).map(({ worker }) => worker)
  const [vitals, drained] = await Promise.all([readVitals(notes, recent), drainedOf(notes, recent)])
  return workers.map((worker) => {
    const received = vitals.get(worker.worker)
    const draining = drained.has(worker.worker)
    const reportedMs = received?.ageMs ?? null
    return {
      ...worker,
      vitals: received?.vitals ?? null,
      reportedMs,
      draining,
      state: stateOf(worker, reportedMs, draining, now),
    }
  })
}

async function drainedOf(notes: Notes, workers: readonly WorkerId[]): Promise<Set<WorkerId>> {
  const asked = new Set<WorkerId>()
  for (let from = 0; from < workers.length; from += NOTES_AT_ONCE) {
    const some = workers.slice(from, from + NOTES_AT_ONCE)
    const requests = await Promise.all(some.map((worker) => notes.read(drainKey(worker))))
    some.forEach((worker, i) => {
      if (requests[i] !== null) asked.add(worker)
    })
  }
  return asked
}

/** One that does not beat, because its version does not, counts as missing when it has stopped reporting. */
function stateOf(worker: WorkerInfo, reportedMs: number | null, draining: boolean, now: number): WorkerState {
  const state = workerState(worker, now)
  if (isMissing(worker, now)) return 'missing'
  if (reportedMs !== null && reportedMs > MISSED_MS && now - worker.seenAt > MISSED_MS) return 'missing'
  return draining ? 'draining' : state
}

export function isAlive({ state }: Pick<WorkerSnapshot, 'state'>): boolean {
  return state !== 'missing'
}

/** What a crawl waits for, asked only while nothing ends or nothing is queued: a crawl that makes progress waits for nobody. */
export async function readWaits(
  frontier: Frontier,
  stats: CrawlStats,
  hosts: readonly HostInfo[],
  now: number,
): Promise<Waits> {
  const { id: crawl, spider, state, delayed, leased } = stats
  const isMoving = stats.rate > 0 && stats.queued > 0
  if (state !== 'running' || isMoving || delayed + leased === 0) return NO_WAITS
  const [delayedLinks, leasedLinks, workers] = await Promise.all([
    delayed === 0 ? [] : frontier.links({ crawl, state: 'delayed', limit: DELAYED_READ }),
    leased === 0 ? [] : frontier.links({ crawl, state: 'leased', limit: LEASES_READ }),
    frontier.workers(),
  ])
  return waitsOf({ spider, hosts, delayed: delayedLinks, leased: leasedLinks, workers, now })
}

/** `fleet`: workers are expected at any time; on one machine a crawl without workers was simply stopped. */
export async function crawlSnapshotOf(
  { frontier, store }: Omit<SnapshotBackends, 'notes'>,
  crawl: CrawlInfo,
  workers: readonly WorkerSnapshot[],
  now: number,
  fleet: boolean,
): Promise<CrawlSnapshot> {
  const [stats, hosts, delayed, leased, queued, visits] = await Promise.all([
    frontier.stats(crawl.id),
    frontier.hosts(crawl.id, { limit: HOSTS_READ, busiest: true }),
    frontier.links({ crawl: crawl.id, state: 'delayed', limit: DELAYED_READ }),
    frontier.links({ crawl: crawl.id, state: 'leased', limit: LEASES_READ }),
    frontier.links({ crawl: crawl.id, state: 'queued', limit: QUEUED_READ }),
    store.visits.counts(crawl.id),
  ])
  const alive = workers.filter(isAlive)
  const lastDueAt = delayed.reduce<number | null>(
    (last, link) => (link.dueAt === null ? last : Math.max(last ?? 0, link.dueAt)),
    null,
  )
  const snapshot = { stats, hosts, leased, queued }
  const stalled = !fleet && alive.length === 0 ? 0 : stalledMs(snapshot, progressOf(workers, [snapshot], now), now)
  const waits =
    stats.state === 'running' ? waitsOf({ spider: crawl.spider, hosts, delayed, leased, workers, now }) : NO_WAITS
  const cpuBound = isCpuBound(loadOf(alive))
  const estimate = estimateEnd({
    ...{ stats, hosts, slots: fleetSlots(crawl, alive), now, lastDueAt, cpuBound },
    blocks: blocksOf(waits),
  })
  return {
    ...{ stats, hosts, delayed, workers: alive, estimate, visits, waits, now },
    stalledMs: stalled > STALLED_MS ? stalled : 0,
    advice: adviceOf({ stats, hosts, workers: alive, estimate, waits, now }),
  }
}

/** Null: the crawl was deleted between two queries. */
export async function ifThere<Answer>(asked: Promise<Answer>): Promise<Answer | null> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof ShoalError && error.code === 'not_found') return null
    throw error
  }
}
