import type { Family, Point } from './prometheus.js'

interface MetricRow {
  readonly type: Family['type']
  readonly labels: readonly string[]
  readonly help: string
}

const row =
  (type: MetricRow['type']) =>
  (labels: readonly string[], help: string): MetricRow => ({ type, labels, help })
const gauge = row('gauge')
const counter = row('counter')
const histogram = row('histogram')

/**
 * Every metric, in the order of the output. Labels never contain a host or a URL: their number is bounded by workers, crawls, codes and
 * pools. docs/monitoring.md has the same table; a test compares them.
 */
export const WORKER_METRICS = {
  shoal_worker_info: gauge(['worker', 'machine', 'pid', 'version'], 'Always 1, for each worker of this process.'),
  shoal_worker_start_time_seconds: gauge(['worker'], 'Start time of the worker, as a Unix timestamp.'),
  shoal_worker_report_age_seconds: gauge(
    ['worker'],
    'Time since the last report of the worker. It reports every 3 s; much more means that its event loop is blocked.',
  ),
  shoal_pages_total: counter(['worker'], 'Pages fetched successfully.'),
  shoal_failures_total: counter(['worker', 'code'], 'Failed visits, by error code.'),
  shoal_responses_total: counter(
    ['worker', 'status'],
    'Responses by status code, without robots.txt; 0: no response, other: an unknown code.',
  ),
  shoal_received_bytes_total: counter(['worker'], 'Bytes of response bodies as received, including robots.txt.'),
  shoal_stale_settlements_total: counter(['worker'], 'Settlements that the queue rejected because they came too late.'),
  shoal_lost_leases_total: counter(['worker'], 'Leases that expired while the worker was working on them.'),
  shoal_fetch_seconds: histogram(['worker'], 'Duration of a request, from the connection to the last byte.'),
  shoal_handler_seconds: histogram(['worker'], "Duration of the spider's own code and rules on one page."),
  shoal_store_batch_seconds: histogram(['worker'], 'Duration of writing one batch of rows to the store.'),
  shoal_settle_seconds: histogram(['worker'], 'Duration of one settle call to the queue.'),
  shoal_lease_seconds: histogram(['worker'], 'Duration of one lease call to the queue.'),
  shoal_lease_age_seconds: histogram(['worker'], 'Time from the lease of a link to its settlement.'),
  shoal_slots: gauge(['worker'], 'Concurrent visits that the worker allows itself at the moment.'),
  shoal_slots_max: gauge(['worker'], 'The ceiling of shoal_slots: --concurrency.'),
  shoal_slots_limit: gauge(
    ['worker', 'reason'],
    'Always 1, with the reason why the worker has no more slots: growing, most (it has all of them), work (there is no more), cpu, memory, bodies (too many bytes wait for handlers), outbox (too many pages wait for their commit).',
  ),
  shoal_slots_busy: gauge(['worker'], 'Visits in flight.'),
  shoal_slot_seconds_total: counter(
    ['worker', 'doing'],
    'Time of all slots by activity: idle (nothing was due), pace and proxy (waiting for a slot or a proxy), fetch, handler, store, queue. They add up to slots x time.',
  ),
  shoal_event_loop_busy_ratio: gauge(['worker'], "Share of time that the worker's event loop was busy, 0 to 1."),
  shoal_event_loop_lag_seconds: gauge(['worker'], 'Maximum delay of its timers.'),
  shoal_resident_memory_bytes: gauge(['worker'], "Resident memory of the worker's process."),
  shoal_heap_bytes: gauge(['worker'], "Size of the worker's JavaScript heap."),
  shoal_heap_limit_bytes: gauge(['worker'], 'Limit of the heap.'),
  shoal_memory_limit_bytes: gauge(['worker'], 'Memory of the machine, or of its container.'),
  shoal_memory_free_bytes: gauge(['worker'], 'Free memory of the machine, or of its container.'),
} satisfies Record<string, MetricRow>

