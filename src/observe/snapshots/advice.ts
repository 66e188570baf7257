import type { Estimate } from '../../coordinator/eta.js'
import type { CrawlStats, HostInfo } from '../../frontier/frontier.js'
import { percent, span } from '../in-words.js'
import {
  type AdvisedWorker,
  type FleetLoad,
  LITTLE,
  LOOP_FULL,
  loadOf,
  type MachineLoad,
  SLOW_CALL_MS,
} from './fleet-load.js'
import { type HostRoom, roomOf } from './host-room.js'
import {
  type MissingWorker,
  missingText,
  NO_WAITS,
  type UnreachableHost,
  unreachableText,
  type Waits,
} from './waits.js'

/** The current bottleneck, and what would help. */
export interface Advice {
  readonly stage: Stage
  /** One line for people: what it is, with the figure that shows it. */
  readonly sentence: string
  /** What to do about it, one line; '' if there is nothing to do. */
  readonly next: string
  /** How many more workers like the current ones would still speed it up; 0: none. */
  readonly moreWorkers: number
  /** If a single host is the limit. */
  readonly host: string | null
}

/**
 * `workers`: every slot is busy, and hosts, proxies, store and queue have room, so more workers help. `host_pace`: the pace of hosts is the limit. `hosts`: they respond
 * slowly. `none`: there is no bottleneck, or nothing is running.
 */
export type Stage =
  | 'host_pace'
  | 'hosts'
  | 'proxies'
  | 'queue'
  | 'store'
  | 'handler'
  | 'cpu'
  | 'memory'
  | 'workers'
  | 'none'

export interface AdviceInput {
  readonly stats: CrawlStats
  /** The busiest hosts, busiest first. */
  readonly hosts: readonly HostInfo[]
  /** Workers that are alive. */
  readonly workers: readonly AdvisedWorker[]
  readonly estimate: Estimate | null
  readonly waits?: Waits
  readonly now: number
}

/** Above this the garbage collector takes more and more time, and then the process crashes. */
const MEMORY_FULL = 0.9
/** Slots that are busy for this share of the time are as good as full. */
const SLOTS_FULL = 0.75
/** Slots that wait for our own backends, or for a proxy, for this share of their time. */
const HELD_UP = 0.4
/** A core that is idle for this share of the time is free for another worker. */
const IDLE_CORE = 0.5
/** A share that takes most of the time. */
const MOST = 0.5
/** For every bottleneck that more workers cannot remove. */
const WONT_HELP = "adding workers won't help"

interface Facts extends AdviceInput {
  readonly load: FleetLoad
  readonly room: HostRoom
}

/** In this order: what crashes processes first, then what distorts the other figures, hosts last. */
const JUDGES: readonly ((facts: Facts) => Advice | null)[] = [ofMemory, ofCpu, ofWaits, ofSlots, ofLeases, ofHosts]

export function adviceOf(input: AdviceInput): Advice {
  const { stats, hosts, now } = input
  const waiting = ofWaitsFor(input)
  if (waiting !== null) return waiting
  const quiet = quietText(stats)
  if (quiet !== null) return say('none', quiet)
  const workers = input.workers.filter(
    // A worker that does not report its spiders may have this one.
    ({ about }) => about?.spiders === undefined || stats.spider in about.spiders,
  )
  const load = loadOf(workers)
  const room = roomOf(hosts, { now, visitMs: load.visitMs, queued: stats.queued })
  if (workers.length === 0)
    return say(
      'workers',
      'no worker is running for it',
      'start one: shoal worker <spider file>, or run the spider again',
      {
        moreWorkers: 1,
      },
    )
  const facts = { ...input, load, room }
  for (const judge of JUDGES) {
    const advice = judge(facts)
    if (advice !== null) return advice
  }
  return say('none', `no bottleneck: ${perSecond(stats.rate)}`)
}

/** What the crawl as a whole waits for comes before what it could do better. */
function ofWaitsFor({ stats, hosts, waits = NO_WAITS, now }: AdviceInput): Advice | null {
  if (stats.state !== 'running') return null
  const pending = hosts.reduce((all, host) => all + host.pending, 0)
  const pendingOf = (names: readonly string[]) =>
    hosts.reduce((all, { host, pending: own }) => (names.includes(host) ? all + own : all), 0)
  const missing = most(waits.missing, ({ links }) => links)
  const blocked = pendingOf(waits.missing.flatMap((worker) => worker.hosts))
  const held = waits.missing.reduce((all, { links }) => all + links, 0)
  if (missing !== null && (pending === 0 ? held >= stats.leased * MOST : blocked >= pending * MOST))
    return ofMissing(missing, waits.missing.length, now)
  const unreachable = most(waits.unreachable, ({ links }) => links)
  if (unreachable !== null && pendingOf(waits.unreachable.map(({ host }) => host)) >= pending * MOST)
    return ofUnreachable(unreachable, waits.unreachable.length, now)
  return null
}

