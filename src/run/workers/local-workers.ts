import type { Clock } from '../../clock.js'
import type { WorkerId } from '../../frontier/frontier.js'
import type { ReceivedVitals } from '../../observe/vitals/read-vitals.js'
import type { Vitals } from '../../observe/vitals/vitals.js'

/** The latest vitals of the workers of this process and of its child processes, for its /metrics. */
export interface LocalWorkers {
  received(vitals: Vitals): void
  gone(worker: WorkerId): void
  /** Sorted by name. */
  list(): ReceivedVitals[]
  /** Of every worker since the start, also of those that are gone, in the order in which they started. */
  pages(): WorkerPages[]
  /** Where the responses of all of them came from. */
  responses(): ResponseSources
}

export interface ResponseSources {
  readonly cache: number
  readonly network: number
}

export interface WorkerPages {
  readonly worker: WorkerId
  readonly pages: number
}

export function createLocalWorkers(clock: Clock): LocalWorkers {
  const latest = new Map<WorkerId, { readonly vitals: Vitals; readonly receivedAt: number }>()
  /** Also of those that are gone. */
  const last = new Map<WorkerId, Vitals>()
  return {
    received(vitals) {
      latest.set(vitals.worker, { vitals, receivedAt: clock.mono() })
      last.set(vitals.worker, vitals)
    },
    gone: (worker) => void latest.delete(worker),
    list: () =>
      [...latest.values()]
        .map(({ vitals, receivedAt }) => ({ vitals, ageMs: clock.mono() - receivedAt }))
        .sort((a, b) => (a.vitals.worker < b.vitals.worker ? -1 : 1)),
    pages: () => [...last.values()].map(({ worker, pages }) => ({ worker, pages })),
    responses: () =>
      [...last.values()]
        .map(sourcesOf)
        .reduce((sum, { cache, network }) => ({ cache: sum.cache + cache, network: sum.network + network }), {
          cache: 0,
          network: 0,
        }),
  }
}

function sourcesOf({ cached, statuses }: Vitals): ResponseSources {
  return { cache: cached, network: Object.values(statuses).reduce((sum, count) => sum + count, 0) }
}
