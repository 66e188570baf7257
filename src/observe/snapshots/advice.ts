import type { Estimate } from '../../coordinator/eta.js'
import type { CrawlStats, HostInfo } from '../../frontier/frontier.js'
import { percent, span } from '../in-words.js'
import { type AdvisedWorker, type FleetLoad, loadOf } from './fleet-load.js'
import { type HostRoom, roomOf } from './host-room.js'

/** The slowest stage now, and what would help. */
export interface Advice {
  readonly stage: Stage
  /** For a person, one line: what it is, with the figure that says so. */
  readonly sentence: string
  /** What to do about it, one line; '' when there is nothing to do. */
  readonly next: string
  /** Further workers like those there are that would still make it faster; 0: none. */
  readonly moreWorkers: number
  /** Where one host decides. */
  readonly host: string | null
}

/**
 * `workers`: every slot is busy, and hosts, proxies, store and queue have room: more of them help. `host_pace`: the pace of hosts decides. `hosts`: their answers are
 * slow. `none`: nothing holds it up, or nothing runs.
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
  /** Those with most work left, most first. */
  readonly hosts: readonly HostInfo[]
  /** Those alive. */
  readonly workers: readonly AdvisedWorker[]
  readonly estimate: Estimate | null
  readonly now: number
}

/** From here on the garbage collector takes more and more of the time, and then the process ends. */
const MEMORY_FULL = 0.9
/** An event loop that is busy for this much of its time has no room: answers and timers wait for it. */
const LOOP_FULL = 0.85
/** Slots that are busy for this much of the time are all that is to be had. */
const SLOTS_FULL = 0.75
/** A queue that answers faster than this holds nobody up, however often it is asked. */
const SLOW_CALL_MS = 50
/** Slots that wait for our own backends, or for a proxy, for this much of their time. */
const HELD_UP = 0.4
/** A share that is what most of the time goes into. */
const MOST = 0.5
/** Room that is not worth a worker. */
const LITTLE = 1.1

interface Facts extends AdviceInput {
  readonly load: FleetLoad
  readonly room: HostRoom
}

/** In this order: what ends processes first, then what makes the other figures look bad, the hosts last. */
const JUDGES: readonly ((facts: Facts) => Advice | null)[] = [ofMemory, ofCpu, ofWaits, ofSlots, ofLeases, ofHosts]

