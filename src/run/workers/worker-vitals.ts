import { hostname } from 'node:os'
import { performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import type { Clock } from '../../clock.js'
import type { WorkerId } from '../../frontier/frontier.js'
import { type Earlier, RECENT_MS, VITALS_MS, type Vitals } from '../../observe/vitals/vitals.js'
import { version } from '../../version.js'
import type { CrawlWorker } from '../../worker/worker.js'
import { memoryOfMachine } from './memory-use.js'

/** The second report comes sooner: the first has no rates yet, and someone may be waiting for the worker to be ready. */
const SECOND_MS = 1_000

/** Reports the state of the worker on this event loop now and every VITALS_MS, until it is stopped. */
export function reportVitals(
  id: WorkerId,
  worker: Pick<CrawlWorker, 'reading' | 'longestInFlight'>,
  clock: Clock,
  onVitals: (vitals: Vitals) => void,
): { stop(): void } {
  const startedAt = clock.now()
  const lag = watchLag(clock)
  let utilization = performance.eventLoopUtilization()
  let earlier: Earlier[] = []
  let cancel = () => {}
  const report = (nextMs: number) => {
    const { idle, active } = performance.eventLoopUtilization()
    const busyMs = active - utilization.active
    const idleMs = idle - utilization.idle
    utilization = { idle, active, utilization: 0 }
    const at = clock.now()
    const { reading } = worker
    const { pages, failed, spent, took } = reading
    earlier = earlier.filter((one) => one.at >= at - RECENT_MS - VITALS_MS / 2)
    const { used_heap_size, heap_size_limit } = getHeapStatistics()
    onVitals({
      ...{ worker: id, machine: hostname(), pid: process.pid, version, at, startedAt },
      ...reading,
      rssBytes: process.memoryUsage.rss(),
      heapBytes: used_heap_size,
      heapLimitBytes: heap_size_limit,
      ...memoryOfMachine(),
      loopBusy: busyMs + idleMs > 0 ? Math.min(1, busyMs / (busyMs + idleMs)) : 0,
      loopLagMs: lag.sinceLastReport(),
      earlier: earlier[0] ?? null,
      inFlight: worker.longestInFlight,
    })
    earlier.push({ at, pages, failed, spent, took })
    cancel = clock.after(nextMs, () => report(VITALS_MS))
  }
  report(SECOND_MS)
  return {
    stop() {
      cancel()
      // The last pages count too, for whoever adds them up.
      report(VITALS_MS)
      cancel()
      lag.stop()
    },
  }
}

const LAG_CHECK_MS = 100

/** The longest delay of a timer. */
export function watchLag(clock: Clock): { sinceLastReport(): number; stop(): void } {
  let worstMs = 0
  let dueAt = 0
  let cancel = () => {}
  const lateMs = () => Math.max(0, clock.mono() - dueAt)
  const wait = () => {
    dueAt = clock.mono() + LAG_CHECK_MS
    cancel = clock.after(LAG_CHECK_MS, () => {
      worstMs = Math.max(worstMs, lateMs())
      wait()
    })
  }
  wait()
  return {
    sinceLastReport() {
      const worst = Math.max(worstMs, lateMs())
      worstMs = 0
      return worst
    },
    stop: () => cancel(),
  }
}
