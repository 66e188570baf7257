import { FIGURES } from '../../src/simulate/figures.js'
import type { ProfileInput } from '../../src/simulate/profile-schema.js'

/** A crawl that is both run and simulated. `short` has fewer pages, for trying: the same limits, a fraction of the time. */
export interface RealityCase {
  readonly name: string
  /** What limits it. */
  readonly title: string
  readonly profile: ProfileInput
  readonly short: ProfileInput
  /** CPU of the handler of every page, in addition to what the worker does for it. */
  readonly handlerMs?: number
}

/** A web without surprises: every profile says what it has instead. Pages are small, because the site shares the machine with the workers. */
const CALM: ProfileInput = {
  seeds: 'all',
  zipf: 0,
  failures: { serverErrors: 0, timeouts: 0, connections: 0, notFound: 0, hostsDown: 0 },
  robots: { enabled: false },
  page: { bytes: '2kb', records: 0 },
}

export const CASES: readonly RealityCase[] = [
  {
    name: 'pace',
    title: '1,000 hosts with the same number of pages: the pace of the hosts',
    profile: {
      ...CALM,
      ...{ urls: 100_000, hosts: 1_000, workers: 4, pace: { delay: '2s', concurrency: 1 } },
      latency: { median: '100ms', p95: '300ms', hostsP95: 2 },
    },
    short: { urls: 6_000, hosts: 200 },
  },
  {
    name: 'tail',
    title: 'a few large hosts and many small ones, failures and retries: the largest hosts',
    profile: {
      ...CALM,
      ...{ urls: 12_000, hosts: 500, zipf: 0.8, workers: 3, pace: { delay: '200ms', concurrency: 2 } },
      latency: { median: '150ms', p95: '600ms', hostsP95: 3 },
      failures: { serverErrors: 0.05, timeouts: 0, connections: 0, notFound: 0.02, hostsDown: 0 },
    },
    short: { urls: 2_000, hosts: 100 },
  },
  {
    name: 'slots',
    title: 'hosts that allow more than the workers can take: their slots',
    profile: {
      ...CALM,
      ...{ urls: 60_000, hosts: 400, workers: 4, concurrency: 32, pace: { delay: 0, concurrency: 4 } },
      latency: { median: '400ms', p95: '900ms', hostsP95: 1.5 },
    },
    short: { urls: 6_000 },
  },
  {
    name: 'cpu',
    title: 'a handler that computes: the CPU of two workers',
    profile: {
      ...CALM,
      ...{ urls: 12_000, hosts: 100, workers: 2, pace: { delay: 0, concurrency: 4 } },
      latency: { median: '30ms', p95: '60ms', hostsP95: 1 },
    },
    short: { urls: 2_000 },
    handlerMs: 20,
  },
  {
    name: 'throttled',
    title: 'half of the hosts answer 429 with Retry-After above one request per second',
    profile: {
      ...CALM,
      ...{ urls: 10_000, hosts: 200, workers: 2, pace: { delay: '500ms', concurrency: 1 } },
      latency: { median: '80ms', p95: '200ms', hostsP95: 1.5 },
      rateLimits: { hosts: 0.5, above: '1/s', retryAfter: '3s' },
    },
    short: { urls: 2_000, hosts: 100 },
  },
  {
    name: 'proxies',
    title: 'five hosts through 20 proxies, each with a request every four seconds for a host: the proxies',
    profile: {
      ...CALM,
      ...{ urls: 5_000, hosts: 5, workers: 2, pace: { delay: '4s', concurrency: 1 }, proxies: { count: 20 } },
      latency: { median: '150ms', p95: '400ms', hostsP95: 1 },
    },
    short: { urls: 1_000 },
  },
  {
    name: 'links',
    title: 'all pages but the first of each host are found by links',
    profile: {
      ...CALM,
      ...{ seeds: 300, urls: 30_000, hosts: 300, workers: 3, pace: { delay: '1s', concurrency: 1 } },
      links: { newPerPage: 3, toNewHosts: 0, perPage: 12 },
      latency: { median: '100ms', p95: '300ms', hostsP95: 2 },
    },
    short: { urls: 4_000, hosts: 100, seeds: 100 },
  },
]

/** For the site and the workers. */
export function realInput({ profile, short }: RealityCase, isShort: boolean): ProfileInput {
  return isShort ? { ...profile, ...short } : profile
}

const US_PER_MS = 1_000

/** For the simulator: the same, and what the handler costs, which a user measures on a few pages. */
export function simulatedInput(one: RealityCase, isShort: boolean): ProfileInput {
  const input = realInput(one, isShort)
  if (one.handlerMs === undefined) return input
  return { ...input, page: { ...input.page, cpu: `${one.handlerMs + FIGURES.worker.rulesUsPerPage / US_PER_MS}ms` } }
}