export function adviceOf(input: AdviceInput): Advice {
  const { stats, hosts, now } = input
  const quiet = quietText(stats)
  if (quiet !== null) return say('none', quiet)
  const workers = input.workers.filter(
    // One that does not say what it has may have the spider.
    ({ about }) => about?.spiders === undefined || stats.spider in about.spiders,
  )
  const load = loadOf(workers)
  const room = roomOf(hosts, { now, visitMs: load.visitMs, queued: stats.queued })
  if (workers.length === 0)
    return say(
      'workers',
      'no worker is at work on it',
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
  return say('none', `nothing holds it up: ${perSecond(stats.rate)} are done`)
}

function quietText(stats: CrawlStats): string | null {
  if (stats.state !== 'running') return `the crawl is ${stats.state}`
  if (stats.queued > 0) return null
  if (stats.leased > 0) return `nothing waits: the last ${stats.leased} links are in hand`
  if (stats.delayed > 0) return `only links that wait for another try are left: ${stats.delayed}`
  return stats.seeding ? 'it waits for start URLs' : 'nothing is left to do'
}

function ofMemory({ load }: Facts): Advice | null {
  const { memory } = load
  if (memory === null || memory.used < MEMORY_FULL) return null
  const { worker, what, used, limitBytes } = memory
  return what === 'heap'
    ? say(
        'memory',
        `memory: the heap of the worker ${worker} is ${percent(used)} full, of ${megabytes(limitBytes)}`,
        'give it more with NODE_OPTIONS=--max-old-space-size=<MB>, or fewer visits at once with --concurrency',
      )
    : say(
        'memory',
        `memory: ${percent(used)} of the ${megabytes(limitBytes)} of the machine of the worker ${worker} is in use`,
        'run fewer workers there, or others on a machine of their own',
      )
}

function ofCpu(facts: Facts): Advice | null {
  const { load } = facts
  if (load.told === 0 || load.loopBusy < LOOP_FULL) return null
  const more = moreByRate(facts)
  const next = `${moreText(more)} on free cores or other machines${more === 0 ? '' : ' would help'}`
  const handler = load.share('handler')
  // Handlers run one after the other where they only compute: their share of the time is a share of the core.
  if (handler >= load.loopBusy * MOST)
    return say(
      'handler',
      `the handler: its code takes ${percent(Math.min(1, handler))} of a core, ${ms(load.meanMs('handler'))} for a page`,
      `make it cheaper (fields and follow rules cost less than a whole tree); ${next}`,
      { moreWorkers: more },
    )
  return say(
    'cpu',
    `the processor: the event loop of the workers is busy ${percent(load.loopBusy)} of the time`,
    next,
    { moreWorkers: more },
  )
}

/** Slots that could work and must wait: for pages to be written, for links, for a way out. */
function ofWaits({ load }: Facts): Advice | null {
  const { store, queue, proxy, pace, fetch, handler } = load.part
  const worst = Math.max(store, queue, proxy)
  // Where few links are to be had most slots are idle: what the others wait for counts, and pace holds them up first.
  if (proxy === worst && proxy > 0 && (proxy >= HELD_UP || proxy >= (proxy + pace + fetch + handler) * MOST))
    return say(
      'proxies',
      `the proxies: slots wait for a free one ${percent(proxy)} of the time`,
      'add proxies to the pool, or let each do more; see which rest with: shoal proxies',
    )
  if (worst < HELD_UP) return null
  if (store === worst)
    return say(
      'store',
      `the store: slots wait for it ${percent(store)} of the time, a batch takes ${ms(load.meanMs('store'))}`,
      'look at its server and disk (shoal doctor); more workers would make it worse',
    )
  return say(
    'queue',
    `the queue: slots wait for it ${percent(queue)} of the time, a lease takes ${ms(load.meanMs('lease'))}`,
    'look at its server and the way to it (shoal doctor); more workers would make it worse',
  )
}

function ofSlots(facts: Facts): Advice | null {
  const { load, room, stats } = facts
  const busy = load.busy ?? (load.slots === null ? 0 : stats.leased / Math.max(1, load.slots))
  if (busy < SLOTS_FULL) return null
  const { handler, pace } = load.part
  if (handler >= MOST)
    return say(
      'handler',
      `the handler: visits spend ${percent(handler)} of their time in it, ${ms(load.meanMs('handler'))} for a page, and it waits rather than computes`,
      'let it wait for less, or raise --concurrency',
      { moreWorkers: moreBySlots(facts) },
    )
  const more = moreBySlots(facts)
  if (more === 0 || pace >= MOST) return null
  return say(
    'workers',
    `the workers: ${percent(busy)} of their ${load.slots ?? 'many'} slots are busy, and hosts could fill ${Math.floor(room.usefulSlots)}`,
    `start ${moreText(more)}, or raise --concurrency while their processors have room`,
    { moreWorkers: more },
  )
}

/** Slots are free and nothing comes: the call that brings links takes long. */
function ofLeases({ load }: Facts): Advice | null {
  const took = load.meanMs('lease')
  const settle = load.meanMs('settle') ?? 0
  if (took === null || took < SLOW_CALL_MS || took + settle < (load.meanMs('fetch') ?? 0)) return null
  if (load.share('lease') < MOST) return null
  return say(
    'queue',
    `the queue: a lease takes ${ms(took)}, and a worker waits for one ${percent(Math.min(1, load.share('lease')))} of its time`,
    'look at its server and the way to it (shoal doctor); more workers do not help',
  )
}

function ofHosts({ load, room, stats, estimate, workers, now }: Facts): Advice | null {
  const { host, hold } = room
  if (host === null) return null
  const one = room.hosts === 1 || host.pending >= room.pending * MOST
  const name = one ? host.host : null
  const until = `${span((host.blockedUntil ?? now) - now)}`
  const last = estimate?.decidedBy?.kind === 'host' && !one ? `; ${estimate.decidedBy.host} takes longest` : ''
  const many = `${room.hosts} hosts with work allow ${perSecond(room.startsPerSecond)} together, ${perSecond(stats.rate)} are done${last}`
  switch (hold) {
    case 'resting':
      if (!workers.some(({ about }) => (about?.pools?.length ?? 0) > 0))
        return say('hosts', `${host.host} is closed for ${until} more: its robots.txt is out of reach`, '', {
          host: host.host,
        })
      return say(
        'proxies',
        one
          ? `the proxies: every way to ${host.host} rests, for ${until} more`
          : `the proxies: every way rests to hosts with ${percent(room.share)} of the links that wait`,
        'add proxies to the pool; see why they rest with: shoal proxies',
        { host: name },
      )
    case 'closed':
      return say(
        'host_pace',
        `${host.host} was closed by hand`,
        `open it again with: shoal hosts set ${host.host} --unblock`,
        { host: host.host },
      )
    case 'asked':
      return say(
        'host_pace',
        one ? `${host.host} asked for time: its next request is in ${until}` : `hosts asked for time: ${many}`,
        'a longer delay from the start avoids it; more workers do not help',
        { host: name },
      )
    case 'delay':
    case 'rate':
      // What a proxy may ask of a host, times the proxies there are: the queue knows only the product.
      if (hold === 'rate' && goesThroughProxies(load, workers))
        return say(
          'proxies',
          `the proxies: all proxies together may ask ${one ? host.host : `${room.hosts} hosts`} ${perSecond(room.startsPerSecond)}, ${perSecond(stats.rate)} are done`,
          'each keeps the pace of the spider: more proxies in the pool would help, more workers do not',
          { host: name },
        )
      return say(
        'host_pace',
        one
          ? `the pace of ${host.host}: ${paceOf(host)}, ${perSecond(stats.rate)} are done`
          : `the pace of hosts: ${many}`,
        paceNext(host, one),
        { host: name },
      )
    case 'slow':
      return say(
        'hosts',
        one
          ? `${host.host} answers slowly: ${ms(host.latencyMs)} for a page, ${host.concurrency} at once${slowedText(host)}`
          : `hosts answer slowly: ${many}`,
        one && host.slowedFromMs !== null
          ? 'it is asked less often until it answers faster or without errors; more workers do not help'
          : `more workers do not help; more at once would, where it bears it: shoal hosts set ${name ?? '<host>'} --concurrency <n>`,
        { host: name },
      )
    case 'none':
      return null
  }
}

/** Only who asks for a proxy spends time on it, be it little. */
function goesThroughProxies({ part }: FleetLoad, workers: readonly AdvisedWorker[]): boolean {
  return part.proxy > 0 && workers.some(({ about }) => (about?.pools?.length ?? 0) > 0)
}

function paceOf({ delayMs, ratePerSecond }: HostInfo): string {
  return ratePerSecond !== null && ratePerSecond * delayMs < 1000
    ? `${perSecond(ratePerSecond)} at most`
    : `one request every ${span(delayMs)}`
}

function paceNext({ host, set, delayMs }: HostInfo, one: boolean): string {
  if (set?.floorMs !== undefined && set.floorMs !== null && set.floorMs >= delayMs)
    return 'its robots.txt asks for it: more workers do not help'
  const which = one ? host : '<host>'
  return `more workers do not help; where its owner agrees: shoal hosts set ${which} --delay <shorter>`
}

function slowedText({ slowedFromMs, delayMs }: HostInfo): string {
  return slowedFromMs === null ? '' : `; its delay grew from ${span(slowedFromMs)} to ${span(delayMs)} for it`
}

/** Slots that hosts could keep busy beyond those there are ÷ slots of a worker. */
function moreBySlots({ load, room, stats }: Facts): number {
  if (load.slots === null || load.slots === 0) return 0
  const useful = Math.min(room.usefulSlots, stats.queued + stats.leased)
  if (useful < load.slots * LITTLE) return 0
  return Math.ceil((useful - load.slots) / (load.slots / load.workers))
}

/** Where the processor decides, a worker more does what one does now: requests a second that hosts allow beyond what is done ÷ what one does. */
function moreByRate({ load, room, stats }: Facts): number {
  const own = stats.rate / load.workers
  if (own <= 0 || room.startsPerSecond < stats.rate * LITTLE) return 0
  const bySlots = (stats.queued + stats.leased) / Math.max(1, (load.slots ?? load.workers) / load.workers)
  return Math.ceil(Math.min((room.startsPerSecond - stats.rate) / own, bySlots))
}

function moreText(workers: number): string {
  return workers === 0 ? 'no more workers' : workers === 1 ? 'one more worker' : `up to ${workers} more workers`
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
