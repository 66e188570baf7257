import type { ManualClock } from '../../src/clock.js'
import type { Frontier, Lease, LeaseReply, LeaseRequest } from '../../src/frontier/frontier.js'
import { DONE } from './frontier-fixtures.js'

/** Finished pages are released and settled together, as by the worker's outbox. */
const GATHER_MS = 10

export interface FleetOptions {
  /** For each worker the pages it fetches at once at most. */
  readonly ceilings: readonly number[]
  readonly answerMs: number
  readonly forMs: number
}

/** What a fleet asks of the queue. */
export interface FleetQueue {
  lease(request: LeaseRequest): Promise<LeaseReply>
  /** The pages are read and stored, so long after they were requested. */
  finish(leases: readonly Lease[], elapsedMs: number): Promise<void>
}

export function queueOf(frontier: Frontier): FleetQueue {
  return {
    lease: (request) => frontier.lease(request),
    finish: async (leases, elapsedMs) => {
      const report = { kind: 'ok' } as const
      const releases = leases.map((lease) => ({ lease, host: lease.link.host, elapsedMs, report }))
      await frontier.release(releases)
      await frontier.settle(leases.map((lease) => ({ lease, outcome: DONE })))
    },
  }
}

interface FleetWorker {
  readonly name: string
  readonly ceiling: number
  seq: number
  pages: number
  fetching: number
  finished: Lease[]
  /** The pause that counts: an earlier one is void. */
  naps: number
}

/**
 * Workers that wait for answers, on a simulated clock: each asks when it has finished a page, and after the pause that the queue asked for. Answers how many
 * pages each of them got. The first worker is always the first to ask.
 */
export async function runFleet(queue: FleetQueue, clock: ManualClock, options: FleetOptions): Promise<number[]> {
  const events: { readonly at: number; readonly run: () => Promise<void> }[] = []
  const after = (ms: number, run: () => Promise<void>) => {
    const at = clock.now() + ms
    const place = events.findIndex((other) => other.at > at)
    events.splice(place < 0 ? events.length : place, 0, { at, run })
  }
  const ask = async (worker: FleetWorker) => {
    const { name, ceiling, fetching: busy } = worker
    if (busy === ceiling) return
    const request = { worker: name, seq: ++worker.seq, want: ceiling - busy, busy, spiders: ['books'] }
    const { leases, idleMs } = await queue.lease(request)
    worker.pages += leases.length
    worker.fetching += leases.length
    for (const lease of leases) after(options.answerMs, async () => finish(worker, lease))
    const nap = ++worker.naps
    after(idleMs, async () => {
      if (nap === worker.naps) await ask(worker)
    })
  }
  const finish = (worker: FleetWorker, lease: Lease) => {
    worker.finished.push(lease)
    if (worker.finished.length > 1) return
    after(GATHER_MS, async () => {
      const leases = worker.finished.splice(0)
      worker.fetching -= leases.length
      await queue.finish(leases, options.answerMs + GATHER_MS)
      await ask(worker)
    })
  }
  const workers = options.ceilings.map((ceiling, nth): FleetWorker => {
    return { name: `w${nth}`, ceiling, seq: 0, pages: 0, fetching: 0, finished: [], naps: 0 }
  })
  const end = clock.now() + options.forMs
  for (const worker of workers) after(0, () => ask(worker))
  for (let next = events.shift(); next !== undefined && next.at <= end; next = events.shift()) {
    clock.advance(next.at - clock.now())
    await next.run()
  }
  return workers.map(({ pages }) => pages)
}
