import { specFor } from '../coordinator/crawls.js'
import { ShoalError } from '../errors.js'
import type { CrawlSpec, Limits } from '../frontier/frontier.js'
import { check } from '../options.js'
import type { RestRules } from '../proxy/proxy-ledger.js'
import type { SpiderDefinition } from '../spider/definition.js'
import { resolveSpider } from '../spider/resolve.js'
import type { RetryPolicy, Spider } from '../spider/spider.js'
import { type Duration, parseRate, type Rate } from '../units.js'
import { NO_RETRIES } from '../worker/outcome.js'
import { FIGURES } from './figures.js'
import { type CheckedProfile, MOST_URLS, type Prices, profileSchema } from './profile-schema.js'

/** A crawl to be simulated, with every default filled in. Times in milliseconds. */
export interface Profile {
  readonly name: string
  readonly seed: number
  readonly urls: number
  readonly hosts: number
  readonly zipf: number
  /** URLs known when the crawl starts. */
  readonly seeds: number
  readonly links: { readonly newPerPage: number; readonly toNewHosts: number; readonly perPage: number }
  readonly latency: { readonly medianMs: number; readonly p95Ms: number; readonly hostsP95: number }
  readonly failures: {
    readonly serverErrors: number
    readonly timeouts: number
    readonly connections: number
    readonly notFound: number
    readonly hostsDown: number
  }
  /** Null: no host answers 429. */
  readonly rateLimits: {
    readonly hosts: number
    readonly perSecond: number
    readonly retryAfterMs: number | null
  } | null
  readonly robots: { readonly enabled: boolean; readonly hosts: number; readonly delayMs: number }
  readonly page: {
    readonly bytes: number
    readonly records: number
    readonly cpuMs: number
    readonly cpuBusyMs: number
  }
  readonly render: { readonly share: number; readonly ms: number; readonly tabs: number }
  /** The crawl as the queue knows it: limits, budget, order. */
  readonly spec: CrawlSpec
  readonly retries: RetryPolicy
  readonly maxThrottles: number
  /** A host that says nothing has failed after this long. */
  readonly timeoutMs: number
  readonly workers: number
  readonly concurrency: number
  /** Bytes per millisecond; Infinity: no limit. */
  readonly bandwidth: number
  /** Null: requests use no proxy. */
  readonly proxies: {
    readonly count: number
    readonly banned: number
    readonly broken: number
    readonly rest: RestRules
    /** Of one proxy on a host. */
    readonly each: Limits
  } | null
  readonly queue: { readonly engine: 'redis' | 'sqlite' | 'postgres'; readonly callMs: number; readonly cpuMs: number }
  readonly savePages: boolean
  readonly prices: Prices
}

/** Datacenter proxies, as pool-schema.ts has them. */
const REST: RestRules = { strikes: 2, baseMs: 600_000, capMs: 7_200_000 }
const US_PER_MS = 1_000
const AUTO_CONCURRENCY = 64
/** A wake-up of Node and a call to Redis on the same network: `npm run reality` compares. */
const QUEUE_CALL_MS = 2

/** `input`: what a profile file or flags say; `spider`: what a spider file says of its pace, retries, budget and proxies. */
export function profileOf(input: unknown, spider: Spider | null = null, name = spider?.name ?? 'profile'): Profile {
  const given = check(profileSchema, input, 'usage')
  const crawl = spider ?? plainSpider(given)
  const proxyCount = given.proxies?.count ?? (spider !== null && spider.proxies !== null ? 1 : null)
  const proxied: Spider =
    proxyCount === null || crawl.proxies !== null
      ? crawl
      : { ...crawl, proxies: { choose: 'cheapest', ceiling: null, banned: null, needs: [] } }
  const startHosts = spider === null ? 0 : new Set(spider.start.map((url) => new URL(url).host)).size
  const hosts = given.hosts ?? Math.max(1, startHosts)
  const urls = given.urls ?? 100_000
  if (hosts > urls)
    throw new ShoalError('usage', `hosts: ${hosts} hosts need at least as many URLs, but there are ${urls}`, {
      hint: 'Every host has at least one URL: raise urls, or lower hosts.',
    })
  const plain = specFor({ ...proxied, limits: withPace(crawl.limits, given) }, 'simulated', 0, proxyCount ?? 1)
  const spec: CrawlSpec = { ...plain, budget: withBudget(plain, given) }
  const medianMs = given.latency?.median ?? 300
  return {
    name,
    seed: given.seed ?? 1,
    ...{ urls, hosts, zipf: given.zipf ?? (hosts === 1 ? 0 : 1) },
    seeds: seedsOf(given, urls, hosts, spider),
    links: {
      newPerPage: given.links?.newPerPage ?? 10,
      toNewHosts: given.links?.toNewHosts ?? (hosts === 1 ? 0 : 0.1),
      perPage: given.links?.perPage ?? 42,
    },
    latency: { medianMs, p95Ms: given.latency?.p95 ?? medianMs * 4, hostsP95: given.latency?.hostsP95 ?? 3 },
    failures: {
      serverErrors: given.failures?.serverErrors ?? 0.002,
      timeouts: given.failures?.timeouts ?? 0.001,
      connections: given.failures?.connections ?? 0.001,
      notFound: given.failures?.notFound ?? 0.01,
      hostsDown: given.failures?.hostsDown ?? (hosts >= 100 ? 0.01 : 0),
    },
    rateLimits: rateLimitsOf(given),
    robots: {
      enabled: given.robots?.enabled ?? (spider === null || spider.robots !== false),
      hosts: given.robots?.hosts ?? (hosts >= 100 ? 0.02 : 0),
      delayMs: given.robots?.delay ?? 10_000,
    },
    page: {
      bytes: given.page?.bytes ?? 60_000,
      records: given.page?.records ?? 1,
      cpuMs: given.page?.cpu ?? FIGURES.worker.politeUsPerPage / US_PER_MS,
      cpuBusyMs: given.page?.cpuBusy ?? given.page?.cpu ?? busyUs(spider) / US_PER_MS,
    },
    render: {
      share: given.render?.share ?? renderedShare(spider),
      ms: given.render?.time ?? FIGURES.browser.usPerPage / US_PER_MS,
      tabs: given.render?.tabs ?? 4,
    },
    spec,
    retries: retriesOf(crawl, given),
    maxThrottles: crawl.maxThrottles,
    timeoutMs: Math.min(crawl.fetch.totalMs, crawl.fetch.headersMs),
    workers: given.workers ?? 1,
    concurrency: given.concurrency ?? AUTO_CONCURRENCY,
    bandwidth:
      given.bandwidth === undefined || given.bandwidth === 0 ? Number.POSITIVE_INFINITY : given.bandwidth / 1_000,
    proxies:
      proxyCount === null
        ? null
        : {
            count: proxyCount,
            banned: given.proxies?.banned ?? 0,
            broken: given.proxies?.broken ?? 0,
            rest: REST,
            each: withPace(crawl.limits, given),
          },
    queue: {
      engine: given.queue?.engine ?? 'redis',
      callMs: given.queue?.call ?? QUEUE_CALL_MS,
      cpuMs: FIGURES.redis.usPerVisit / US_PER_MS,
    },
    savePages: given.savePages ?? spider?.savePages ?? false,
    prices: given.prices ?? {},
  }
}

