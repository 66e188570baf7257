import type { Clock } from '../../clock.js'
import type { WorkerId } from '../../frontier/frontier.js'
import type { ReceivedVitals } from '../../observe/vitals/read-vitals.js'
import type { Vitals } from '../../observe/vitals/vitals.js'

/** The workers of this process and of those that it started, as they told last: for its /metrics. */
export interface LocalWorkers {
  heard(vitals: Vitals): void
  gone(worker: WorkerId): void
  /** By name. */
  list(): ReceivedVitals[]
}

export function createLocalWorkers(clock: Clock): LocalWorkers {
  const told = new Map<WorkerId, { readonly vitals: Vitals; readonly heardAt: number }>()
  return {
    heard: (vitals) => void told.set(vitals.worker, { vitals, heardAt: clock.mono() }),
    gone: (worker) => void told.delete(worker),
    list: () =>
      [...told.values()]
        .map(({ vitals, heardAt }) => ({ vitals, ageMs: clock.mono() - heardAt }))
        .sort((a, b) => (a.vitals.worker < b.vitals.worker ? -1 : 1)),
  }
}
