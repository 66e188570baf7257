import type { z } from 'zod'
import type { HostInfo } from '../../../frontier/frontier.js'
import { atLeastOne, duration, options } from '../../../options.js'
import { fleetSlots } from '../../snapshots/health.js'
import { count, type Finding, minutes, type Rule, type WatchedCrawl, type WatchSnapshot } from './rule.js'

const settings = options({
  after: duration({ min: 60_000 }).default(10 * 60_000),
  pending: atLeastOne.default(10),
})
type Settings = z.output<typeof settings>

/** So often in a row a host may ask for time, or fail, before that counts as an answer. */
const AGAIN_AND_AGAIN = 3
/** Of the looks since it gave its last page: its slot was open. */
const MOSTLY_OPEN = 0.5
/** With so many slots of the fleet busy a host may simply have to wait for its turn. */
const SATURATED = 0.9
/** A site that is down takes many hosts with it: the first ones are named. */
const NAMED_OF_A_CRAWL = 5

/** By crawl and host: since it gave its last page. */
type Memory = ReadonlyMap<string, HostMemory>
interface HostMemory {
  readonly done: number
  readonly failed: number
  readonly since: number
  readonly looks: number
  readonly open: number
}

export const hostStalled: Rule<Settings, Memory> = {
  rule: 'host_stalled',
  meaning:
    'A host with `pending` links or more has given no page for `after`, although its slots were open, it was asked and failed, or it asked for time again and again.',
  settings,
  lastingMs: 0,
  noMemory: new Map(),
  needsMs: ({ after }) => after,
  judge(look, wanted, before) {
    const memory = new Map<string, HostMemory>()
    const found = look.crawls.flatMap((crawl) => {
      const turnsAreLong = isSaturated(crawl)
      const stalled = crawl.look.hosts.flatMap((host) => {
        if (host.pending + host.inFlight === 0) return []
        const key = `${crawl.look.stats.id} ${host.host}`
        const known = remembered(host, before.get(key), look.now)
        memory.set(key, known)
        if (crawl.look.workers.length === 0 || host.set?.blocked === true) return []
        const forMs = look.now - known.since
        const why = reasonOf(host, known, turnsAreLong)
        if (why === null || forMs < wanted.after || host.pending < wanted.pending / 2) return []
        return [{ host, forMs, why, over: host.pending >= wanted.pending }]
      })
      return stalled
        .sort((a, b) => b.forMs - a.forMs || (a.host.host < b.host.host ? -1 : 1))
        .slice(0, NAMED_OF_A_CRAWL)
        .map((one) => findingOf(crawl, one, stalled.length, look))
    })
    return { found, memory }
  },
}

function remembered(host: HostInfo, known: HostMemory | undefined, now: number): HostMemory {
  const open = Math.max(host.nextAt, host.blockedUntil ?? 0) <= now && host.inFlight < host.concurrency ? 1 : 0
  // More than before is a page; fewer, links that are crawled again.
  if (known === undefined || known.done !== host.done)
    return { done: host.done, failed: host.failed, since: now, looks: 1, open }
  return { ...known, looks: known.looks + 1, open: known.open + open }
}

type Reason = 'throttled' | 'failing' | 'idle'

function reasonOf(host: HostInfo, known: HostMemory, turnsAreLong: boolean): Reason | null {
  if (host.throttles >= AGAIN_AND_AGAIN) return 'throttled'
  if (host.failed - known.failed >= AGAIN_AND_AGAIN) return 'failing'
  return !turnsAreLong && known.open >= known.looks * MOSTLY_OPEN ? 'idle' : null
}

function isSaturated({ look }: WatchedCrawl): boolean {
  const slots = fleetSlots(look.stats, look.workers)
  return slots === null || look.stats.leased >= slots * SATURATED
}

const SAID: Readonly<Record<Reason, (host: HostInfo) => string>> = {
  throttled: ({ throttles }) => `it asked for time ${count(throttles)} times in a row`,
  failing: () => 'every visit fails',
  idle: () => 'although its slots are open',
}

const NEXT: Readonly<Record<Reason, (host: string) => string>> = {
  throttled: (host) => `Slow down with \`shoal hosts set ${host} --delay 10s\`, or give the spider other proxies.`,
  failing: () => 'See which errors with `shoal dead list` and `shoal explain <url>`.',
  idle: () => 'Ask for one of its links with `shoal explain <url>`.',
}

function findingOf(
  crawl: WatchedCrawl,
  { host, forMs, why, over }: { host: HostInfo; forMs: number; why: Reason; over: boolean },
  stalled: number,
  { now }: WatchSnapshot,
): Finding {
  const { id, spider } = crawl.look.stats
  return {
    ...{ about: host.host, crawl: id, spider, severity: 'warn', level: over ? 'over' : 'near' },
    message: `${host.host} has given no page for ${minutes(forMs)}, ${SAID[why](host)}: ${count(host.pending)} links wait${stalled > 1 ? `; ${count(stalled)} hosts are like that` : ''}`,
    next: NEXT[why](host.host),
    fields: {
      host: host.host,
      ...{ why, forMs, pending: host.pending, failed: host.failed, throttles: host.throttles, hosts: stalled },
      blockedMs: Math.max(0, (host.blockedUntil ?? 0) - now),
    },
  }
}