function ofMissing(worker: MissingWorker, workers: number, now: number): Advice {
  const others = workers > 1 ? `; ${workers} workers are missing` : ''
  return say('workers', `${missingText(worker, now)}${others}`, 'check its machine; other workers take over its links')
}

function ofUnreachable(host: UnreachableHost, hosts: number, now: number): Advice {
  const others = hosts > 1 ? `; ${hosts} hosts cannot be reached` : ''
  return say(
    'hosts',
    `${unreachableText(host, now)}${others}`,
    `check in a browser whether the site is up; ${WONT_HELP}`,
    {
      host: host.host,
    },
  )
}

function most<Item>(items: readonly Item[], of: (item: Item) => number): Item | null {
  return items.reduce<Item | null>((best, item) => (best === null || of(item) > of(best) ? item : best), null)
}

function quietText(stats: CrawlStats): string | null {
  if (stats.state !== 'running') return `the crawl is ${stats.state}`
  if (stats.queued > 0) return null
  if (stats.leased > 0)
    return `the queue is empty: the last ${stats.leased === 1 ? 'link is' : `${stats.leased} links are`} in flight`
  if (stats.delayed > 0) return `only links waiting for a retry are left: ${stats.delayed}`
  return stats.seeding ? 'waiting for start URLs' : 'nothing left to do'
}

function ofMemory({ load }: Facts): Advice | null {
  const { memory } = load
  if (memory === null || memory.used < MEMORY_FULL) return null
  const { worker, what, used, limitBytes } = memory
  return what === 'heap'
    ? say(
        'memory',
        `memory: the heap of worker ${worker} is ${percent(used)} full (limit ${megabytes(limitBytes)})`,
        'raise the limit with NODE_OPTIONS=--max-old-space-size=<MB>, or lower --concurrency',
      )
    : say(
        'memory',
        `memory: the machine of worker ${worker} uses ${percent(used)} of its ${megabytes(limitBytes)}`,
        'run fewer workers there, or move some to another machine',
      )
}

/** Pages wait for the event loop of their worker: it is full, or the workers themselves have found that it is what they wait for. */
export function isCpuBound({
  reporting,
  loopBusy,
  because,
}: Pick<FleetLoad, 'reporting' | 'loopBusy' | 'because'>): boolean {
  return reporting > 0 && (loopBusy >= LOOP_FULL || (because === 'cpu' && loopBusy >= MOST))
}

function ofCpu(facts: Facts): Advice | null {
  const { load } = facts
  if (!isCpuBound(load)) return null
  const more = moreByRate(facts)
  const next = more === 0 ? WONT_HELP : moreCpuText(more, load)
  const handler = load.share('handler')
  // Handlers that only compute run one after the other, so their share of the time is a share of the core.
  if (handler >= load.loopBusy * MOST)
    return say(
      'handler',
      `the handler: its code uses ${percent(Math.min(1, handler))} of a core, ${ms(load.meanMs('handler'))} per page`,
      `make it cheaper (field and follow rules cost less than parsing a whole tree); ${next}`,
      { moreWorkers: more },
    )
  return say('cpu', `CPU: the workers' event loop is busy ${percent(load.loopBusy)} of the time`, next, {
    moreWorkers: more,
  })
}

/** Another worker helps only with a core of its own. */
function moreCpuText(more: number, { machines }: FleetLoad): string {
  const idle = (one: MachineLoad) => one.cores - one.busyCores
  const freest = most(machines, idle)
  if (freest === null) return `${moreText(more)} on free cores or other machines would help`
  const { machine, cores, busyCores } = freest
  const used = `workers use ${busyCores.toFixed(1)} of the ${cores === 1 ? '1 core' : `${cores} cores`} of ${machine}`
  return idle(freest) >= IDLE_CORE
    ? `${moreText(more)} would help: ${used}`
    : `${moreText(more)} on other machines would help: ${used}`
}

