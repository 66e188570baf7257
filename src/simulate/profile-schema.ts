import { z } from 'zod'
import { atLeastOne, count, duration, options, size } from '../options.js'

/** More than this would not fit into memory, or take days. */
export const MOST_URLS = 10_000_000_000
const MOST_HOSTS = 10_000_000
const MOST_WORKERS = 100_000

const share = z.number().min(0).max(1)
const price = z.number().min(0)

const paceSchema = options(
  {
    delay: duration().optional(),
    concurrency: atLeastOne.max(10_000).optional(),
    rate: z.string().optional(),
    burst: atLeastOne.optional(),
    adaptive: z.boolean().optional(),
  },
  { wait: 'delay', parallel: 'concurrency' },
)

const pricesSchema = options({
  /** Of one worker for an hour: a core and its memory. */
  workerHour: price.optional(),
  /** Of the queue's server and the store's for an hour. */
  queueHour: price.optional(),
  storeHour: price.optional(),
  /** Of what is stored, for a month. */
  gbMonth: price.optional(),
  /** Of what is received from the web, and of what goes through proxies. */
  trafficGb: price.optional(),
  proxyGb: price.optional(),
  proxyMonth: price.optional(),
})

/** A profile as it is written: JSON, every part optional. docs/simulate.md describes each line. */
export const profileSchema = options(
  {
    urls: atLeastOne.max(MOST_URLS).optional(),
    hosts: atLeastOne.max(MOST_HOSTS).optional(),
    /** How uneven: 0 is even, 1 is Zipf's law. */
    zipf: z.number().min(0).max(5).optional(),
    /** URLs known when the crawl starts; `all`: none is found by links. */
    seeds: z.union([z.literal('all'), atLeastOne]).optional(),
    links: options({
      /** Links of a page that were not known before, while there are any. */
      newPerPage: z.number().min(0).max(100_000).optional(),
      /** Of these, the share that leads to a host that was not known before, while there are any. */
      toNewHosts: share.optional(),
      /** All links of a page, known or not: what the queue has to look up. */
      perPage: z.number().min(0).max(100_000).optional(),
    }).optional(),
    latency: options(
      {
        median: duration().optional(),
        p95: duration().optional(),
        /** Between hosts: the median of one host in twenty is this many times that of the others. */
        hostsP95: z.number().min(1).max(1_000).optional(),
      },
      { mean: 'median', p50: 'median' },
    ).optional(),
    failures: options({
      serverErrors: share.optional(),
      timeouts: share.optional(),
      connections: share.optional(),
      /** 4xx: a dead letter at once. */
      notFound: share.optional(),
      /** Hosts that never answer. */
      hostsDown: share.optional(),
    }).optional(),
    rateLimits: options({
      /** Of the hosts. */
      hosts: share.optional(),
      above: z.string().optional(),
      /** Null: it does not say how long to wait. */
      retryAfter: z.union([z.null(), duration()]).optional(),
    }).optional(),
    robots: options({
      enabled: z.boolean().optional(),
      /** Of the hosts: those with a Crawl-delay. */
      hosts: share.optional(),
      delay: duration().optional(),
    }).optional(),
    page: options({
      bytes: size.optional(),
      records: z.number().min(0).max(100_000).optional(),
      /** CPU of a worker for a page; `busy`: while others wait, as calls are then shared. */
      cpu: duration().optional(),
      cpuBusy: duration().optional(),
    }).optional(),
    render: options({
      share: share.optional(),
      time: duration().optional(),
      tabs: atLeastOne.max(100).optional(),
    }).optional(),
    pace: paceSchema.optional(),
    retries: options({ max: count.max(1_000).optional() }).optional(),
    budget: options({
      pages: atLeastOne.optional(),
      pagesPerHost: atLeastOne.optional(),
      bytes: size.optional(),
      time: duration({ max: Number.MAX_SAFE_INTEGER }).optional(),
    }).optional(),
    workers: atLeastOne.max(MOST_WORKERS).optional(),
    concurrency: atLeastOne.max(10_000).optional(),
    /** Of one worker, in bytes per second; 0: no limit. */
    bandwidth: size.optional(),
    proxies: options({
      count: atLeastOne.max(100_000).optional(),
      /** Of the requests: the site refuses the proxy. */
      banned: share.optional(),
      /** Of the proxies: they do not work. */
      broken: share.optional(),
    }).optional(),
    queue: options({
      engine: z.enum(['redis', 'sqlite', 'postgres']).optional(),
      /** From a free slot to the next request: the call to the queue and the timers of the worker. */
      call: duration().optional(),
    }).optional(),
    savePages: z.boolean().optional(),
    prices: pricesSchema.optional(),
    seed: z.int().min(0).max(4_294_967_295).optional(),
  },
  { sites: 'hosts', domains: 'hosts', pages: 'urls', processes: 'workers', delay: 'pace', limits: 'rateLimits' },
)

export type ProfileInput = z.input<typeof profileSchema>
export type CheckedProfile = z.output<typeof profileSchema>
export type Prices = z.output<typeof pricesSchema>
