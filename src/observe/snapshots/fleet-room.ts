import type { CrawlStats, HostInfo } from '../../frontier/frontier.js'
import type { HostKey } from '../../url/link.js'
import { startsOf } from './host-room.js'

/** A crawl as far as the number of useful workers depends on it. */
export interface ScaledCrawl {
  readonly stats: CrawlStats
  /** The busiest hosts. */
  readonly hosts: readonly HostInfo[]
  /** Some others, if there are more than those: what the hosts that were not read are like. */
  readonly others: readonly HostInfo[]
  /** Delayed links that are due later than SOON_MS from now, and how many of them each host has, as far as they were read. */
  readonly later: number
  readonly laterOn: ReadonlyMap<HostKey, number>
}

/** How long a visit occupies its slot. */
export interface VisitTimes {
  /** For a host whose responses were not measured yet. */
  readonly fetchMs: number
  /** From the response to the end of the handler. */
  readonly handlerMs: number
}

/** What the hosts of several crawls allow together. */
export interface FleetRoom {
  /** Hosts with links. */
  readonly hosts: number
  /** Visits at once that they can keep busy. */
  readonly slots: number
  readonly startsPerSecond: number
  /** The share of those starts on hosts that are blocked at the moment. */
  readonly blocked: number
}

/**
 * Starting a worker takes up to a minute if its machine has to start first. So what can work within a minute counts as if it could now: a host that asks for
 * ten seconds of rest stops no worker, and a long rest is over when its workers are there.
 */
export const SOON_MS = 60_000

/**
 * `running`: all crawls that run, `ours` among them. A host has one pace for all of them, so its room is divided by their links, and never counted
 * twice.
 */
export function fleetRoom(
  ours: readonly ScaledCrawl[],
  running: readonly ScaledCrawl[],
  { now, times }: { readonly now: number; readonly times: VisitTimes },
): FleetRoom {
  const shared = new Map<HostKey, number>()
  let read = 0
  for (const crawl of running)
    for (const { host, pending } of withLinks(crawl)) {
      shared.set(host, (shared.get(host) ?? 0) + pending)
      read++
    }
  // Hosts that were not read are shared among crawls as much as those that were.
  const distinct = read === 0 ? 1 : shared.size / read

  const names = new Set<HostKey>()
  const sum = { hosts: 0, slots: 0, startsPerSecond: 0, blocked: 0 }
  const add = (one: HostUse, times: number) => {
    sum.slots += one.slots * times
    sum.startsPerSecond += one.startsPerSecond * times
    sum.blocked += one.blocked * times
  }
  for (const crawl of ours) {
    const hosts = withLinks(crawl)
    for (const host of hosts) {
      names.add(host.host)
      const pending = shared.get(host.host) ?? host.pending
      add(useOf({ ...host, pending }, now, times), host.pending / pending)
    }
    const { count, like } = unread(crawl, hosts)
    sum.hosts += count * distinct
    for (const host of like) add(useOf(host, now, times), (count * distinct) / like.length)
  }
  const { slots, startsPerSecond } = sum
  return {
    hosts: names.size + Math.round(sum.hosts),
    slots,
    startsPerSecond,
    blocked: startsPerSecond === 0 ? 0 : sum.blocked / startsPerSecond,
  }
}

/** Hosts with links that are due soon. */
function withLinks({ hosts, laterOn }: ScaledCrawl): HostInfo[] {
  return hosts
    .map((host) => ({ ...host, pending: host.pending - (laterOn.get(host.host) ?? 0) }))
    .filter(({ pending }) => pending > 0)
}

/** How many hosts have the links that none of the hosts that were read has, and some that they are like. */
function unread(
  { stats, hosts: all, others, later }: ScaledCrawl,
  hosts: readonly HostInfo[],
): { readonly count: number; readonly like: readonly HostInfo[] } {
  const links = stats.queued + stats.delayed - later - hosts.reduce((sum, { pending }) => sum + pending, 0)
  const busiest = new Set(all.map(({ host }) => host))
  const sample = others.filter(({ host, pending }) => pending > 0 && !busiest.has(host))
  const like = sample.length > 0 ? sample : hosts.slice(-1)
  const each = like.reduce((sum, { pending }) => sum + pending, 0) / like.length
  return links <= 0 || like.length === 0 ? { count: 0, like: [] } : { count: links / each, like }
}

interface HostUse {
  readonly slots: number
  readonly startsPerSecond: number
  readonly blocked: number
}

/**
 * Little's law: a host that allows λ requests per second, each of which takes W seconds, keeps λ × W slots busy, never more than it allows at once; their
 * handlers keep λ × H slots busy after the host has none of them any more. Together never more than it has links.
 */
function useOf(host: HostInfo, now: number, { fetchMs, handlerMs }: VisitTimes): HostUse {
  const links = host.pending + host.inFlight
  const ms = Math.max(1, host.latencyMs ?? fetchMs)
  const atOnce = Math.min(host.concurrency, links)
  const starts = Math.min(startsOf(host, now + SOON_MS) ?? Number.POSITIVE_INFINITY, (atOnce * 1_000) / ms)
  const slots = Math.min(links, Math.min(atOnce, (starts * ms) / 1_000) + (starts * handlerMs) / 1_000)
  return { slots, startsPerSecond: starts, blocked: startsOf(host, now) === 0 ? starts : 0 }
}
