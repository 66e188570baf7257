import type { Family, Point } from './prometheus.js'

interface MetricRow {
  readonly type: Family['type']
  readonly labels: readonly string[]
  readonly help: string
}

/**
 * Every metric, in the order in which they are told. Labels never hold a host or a URL: their number is bounded by workers, crawls, codes and
 * pools. docs/monitoring.md shows the same table; a test compares them.
 */
export const WORKER_METRICS = {
  shoal_worker_info: {
    type: 'gauge',
    labels: ['worker', 'machine', 'pid', 'version'],
    help: 'Always 1: a worker of this process.',
  },
  shoal_worker_start_time_seconds: {
    type: 'gauge',
    labels: ['worker'],
    help: 'When the worker began, in seconds since 1970.',
  },
  shoal_worker_report_age_seconds: {
    type: 'gauge',
    labels: ['worker'],
    help: 'Since the worker last told how it is doing. It tells every 3 s: much more means that its event loop stands still.',
  },
  shoal_pages_total: { type: 'counter', labels: ['worker'], help: 'Pages that ended well.' },
  shoal_failures_total: { type: 'counter', labels: ['worker', 'code'], help: 'Visits that failed, by error code.' },
  shoal_responses_total: {
    type: 'counter',
    labels: ['worker', 'status'],
    help: 'Answers of sites by status code, robots.txt left out; 0: there was no answer, other: a code that nobody knows.',
  },
  shoal_received_bytes_total: {
    type: 'counter',
    labels: ['worker'],
    help: 'Bytes of bodies as received, robots.txt included.',
  },
  shoal_stale_settlements_total: {
    type: 'counter',
    labels: ['worker'],
    help: 'Settlements that the queue refused because they came too late.',
  },
  shoal_lost_leases_total: {
    type: 'counter',
    labels: ['worker'],
    help: 'Leases that ran out while the worker was at work on them.',
  },
  shoal_fetch_seconds: {
    type: 'histogram',
    labels: ['worker'],
    help: 'One request, from the connection to the last byte.',
  },
  shoal_handler_seconds: {
    type: 'histogram',
    labels: ['worker'],
    help: "The spider's own code and rules on one page.",
  },
  shoal_store_batch_seconds: {
    type: 'histogram',
    labels: ['worker'],
    help: 'One batch of rows, written to the store.',
  },
  shoal_settle_seconds: {
    type: 'histogram',
    labels: ['worker'],
    help: 'One call that tells the queue how pages ended.',
  },
  shoal_lease_seconds: { type: 'histogram', labels: ['worker'], help: 'One call that asks the queue for links.' },
  shoal_lease_age_seconds: {
    type: 'histogram',
    labels: ['worker'],
    help: 'One link, from its lease to its settlement.',
  },
  shoal_slots: { type: 'gauge', labels: ['worker'], help: 'Visits at once that the worker may make.' },
  shoal_slots_busy: { type: 'gauge', labels: ['worker'], help: 'Visits under way.' },
  shoal_slot_seconds_total: {
    type: 'counter',
    labels: ['worker', 'doing'],
    help: 'Time of all slots by what they did or waited for: idle (nothing was due), pace, proxy (a proxy), fetch, handler, store, queue. They add up to slots x time.',
  },
  shoal_event_loop_busy_ratio: {
    type: 'gauge',
    labels: ['worker'],
    help: "Share of one core that the worker's event loop was busy for, 0 to 1.",
  },
  shoal_event_loop_lag_seconds: { type: 'gauge', labels: ['worker'], help: 'How late its timers were, at the worst.' },
  shoal_resident_memory_bytes: { type: 'gauge', labels: ['worker'], help: "Memory of the worker's process." },
  shoal_heap_bytes: { type: 'gauge', labels: ['worker'], help: "The worker's JavaScript heap." },
  shoal_heap_limit_bytes: { type: 'gauge', labels: ['worker'], help: 'What the heap may grow to.' },
  shoal_memory_limit_bytes: { type: 'gauge', labels: ['worker'], help: 'Memory of the machine, or of its container.' },
  shoal_memory_free_bytes: { type: 'gauge', labels: ['worker'], help: 'What is left of it.' },
} as const satisfies Record<string, MetricRow>