/** Slots that could work but have to wait: for pages to be written, for links, for a proxy. */
function ofWaits({ load }: Facts): Advice | null {
  const { store, queue, proxy, pace, fetch, handler } = load.part
  const worst = Math.max(store, queue, proxy)
  // With few links available most slots are idle: what the others wait for counts, and pace comes first.
  if (proxy === worst && proxy > 0 && (proxy >= HELD_UP || proxy >= (proxy + pace + fetch + handler) * MOST))
    return say(
      'proxies',
      `proxies: slots wait for a free one ${percent(proxy)} of the time`,
      'add proxies to the pool, or allow more requests through each; see which are resting with: shoal proxies',
    )
  if (worst < HELD_UP) return null
  if (store === worst)
    return say(
      'store',
      `the store: slots wait for it ${percent(store)} of the time, a batch takes ${ms(load.meanMs('store'))}`,
      'check its server and disk (shoal doctor); more workers would make it worse',
    )
  return say(
    'queue',
    `the queue: slots wait for it ${percent(queue)} of the time, a lease takes ${ms(load.meanMs('lease'))}`,
    'check its server and the network (shoal doctor); more workers would make it worse',
  )
}

function ofSlots(facts: Facts): Advice | null {
  const { load, room, stats } = facts
  const busy = load.busy ?? (load.slots === null ? 0 : stats.leased / Math.max(1, load.slots))
  if (busy < SLOTS_FULL) return null
  // They are still finding out how many slots they can use, or would have more if there were more to do.
  if (load.because === 'growing' || load.because === 'work') return null
  const { handler, pace } = load.part
  if (handler >= MOST)
    return say(
      'handler',
      `the handler: visits spend ${percent(handler)} of their time in it, ${ms(load.meanMs('handler'))} per page, mostly waiting`,
      'make it wait less, or raise --concurrency',
      { moreWorkers: moreBySlots(facts) },
    )
  const more = moreBySlots(facts)
  if (more === 0 || pace >= MOST) return null
  return say(
    'workers',
    `workers: ${percent(busy)} of their ${load.slots ?? 'many'} slots are busy, and hosts could fill ${Math.floor(room.usefulSlots)}`,
    `start ${moreText(more)}, or raise --concurrency while there is CPU left`,
    { moreWorkers: more },
  )
}

/** Slots are free but no links arrive, because the lease call takes long. */
function ofLeases({ load }: Facts): Advice | null {
  const took = load.meanMs('lease')
  const settle = load.meanMs('settle') ?? 0
  if (took === null || took < SLOW_CALL_MS || took + settle < (load.meanMs('fetch') ?? 0)) return null
  if (load.share('lease') < MOST) return null
  return say(
    'queue',
    `the queue: a lease takes ${ms(took)}, and a worker waits for one ${percent(Math.min(1, load.share('lease')))} of its time`,
    `check its server and the network (shoal doctor); ${WONT_HELP}`,
  )
}

function ofHosts({ load, room, stats, estimate, workers, now }: Facts): Advice | null {
  const { host, hold } = room
  if (host === null) return null
  const one = room.hosts === 1 || host.pending >= room.pending * MOST
  const name = one ? host.host : null
  const until = `${span((host.blockedUntil ?? now) - now)}`
  const last = estimate?.decidedBy?.kind === 'host' && !one ? `; ${estimate.decidedBy.host} will take longest` : ''
  const many = `${room.hosts} hosts with links allow ${perSecond(room.startsPerSecond)} in total, current rate ${perSecond(stats.rate)}${last}`
  switch (hold) {
    case 'resting':
      if (!workers.some(({ about }) => (about?.pools?.length ?? 0) > 0))
        return say('hosts', `${host.host} is blocked for another ${until}: its robots.txt cannot be reached`, '', {
          host: host.host,
        })
      return say(
        'proxies',
        one
          ? `proxies: all proxies for ${host.host} are resting, for another ${until}`
          : `proxies: all proxies are resting for hosts with ${percent(room.share)} of the waiting links`,
        'add proxies to the pool; see why they are resting with: shoal proxies',
        { host: name },
      )
    case 'closed':
      return say(
        'host_pace',
        `${host.host} was blocked manually`,
        `unblock it with: shoal hosts set ${host.host} --unblock`,
        { host: host.host },
      )
    case 'asked':
      return say(
        'host_pace',
        one ? `${host.host} is rate limiting us: next request in ${until}` : `hosts are rate limiting us: ${many}`,
        `a longer crawl delay from the start avoids this; ${WONT_HELP}`,
        { host: name },
      )
    case 'delay':
    case 'rate':
      // The limit per proxy times the number of proxies: the queue knows only the product.
      if (hold === 'rate' && goesThroughProxies(load, workers))
        return say(
          'proxies',
          `proxies: together they allow ${perSecond(room.startsPerSecond)} to ${one ? host.host : `${room.hosts} hosts`}, current rate ${perSecond(stats.rate)}`,
          `each proxy keeps the pace of the spider: more proxies in the pool would help; ${WONT_HELP}`,
          { host: name },
        )
      return say(
        'host_pace',
        one
          ? `the pace of ${host.host}: ${paceOf(host)}, current rate ${perSecond(stats.rate)}`
          : `the pace of hosts: ${many}`,
        paceNext(host, one),
        { host: name },
      )
    case 'slow':
      return say(
        'hosts',
        one
          ? `${host.host} responds slowly: ${ms(host.latencyMs)} per page, ${host.concurrency} at once${slowedText(host)}`
          : `hosts respond slowly: ${many}`,
        one && host.slowedFromMs !== null
          ? `requests are further apart until it responds faster or without errors; ${WONT_HELP}`
          : `${WONT_HELP}; more requests at once would, if the site can take it: shoal hosts set ${name ?? '<host>'} --concurrency <n>`,
        { host: name },
      )
    case 'none':
      return null
  }
}

