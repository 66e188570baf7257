import { ManualClock } from '../../../src/clock.js'
import { createMeter } from '../../../src/observe/vitals/meter.js'
import type { Vitals } from '../../../src/observe/vitals/vitals.js'

/** Vitals of a worker that has done nothing yet, but for what is given. */
export function someVitals(given: Partial<Vitals>): Vitals {
  return {
    ...{ worker: 'w', machine: 'm', pid: 7, version: '1.0.0', at: 1_000, startedAt: 0 },
    ...createMeter(4, new ManualClock()).read([]),
    ...{ most: 4, because: 'most' },
    ...{ rssBytes: 1, heapBytes: 2, heapLimitBytes: 3, memoryLimitBytes: 4, memoryFreeBytes: 5 },
    ...{ loopBusy: 0.5, loopLagMs: 6, earlier: null, inFlight: [] },
    ...given,
  }
}
