import type { Family, Point } from './prometheus.js'

interface MetricRow {
  readonly type: Family['type']
  readonly labels: readonly string[]
  readonly help: string
}

/**
 * Every metric, in the order of the output. Labels never contain a host or a URL: their number is bounded by workers, crawls, codes and
 * pools. docs/monitoring.md has the same table; a test compares them.
 */
export const WORKER_METRICS = {
  shoal_worker_info: {
    type: 'gauge',
    labels: ['worker', 'machine', 'pid', 'version'],
    help: 'Always 1, for each worker of this process.',
  },
  shoal_worker_start_time_seconds: {
    type: 'gauge',
    labels: ['worker'],
    help: 'Start time of the worker, as a Unix timestamp.',
  },
  shoal_worker_report_age_seconds: {
    type: 'gauge',
    labels: ['worker'],
    help: 'Time since the last report of the worker. It reports every 3 s; much more means that its event loop is blocked.',
  },
  shoal_pages_total: { type: 'counter', labels: ['worker'], help: 'Pages fetched successfully.' },
  shoal_failures_total: { type: 'counter', labels: ['worker', 'code'], help: 'Failed visits, by error code.' },
  shoal_responses_total: {
    type: 'counter',
    labels: ['worker', 'status'],
    help: 'Responses by status code, without robots.txt; 0: no response, other: an unknown code.',
  },
  shoal_received_bytes_total: {
    type: 'counter',
    labels: ['worker'],
    help: 'Bytes of response bodies as received, including robots.txt.',
  },
  shoal_stale_settlements_total: {
    type: 'counter',
    labels: ['worker'],
    help: 'Settlements that the queue rejected because they came too late.',
  },
  shoal_lost_leases_total: {
    type: 'counter',
    labels: ['worker'],
    help: 'Leases that expired while the worker was working on them.',
  },
  shoal_fetch_seconds: {
    type: 'histogram',
    labels: ['worker'],
    help: 'Duration of a request, from the connection to the last byte.',
  },
  shoal_handler_seconds: {
    type: 'histogram',
    labels: ['worker'],
    help: "Duration of the spider's own code and rules on one page.",
  },
  shoal_store_batch_seconds: {
    type: 'histogram',
    labels: ['worker'],
    help: 'Duration of writing one batch of rows to the store.',
  },
  shoal_settle_seconds: {
    type: 'histogram',
    labels: ['worker'],
    help: 'Duration of one settle call to the queue.',
  },
  shoal_lease_seconds: { type: 'histogram', labels: ['worker'], help: 'Duration of one lease call to the queue.' },
  shoal_lease_age_seconds: {
    type: 'histogram',
    labels: ['worker'],
    help: 'Time from the lease of a link to its settlement.',
  },
  shoal_slots: { type: 'gauge', labels: ['worker'], help: 'Maximum number of concurrent visits of the worker.' },
  shoal_slots_busy: { type: 'gauge', labels: ['worker'], help: 'Visits in flight.' },
  shoal_slot_seconds_total: {
    type: 'counter',
    labels: ['worker', 'doing'],
    help: 'Time of all slots by activity: idle (nothing was due), pace and proxy (waiting for a slot or a proxy), fetch, handler, store, queue. They add up to slots x time.',
  },
  shoal_event_loop_busy_ratio: {
    type: 'gauge',
    labels: ['worker'],
    help: "Share of time that the worker's event loop was busy, 0 to 1.",
  },
  shoal_event_loop_lag_seconds: { type: 'gauge', labels: ['worker'], help: 'Maximum delay of its timers.' },
  shoal_resident_memory_bytes: { type: 'gauge', labels: ['worker'], help: "Resident memory of the worker's process." },
  shoal_heap_bytes: { type: 'gauge', labels: ['worker'], help: "Size of the worker's JavaScript heap." },
  shoal_heap_limit_bytes: { type: 'gauge', labels: ['worker'], help: 'Limit of the heap.' },
  shoal_memory_limit_bytes: { type: 'gauge', labels: ['worker'], help: 'Memory of the machine, or of its container.' },
  shoal_memory_free_bytes: {
    type: 'gauge',
    labels: ['worker'],
    help: 'Free memory of the machine, or of its container.',
  },
} as const satisfies Record<string, MetricRow>