/** Workers that use proxies always spend some time on getting one. */
function goesThroughProxies({ part }: FleetLoad, workers: readonly AdvisedWorker[]): boolean {
  return part.proxy > 0 && workers.some(({ about }) => (about?.pools?.length ?? 0) > 0)
}

function paceOf({ delayMs, ratePerSecond }: HostInfo): string {
  return ratePerSecond !== null && ratePerSecond * delayMs < 1000
    ? `${perSecond(ratePerSecond)}, the rate limit`
    : `one request every ${span(delayMs)}`
}

function paceNext({ host, set, delayMs }: HostInfo, one: boolean): string {
  if (set?.floorMs !== undefined && set.floorMs !== null && set.floorMs >= delayMs)
    return `robots.txt asks for this delay: ${WONT_HELP}`
  const which = one ? host : '<host>'
  return `${WONT_HELP}; if the site's owner agrees: shoal hosts set ${which} --delay <shorter>`
}

function slowedText({ slowedFromMs, delayMs }: HostInfo): string {
  return slowedFromMs === null ? '' : `; its delay was raised from ${span(slowedFromMs)} to ${span(delayMs)}`
}

/** Additional slots that hosts could keep busy ÷ slots per worker. */
function moreBySlots({ load, room, stats }: Facts): number {
  if (load.slots === null || load.slots === 0) return 0
  const useful = Math.min(room.usefulSlots, stats.queued + stats.leased)
  if (useful < load.slots * LITTLE) return 0
  return Math.ceil((useful - load.slots) / (load.slots / load.workers))
}

/** If the CPU is the limit, another worker adds what one does now: additional requests per second that hosts allow ÷ rate per worker. */
function moreByRate({ load, room, stats }: Facts): number {
  const own = stats.rate / load.workers
  if (own <= 0 || room.startsPerSecond < stats.rate * LITTLE) return 0
  const bySlots = (stats.queued + stats.leased) / Math.max(1, (load.slots ?? load.workers) / load.workers)
  return Math.ceil(Math.min((room.startsPerSecond - stats.rate) / own, bySlots))
}

function moreText(workers: number): string {
  return workers === 1 ? 'one more worker' : `up to ${workers} more workers`
}

function say(
  stage: Stage,
  sentence: string,
  next = '',
  { moreWorkers = 0, host = null }: { moreWorkers?: number; host?: string | null } = {},
): Advice {
  return { stage, sentence, next, moreWorkers, host }
}

function perSecond(rate: number): string {
  if (rate >= 10 || rate === 0) return `${Math.round(rate)}/s`
  return rate >= 1 ? `${rate.toFixed(1)}/s` : `${(rate * 60).toFixed(1)}/min`
}

function ms(value: number | null): string {
  return value === null ? 'an unknown time' : span(value)
}

function megabytes(value: number): string {
  return value >= 1e9 ? `${(value / 1e9).toFixed(1)} GB` : `${Math.round(value / 1e6)} MB`
}