/** A spider that says nothing but what the profile does. Links are never refused for want of room: a profile has no `maxPending`. */
function plainSpider(given: CheckedProfile): Spider {
  return resolveSpider(
    {
      name: 'profile',
      start: ['http://profile.invalid/'],
      pace: paceOf(given),
      budget: { pagesPerHost: MOST_URLS },
      maxPending: MOST_URLS,
      routes: { page: { match: '**' } },
    },
    '',
  )
}

function paceOf({ pace = {} }: CheckedProfile, limits?: Limits): NonNullable<SpiderDefinition['pace']> {
  const { delay = limits?.delayMs, concurrency = limits?.concurrency, burst, adaptive, rate } = pace
  return {
    ...(delay !== undefined && { delay: ms(delay) }),
    ...(concurrency !== undefined && { concurrency }),
    ...(rate !== undefined && { rate: rate as Rate }),
    ...(burst !== undefined && { burst }),
    ...(adaptive !== undefined && { adaptive }),
  }
}

function ms(value: number): Duration {
  return value === 0 ? 0 : `${value}ms`
}

/** A pace in the profile replaces that of the spider, part by part; a rate without a delay means the rate. */
function withPace(limits: Limits, given: CheckedProfile): Limits {
  const { pace } = given
  if (pace === undefined) return limits
  const { limits: said } = resolveSpider(
    {
      name: 'profile',
      start: ['http://profile.invalid/'],
      pace: paceOf(given, pace.rate !== undefined && pace.delay === undefined ? { ...limits, delayMs: 0 } : limits),
      routes: { page: { match: '**' } },
    },
    '',
  )
  return pace.rate === undefined && limits.rate !== undefined ? { ...said, rate: limits.rate } : said
}

function withBudget({ budget }: CrawlSpec, given: CheckedProfile): CrawlSpec['budget'] {
  const { pages, pagesPerHost, bytes, time } = given.budget ?? {}
  return {
    ...budget,
    ...(pages !== undefined && { pages }),
    ...(pagesPerHost !== undefined && { pagesPerHost }),
    ...(bytes !== undefined && { bytes }),
    ...(time !== undefined && { ms: time }),
  }
}

/** The most patient route: its links are what the end waits for. */
function retriesOf(spider: Spider, given: CheckedProfile): RetryPolicy {
  const policies = [...spider.routes.values()].map(({ retries }) => retries)
  const patient = policies.reduce((most, one) => (one.max > most.max ? one : most), policies[0] ?? NO_RETRIES)
  return given.retries?.max === undefined ? patient : { ...patient, max: given.retries.max }
}

function seedsOf(given: CheckedProfile, urls: number, hosts: number, spider: Spider | null): number {
  if (given.seeds === 'all') return urls
  if (given.seeds !== undefined) return Math.min(urls, given.seeds)
  const listed = spider !== null && spider.sources.length === 0 && spider.seeds === null && spider.feed === null
  return Math.min(urls, listed ? Math.max(1, spider.start.length) : hosts)
}

function rateLimitsOf({ rateLimits }: CheckedProfile): Profile['rateLimits'] {
  if (rateLimits === undefined) return null
  const { count, perMs } = parseRate(rateLimits.above ?? '2/s')
  return {
    hosts: rateLimits.hosts ?? 0.1,
    perSecond: (count * 1_000) / perMs,
    retryAfterMs: rateLimits.retryAfter ?? null,
  }
}

/** A handler costs more than rules, as it may build the tree of the page. */
function busyUs(spider: Spider | null): number {
  const handles = spider !== null && [...spider.routes.values()].some(({ rules }) => rules.handler)
  return handles ? FIGURES.worker.handlerUsPerPage : FIGURES.worker.rulesUsPerPage
}

/** Nobody knows how many pages each route will have: every route counts the same. */
function renderedShare(spider: Spider | null): number {
  if (spider === null || spider.routes.size === 0) return 0
  const rendered = [...spider.routes.values()].filter(({ render }) => render?.when === 'always').length
  return rendered / spider.routes.size
}
