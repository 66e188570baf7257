import type { CrawlState, HostInfo } from '../../frontier/frontier.js'
import { ALERT_RULES } from '../alerts/alert.js'
import type { WorkerState } from '../snapshots/health.js'
import { familiesOf, QUEUE_METRICS, type QueueMetric } from './metric-names.js'
import type { Family, Labels, Point } from './prometheus.js'
import type { CrawlReading, QueueReading } from './read-queue.js'

const CRAWL_STATES: readonly CrawlState[] = ['running', 'paused', 'finished', 'cancelled']
const LINK_STATES = ['queued', 'delayed', 'leased', 'done', 'dead', 'skipped'] as const
const WORKER_STATES: readonly WorkerState[] = ['working', 'idle', 'draining', 'missing']
const HOST_STATES = ['open', 'waiting', 'blocked'] as const
const VERDICTS = ['good', 'neutral', 'banned', 'broken'] as const

/** Null: the queue is down. */
export function queueMetrics(reading: QueueReading | null): Family[] {
  if (reading === null) return familiesOf<QueueMetric>(QUEUE_METRICS, { ...NO_POINTS, shoal_queue_up: single(0) })
  const { crawl: crawls, pools, alerts, now } = reading
  const each = (value: (crawl: CrawlReading) => number | null): Point[] =>
    crawls.flatMap((crawl) => {
      const known = value(crawl)
      return known === null ? [] : [{ labels: labelsOf(crawl), value: known }]
    })
  const several = (values: (crawl: CrawlReading) => readonly (readonly [Labels, number])[]): Point[] =>
    crawls.flatMap((crawl) =>
      values(crawl).map(([labels, value]) => ({ labels: { ...labelsOf(crawl), ...labels }, value })),
    )
  return familiesOf<QueueMetric>(QUEUE_METRICS, {
    shoal_queue_up: single(1),
    shoal_crawls: byState(CRAWL_STATES, reading.crawls),
    shoal_links: several(({ stats }) => LINK_STATES.map((state) => [{ state }, stats[state]])),
    shoal_crawl_rate: each(({ stats }) => stats.rate),
    shoal_crawl_eta_seconds: each(({ etaSeconds }) => etaSeconds),
    shoal_crawl_stalled_seconds: each(({ stats, stalledMs }) => (stats.state === 'running' ? stalledMs / 1000 : null)),
    shoal_crawl_hosts: several(({ stats, hosts }) =>
      stats.state === 'running' ? HOST_STATES.map((state) => [{ state }, hostsIn(hosts, state, now)]) : [],
    ),
    shoal_crawl_failed_total: each(({ stats }) => stats.failed),
    shoal_crawl_retried_total: each(({ stats }) => stats.retried),
    shoal_crawl_throttled_total: each(({ stats }) => stats.throttled),
    shoal_crawl_reclaimed_total: each(({ stats }) => stats.reclaimed),
    shoal_crawl_stale_total: each(({ stats }) => stats.stale),
    shoal_crawl_refused_total: each(({ stats }) => stats.refused),
    shoal_crawl_filtered_links_total: several(({ stats }) =>
      stats.filtered.map(({ reason, count }) => [{ reason }, count]),
    ),
    shoal_crawl_counts_total: several(({ stats }) => stats.counts.map(({ name, count }) => [{ name }, count])),
    shoal_crawl_bytes_total: each(({ stats }) => stats.bytes),
    shoal_dead_letters: several(({ dead }) => dead.map(({ code, count }) => [{ code }, count])),
    shoal_workers: byState(WORKER_STATES, reading.workers),
    shoal_workers_useful: [...reading.useful].map(([spider, value]) => ({ labels: { spider }, value })),
    shoal_proxies: pools.map(({ pool, proxies }) => ({ labels: { pool }, value: proxies.length })),
    shoal_proxies_resting: pools.map(({ pool, proxies }) => ({
      labels: { pool },
      value: proxies.filter(({ restsUntil }) => restsUntil !== null && restsUntil > now).length,
    })),
    shoal_proxy_requests_total: pools.flatMap(({ pool, proxies }) =>
      VERDICTS.map((verdict) => ({ labels: { pool, verdict }, value: sum(proxies.map((proxy) => proxy[verdict])) })),
    ),
    shoal_proxy_cost_total: pools.map(({ pool, proxies }) => ({
      labels: { pool },
      value: sum(proxies.map(({ cost }) => cost)),
    })),
    shoal_alerts_active: (alerts === null ? [] : ALERT_RULES).map((rule) => ({
      labels: { rule },
      value: alerts?.filter((alert) => alert.rule === rule).length ?? 0,
    })),
  })
}

const NO_POINTS = Object.fromEntries(Object.keys(QUEUE_METRICS).map((name) => [name, []])) as unknown as Record<
  QueueMetric,
  Point[]
>

function labelsOf({ stats }: CrawlReading): Labels {
  return { crawl: stats.id, spider: stats.spider }
}

function single(value: number): Point[] {
  return [{ labels: {}, value }]
}

function byState<State extends string>(
  states: readonly State[],
  counts: Readonly<Partial<Record<State, number>>>,
): Point[] {
  return states.map((state) => ({ labels: { state }, value: counts[state] ?? 0 }))
}

function hostsIn(hosts: readonly HostInfo[], wanted: (typeof HOST_STATES)[number], now: number): number {
  return hosts.filter((host) => host.pending > 0 && hostState(host, now) === wanted).length
}

function hostState(
  { blockedUntil, set, nextAt, inFlight, concurrency }: HostInfo,
  now: number,
): (typeof HOST_STATES)[number] {
  if (set?.blocked === true || (blockedUntil ?? 0) > now) return 'blocked'
  return nextAt > now || inFlight >= concurrency ? 'waiting' : 'open'
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