export const QUEUE_METRICS = {
  shoal_queue_up: { type: 'gauge', labels: [], help: '1 when the queue answered in time, 0 when it is away.' },
  shoal_crawls: { type: 'gauge', labels: ['state'], help: 'Crawls that the queue knows, by state.' },
  shoal_links: { type: 'gauge', labels: ['crawl', 'spider', 'state'], help: 'Links of a crawl by state.' },
  shoal_crawl_rate: {
    type: 'gauge',
    labels: ['crawl', 'spider'],
    help: 'Links that ended within the last minute, per second.',
  },
  shoal_crawl_eta_seconds: {
    type: 'gauge',
    labels: ['crawl', 'spider'],
    help: 'When the crawl ends, as far as can be told; missing when nothing can.',
  },
  shoal_crawl_stalled_seconds: {
    type: 'gauge',
    labels: ['crawl', 'spider'],
    help: 'For how long work has been due without anything being done; 0: all is well.',
  },
  shoal_crawl_hosts: {
    type: 'gauge',
    labels: ['crawl', 'spider', 'state'],
    help: 'Of the 100 hosts with most work left: open (a request may start now), waiting (for the next slot), blocked (they asked for time, or are closed by hand).',
  },
  shoal_crawl_failed_total: {
    type: 'counter',
    labels: ['crawl', 'spider'],
    help: 'Visits that failed and cost an attempt.',
  },
  shoal_crawl_retried_total: { type: 'counter', labels: ['crawl', 'spider'], help: 'Those that were tried again.' },
  shoal_crawl_throttled_total: {
    type: 'counter',
    labels: ['crawl', 'spider'],
    help: 'Retries that cost no attempt, because the host asked for time.',
  },
  shoal_crawl_reclaimed_total: {
    type: 'counter',
    labels: ['crawl', 'spider'],
    help: 'Leases that ran out and were taken back.',
  },
  shoal_crawl_stale_total: {
    type: 'counter',
    labels: ['crawl', 'spider'],
    help: 'Settlements refused because the lease was lost.',
  },
  shoal_crawl_refused_total: {
    type: 'counter',
    labels: ['crawl', 'spider'],
    help: 'Links refused because the queue or a budget was full.',
  },
  shoal_crawl_bytes_total: { type: 'counter', labels: ['crawl', 'spider'], help: 'Bytes of its pages as received.' },
  shoal_dead_letters: { type: 'gauge', labels: ['crawl', 'spider', 'code'], help: 'Dead letters by error code.' },
  shoal_workers: { type: 'gauge', labels: ['state'], help: 'Workers that the queue knows, by state.' },
  shoal_proxies: {
    type: 'gauge',
    labels: ['pool'],
    help: 'Proxies of the pool that were used within the last week.',
  },
  shoal_proxies_resting: {
    type: 'gauge',
    labels: ['pool'],
    help: 'Those that rest everywhere, because they do not work.',
  },
  shoal_proxy_requests_total: {
    type: 'counter',
    labels: ['pool', 'verdict'],
    help: 'Requests through the pool: good, neutral (says nothing about the proxy), banned (the site refuses it), broken.',
  },
  shoal_proxy_cost_total: {
    type: 'counter',
    labels: ['pool'],
    help: 'What they cost, in the currency of the file of pools.',
  },
  shoal_alerts_active: { type: 'gauge', labels: ['rule'], help: 'Alerts that hold now, by rule.' },
} as const satisfies Record<string, MetricRow>

export const BUILD_METRICS = {
  shoal_build_info: { type: 'gauge', labels: ['version', 'node'], help: 'Always 1: what runs here.' },
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
