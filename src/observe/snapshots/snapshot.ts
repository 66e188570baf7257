import { type Estimate, estimateEnd } from '../../coordinator/eta.js'
import type { CrawlInfo, CrawlStats, Frontier, HostInfo, WorkerId, WorkerInfo } from '../../frontier/frontier.js'
import type { Notes } from '../../notes/notes.js'
import type { RecordStore } from '../../store/record-store.js'
import type { VisitCounts } from '../../store/visits.js'
import { drainKey } from '../note-keys.js'
import { NOTES_AT_ONCE, readVitals } from '../vitals/read-vitals.js'
import { MISSED_MS, type Vitals } from '../vitals/vitals.js'
import { type Advice, adviceOf } from './advice.js'
import { fleetSlots, progressOf, STALLED_MS, stalledMs, type WorkerState, workerState } from './health.js'

/** What people, alerts and the page see of a queue at one moment: read here, once, and nowhere else. */
export interface SnapshotBackends {
  readonly frontier: Frontier
  readonly notes: Notes
  readonly store: Pick<RecordStore, 'visitCounts'>
}

export interface WorkerSnapshot extends WorkerInfo {
  /** Null: it tells nothing, or has not for a minute. */
  readonly vitals: Vitals | null
  /** Since it last told. */
  readonly heardMs: number | null
  /** It was asked to leave. */
  readonly draining: boolean
  readonly state: WorkerState
}

export interface CrawlSnapshot {
  readonly stats: CrawlStats
  /** Those with most work left. */
  readonly hosts: readonly HostInfo[]
  /** Those alive. */
  readonly workers: readonly WorkerSnapshot[]
  readonly estimate: Estimate
  /** For how long work has been due without anything being done; 0: all is well. */
  readonly stalledMs: number
  readonly visits: VisitCounts | null
  readonly advice: Advice
  readonly now: number
}

/** Those with most work left: enough for an estimate. */
const HOSTS_READ = 100
const LEASES_READ = 1_000
const DELAYED_READ = 1_000
const QUEUED_READ = 20

/** All that the queue remembers; a worker that left in order is forgotten. */
export async function workerSnapshots(
  { frontier, notes }: Pick<SnapshotBackends, 'frontier' | 'notes'>,
  now: number,
): Promise<WorkerSnapshot[]> {
  const workers = await frontier.workers()
  // What was not heard of for long tells nothing any more: it is not asked after.
  const recent = workers.filter((worker) => workerState(worker, now) !== 'silent').map(({ worker }) => worker)
  const [vitals, drained] = await Promise.all([readVitals(notes, recent), drainedOf(notes, recent)])
  return workers.map((worker) => {
    const told = vitals.get(worker.worker)
    const draining = drained.has(worker.worker)
    const heardMs = told?.ageMs ?? null
    return {
      ...worker,
      vitals: told?.vitals ?? null,
      heardMs,
      draining,
      state: stateOf(worker, heardMs, draining, now),
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

/** One that told how it does and stopped telling is missed long before its leases run out. */
function stateOf(worker: WorkerInfo, heardMs: number | null, draining: boolean, now: number): WorkerState {
  const state = workerState(worker, now)
  if (state === 'silent') return state
  if (heardMs !== null && heardMs > MISSED_MS && now - worker.seenAt > MISSED_MS) return 'missing'
  return draining ? 'draining' : state
}

export function isAlive({ state }: Pick<WorkerSnapshot, 'state'>): boolean {
  return state !== 'silent' && state !== 'missing'
}

/** `fleet`: workers are expected at any time; on one machine a crawl without workers was stopped, which is no fault. */
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
    store.visitCounts(crawl.id),
  ])
  const alive = workers.filter(isAlive)
  const lastDueAt = delayed.reduce<number | null>(
    (last, link) => (link.dueAt === null ? last : Math.max(last ?? 0, link.dueAt)),
    null,
  )
  const look = { stats, hosts, leased, queued }
  const stalled = !fleet && alive.length === 0 ? 0 : stalledMs(look, progressOf(workers, [look], now), now)
  const estimate = estimateEnd({ stats, hosts, slots: fleetSlots(crawl, alive), now, lastDueAt })
  return {
    ...{ stats, hosts, workers: alive, estimate, visits, now },
    stalledMs: stalled > STALLED_MS ? stalled : 0,
    advice: adviceOf({ stats, hosts, workers: alive, estimate, now }),
  }
}