export const QUEUE_METRICS = {
  shoal_queue_up: { type: 'gauge', labels: [], help: '1 if the queue responded in time, 0 if it is down.' },
  shoal_crawls: { type: 'gauge', labels: ['state'], help: 'Crawls in the queue, by state.' },
  shoal_links: { type: 'gauge', labels: ['crawl', 'spider', 'state'], help: 'Links of a crawl, by state.' },
  shoal_crawl_rate: {
    type: 'gauge',
    labels: ['crawl', 'spider'],
    help: 'Links that ended per second, over the last minute.',
  },
  shoal_crawl_eta_seconds: {
    type: 'gauge',
    labels: ['crawl', 'spider'],
    help: 'Estimated time until the crawl ends; missing if there is no estimate.',
  },
  shoal_crawl_stalled_seconds: {
    type: 'gauge',
    labels: ['crawl', 'spider'],
    help: 'How long links have been due without progress; 0: healthy.',
  },
  shoal_crawl_hosts: {
    type: 'gauge',
    labels: ['crawl', 'spider', 'state'],
    help: 'State of the 100 busiest hosts: open (a request may start now), waiting (for the next slot), blocked (rate limited by the host, or blocked manually).',
  },
  shoal_crawl_failed_total: {
    type: 'counter',
    labels: ['crawl', 'spider'],
    help: 'Failed visits that counted as an attempt.',
  },
  shoal_crawl_retried_total: { type: 'counter', labels: ['crawl', 'spider'], help: 'Failed visits that were retried.' },
  shoal_crawl_throttled_total: {
    type: 'counter',
    labels: ['crawl', 'spider'],
    help: 'Retries that did not count as an attempt, because the host rate limited us.',
  },
  shoal_crawl_reclaimed_total: {
    type: 'counter',
    labels: ['crawl', 'spider'],
    help: 'Leases that expired and were reclaimed.',
  },
  shoal_crawl_stale_total: {
    type: 'counter',
    labels: ['crawl', 'spider'],
    help: 'Settlements rejected because the lease was lost.',
  },
  shoal_crawl_refused_total: {
    type: 'counter',
    labels: ['crawl', 'spider'],
    help: 'Links rejected because the queue was full or a budget was used up.',
  },
  shoal_crawl_bytes_total: { type: 'counter', labels: ['crawl', 'spider'], help: 'Bytes of its pages as received.' },
  shoal_dead_letters: { type: 'gauge', labels: ['crawl', 'spider', 'code'], help: 'Dead letters, by error code.' },
  shoal_workers: { type: 'gauge', labels: ['state'], help: 'Workers known to the queue, by state.' },
  shoal_proxies: {
    type: 'gauge',
    labels: ['pool'],
    help: 'Proxies of the pool that were used in the last week.',
  },
  shoal_proxies_resting: {
    type: 'gauge',
    labels: ['pool'],
    help: 'Proxies resting everywhere because they do not work.',
  },
  shoal_proxy_requests_total: {
    type: 'counter',
    labels: ['pool', 'verdict'],
    help: 'Requests through the pool, by verdict: good, neutral (says nothing about the proxy), banned (the site blocks it), broken.',
  },
  shoal_proxy_cost_total: {
    type: 'counter',
    labels: ['pool'],
    help: 'Cost of the requests, in the currency of the proxies file.',
  },
  shoal_alerts_active: { type: 'gauge', labels: ['rule'], help: 'Active alerts, by rule.' },
} as const satisfies Record<string, MetricRow>

export const BUILD_METRICS = {
  shoal_build_info: {
    type: 'gauge',
    labels: ['version', 'node'],
    help: 'Always 1, with the versions of Shoal and Node.',
  },
} as const satisfies Record<string, MetricRow>

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
