import { STATUS_CODES } from 'node:http'
import { ERRORS } from '../../errors.js'
import type { ReceivedVitals } from '../vitals/read-vitals.js'
import { HISTOGRAM_MS, type Histogram, SPENT } from '../vitals/vitals.js'
import { familiesOf, WORKER_METRICS, type WorkerMetric } from './metric-names.js'
import type { Distribution, Family, Labels, Point } from './prometheus.js'

/** From the latest vitals of each worker. */
export function workerMetrics(workers: readonly ReceivedVitals[]): Family[] {
  const each = (value: (received: ReceivedVitals) => number | Distribution): Point[] =>
    workers.map((received) => ({ labels: { worker: received.vitals.worker }, value: value(received) }))
  const several = (values: (received: ReceivedVitals) => readonly (readonly [Labels, number])[]): Point[] =>
    workers.flatMap((received) =>
      values(received).map(([labels, value]) => ({ labels: { worker: received.vitals.worker, ...labels }, value })),
    )
  return familiesOf<WorkerMetric>(WORKER_METRICS, {
    shoal_worker_info: several(({ vitals: { machine, pid, version } }) => [
      [{ machine, pid: String(pid), version }, 1],
    ]),
    shoal_worker_start_time_seconds: each(({ vitals }) => vitals.startedAt / 1000),
    shoal_worker_report_age_seconds: each(({ ageMs }) => ageMs / 1000),
    shoal_pages_total: each(({ vitals }) => vitals.pages),
    shoal_failures_total: several(({ vitals }) =>
      labelled(
        'code',
        bounded(vitals.errors, (code) => Object.hasOwn(ERRORS, code)),
      ),
    ),
    shoal_responses_total: several(({ vitals }) =>
      labelled(
        'status',
        bounded(vitals.statuses, (status) => status === '0' || Object.hasOwn(STATUS_CODES, status)),
      ),
    ),
    shoal_received_bytes_total: each(({ vitals }) => vitals.bytes),
    shoal_stale_settlements_total: each(({ vitals }) => vitals.stale),
    shoal_lost_leases_total: each(({ vitals }) => vitals.lost),
    shoal_fetch_seconds: each(({ vitals }) => inSeconds(vitals.took.fetch)),
    shoal_handler_seconds: each(({ vitals }) => inSeconds(vitals.took.handler)),
    shoal_store_batch_seconds: each(({ vitals }) => inSeconds(vitals.took.store)),
    shoal_settle_seconds: each(({ vitals }) => inSeconds(vitals.took.settle)),
    shoal_lease_seconds: each(({ vitals }) => inSeconds(vitals.took.lease)),
    shoal_lease_age_seconds: each(({ vitals }) => inSeconds(vitals.took.leaseAge)),
    shoal_slots: each(({ vitals }) => vitals.slots),
    shoal_slots_max: each(({ vitals }) => vitals.most),
    shoal_slots_limit: several(({ vitals }) => [[{ reason: vitals.because }, 1]]),
    shoal_slots_busy: each(({ vitals }) => vitals.busy),
    shoal_slot_seconds_total: several(({ vitals }) => SPENT.map((doing) => [{ doing }, vitals.spent[doing] / 1000])),
    shoal_event_loop_busy_ratio: each(({ vitals }) => vitals.loopBusy),
    shoal_event_loop_lag_seconds: each(({ vitals }) => vitals.loopLagMs / 1000),
    shoal_resident_memory_bytes: each(({ vitals }) => vitals.rssBytes),
    shoal_heap_bytes: each(({ vitals }) => vitals.heapBytes),
    shoal_heap_limit_bytes: each(({ vitals }) => vitals.heapLimitBytes),
    shoal_memory_limit_bytes: each(({ vitals }) => vitals.memoryLimitBytes),
    shoal_memory_free_bytes: each(({ vitals }) => vitals.memoryFreeBytes),
  })
}

const ENDS = HISTOGRAM_MS.map((ms) => ms / 1000)

function inSeconds({ counts, sumMs }: Histogram): Distribution {
  return { ends: ENDS, counts, sum: sumMs / 1000 }
}

/** Sites may send any status and later versions may have other codes, so unknown ones are counted together. */
function bounded(counts: Readonly<Record<string, number>>, isKnown: (key: string) => boolean): [string, number][] {
  const known = Object.entries(counts).filter(([key]) => isKnown(key))
  const other = Object.entries(counts).filter(([key]) => !isKnown(key))
  const sum = other.reduce((total, [, count]) => total + count, 0)
  return other.length === 0 ? known : [...known, ['other', sum]]
}

function labelled(label: string, counts: readonly (readonly [string, number])[]): [Labels, number][] {
  return counts.map(([key, count]) => [{ [label]: key }, count])
}