export const QUEUE_METRICS = {
  shoal_queue_up: gauge([], '1 if the queue responded in time, 0 if it is down.'),
  shoal_crawls: gauge(['state'], 'Crawls in the queue, by state.'),
  shoal_links: gauge(['crawl', 'spider', 'state'], 'Links of a crawl, by state.'),
  shoal_crawl_rate: gauge(['crawl', 'spider'], 'Links that ended per second, over the last minute.'),
  shoal_crawl_eta_seconds: gauge(
    ['crawl', 'spider'],
    'Estimated time until the crawl ends; missing if there is no estimate.',
  ),
  shoal_crawl_stalled_seconds: gauge(['crawl', 'spider'], 'How long links have been due without progress; 0: healthy.'),
  shoal_crawl_hosts: gauge(
    ['crawl', 'spider', 'state'],
    'State of the 100 busiest hosts: open (a request may start now), waiting (for the next slot), blocked (rate limited by the host, or blocked manually).',
  ),
  shoal_crawl_failed_total: counter(['crawl', 'spider'], 'Failed visits that counted as an attempt.'),
  shoal_crawl_retried_total: counter(['crawl', 'spider'], 'Failed visits that were retried.'),
  shoal_crawl_throttled_total: counter(
    ['crawl', 'spider'],
    'Retries that did not count as an attempt, because the host rate limited us.',
  ),
  shoal_crawl_reclaimed_total: counter(['crawl', 'spider'], 'Leases that expired and were reclaimed.'),
  shoal_crawl_stale_total: counter(['crawl', 'spider'], 'Settlements rejected because the lease was lost.'),
  shoal_crawl_refused_total: counter(
    ['crawl', 'spider'],
    'Links rejected because the queue was full or a budget was used up.',
  ),
  shoal_crawl_filtered_links_total: counter(
    ['crawl', 'spider', 'reason'],
    'Links of pages that the filter changed or rejected, by reason; likely_session_id were kept as they are.',
  ),
  shoal_crawl_counts_total: counter(
    ['crawl', 'spider', 'name'],
    'What the spider counted with page.count on pages that are done: 100 names for each crawl, and the rest as (other).',
  ),
  shoal_crawl_bytes_total: counter(['crawl', 'spider'], 'Bytes of its pages as received.'),
  shoal_dead_letters: gauge(['crawl', 'spider', 'code'], 'Dead letters, by error code.'),
  shoal_workers: gauge(['state'], 'Workers known to the queue, by state.'),
  shoal_workers_useful: gauge(
    ['spider'],
    'Workers that the running crawls of the spider can keep busy: how many there should be. 0: none of them has work.',
  ),
  shoal_proxies: gauge(['pool'], 'Proxies of the pool that were used in the last week.'),
  shoal_proxies_resting: gauge(['pool'], 'Proxies resting everywhere because they do not work.'),
  shoal_proxy_requests_total: counter(
    ['pool', 'verdict'],
    'Requests through the pool, by verdict: good, neutral (says nothing about the proxy), banned (the site blocks it), broken.',
  ),
  shoal_proxy_cost_total: counter(['pool'], 'Cost of the requests, in the currency of the proxies file.'),
  shoal_alerts_active: gauge(['rule'], 'Active alerts, by rule.'),
} satisfies Record<string, MetricRow>

export const BUILD_METRICS = {
  shoal_build_info: gauge(['version', 'node'], 'Always 1, with the versions of Shoal and Node.'),
} satisfies Record<string, MetricRow>

export type WorkerMetric = keyof typeof WORKER_METRICS
export type QueueMetric = keyof typeof QUEUE_METRICS

export function familiesOf<Name extends string>(
  table: Readonly<Record<Name, MetricRow>>,
  points: Readonly<Record<Name, readonly Point[]>>,
): Family[] {
  return (Object.keys(table) as Name[]).map((name) => {
    const { type, help } = table[name]
    return { name, type, help, points: points[name] }
  })
}
