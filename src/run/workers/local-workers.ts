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
}

export function createLocalWorkers(clock: Clock): LocalWorkers {
  const latest = new Map<WorkerId, { readonly vitals: Vitals; readonly receivedAt: number }>()
  return {
    received: (vitals) => void latest.set(vitals.worker, { vitals, receivedAt: clock.mono() }),
    gone: (worker) => void latest.delete(worker),
    list: () =>
      [...latest.values()]
        .map(({ vitals, receivedAt }) => ({ vitals, ageMs: clock.mono() - receivedAt }))
        .sort((a, b) => (a.vitals.worker < b.vitals.worker ? -1 : 1)),
  }
}
