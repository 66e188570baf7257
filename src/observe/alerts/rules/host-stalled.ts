import type { z } from 'zod'
import type { HostInfo } from '../../../frontier/frontier.js'
import { atLeastOne, duration, options } from '../../../options.js'
import { fleetSlots } from '../../snapshots/health.js'
import { count, type Finding, minutes, type Rule, type WatchedCrawl, type WatchSnapshot, waitingLinks } from './rule.js'

const settings = options({
  after: duration({ min: 60_000 }).default(10 * 60_000),
  pending: atLeastOne.default(10),
})
type Settings = z.output<typeof settings>

/** How often in a row a host must rate limit us, or fail, before that counts as the reason. */
const IN_A_ROW = 3
/** Share of the snapshots since its last page in which its slot was open. */
const MOSTLY_OPEN = 0.5
/** With this share of the fleet's slots busy, a host may simply have to wait for its turn. */
const SATURATED = 0.9
/** A site that is down takes many hosts with it; only the first ones get an alert. */
const NAMED_PER_CRAWL = 5

/** By crawl and host, since its last page. */
type Memory = ReadonlyMap<string, HostMemory>
interface HostMemory {
  readonly done: number
  readonly failed: number
  readonly since: number
  readonly snapshots: number
  readonly open: number
}

export const hostStalled: Rule<Settings, Memory> = {
  rule: 'host_stalled',
  meaning:
    'A host with at least `pending` links has returned no page for `after`, because its visits fail, it keeps rate limiting us, or nothing is sent although its slots are open.',
  settings,
  lastingMs: 0,
  noMemory: new Map(),
  needsMs: ({ after }) => after,
  judge(snapshot, wanted, before) {
    const memory = new Map<string, HostMemory>()
    const found = snapshot.crawls.flatMap((crawl) => {
      const turnsAreLong = isSaturated(crawl)
      const stalled = crawl.snapshot.hosts.flatMap((host) => {
        if (host.pending + host.inFlight === 0) return []
        const key = `${crawl.snapshot.stats.id} ${host.host}`
        const known = remembered(host, before.get(key), snapshot.now)
        memory.set(key, known)
        if (crawl.snapshot.workers.length === 0 || host.set?.blocked === true) return []
        const forMs = snapshot.now - known.since
        const why = reasonOf(host, known, turnsAreLong)
        if (why === null || forMs < wanted.after || host.pending < wanted.pending / 2) return []
        return [{ host, forMs, why, over: host.pending >= wanted.pending }]
      })
      return stalled
        .sort((a, b) => b.forMs - a.forMs || (a.host.host < b.host.host ? -1 : 1))
        .slice(0, NAMED_PER_CRAWL)
        .map((one) => findingOf(crawl, one, stalled.length, snapshot))
    })
    return { found, memory }
  },
}

function remembered(host: HostInfo, known: HostMemory | undefined, now: number): HostMemory {
  const open = Math.max(host.nextAt, host.blockedUntil ?? 0) <= now && host.inFlight < host.concurrency ? 1 : 0
  // More than before means a page; fewer, that links are crawled again.
  if (known === undefined || known.done !== host.done)
    return { done: host.done, failed: host.failed, since: now, snapshots: 1, open }
  return { ...known, snapshots: known.snapshots + 1, open: known.open + open }
}

type Reason = 'throttled' | 'failing' | 'idle'

function reasonOf(host: HostInfo, known: HostMemory, turnsAreLong: boolean): Reason | null {
  if (host.throttles >= IN_A_ROW) return 'throttled'
  if (host.failed - known.failed >= IN_A_ROW) return 'failing'
  return !turnsAreLong && known.open >= known.snapshots * MOSTLY_OPEN ? 'idle' : null
}

function isSaturated({ snapshot }: WatchedCrawl): boolean {
  const slots = fleetSlots(snapshot.stats, snapshot.workers)
  return slots === null || snapshot.stats.leased >= slots * SATURATED
}

const REASON_TEXT: Readonly<Record<Reason, (host: HostInfo) => string>> = {
  throttled: ({ throttles }) => `it rate limited us ${throttles === 1 ? 'once' : `${count(throttles)} times in a row`}`,
  failing: () => 'every visit fails',
  idle: () => 'although its slots are open',
}

const NEXT: Readonly<Record<Reason, (host: string) => string>> = {
  throttled: (host) => `Slow down with \`shoal hosts set ${host} --delay 10s\`, or use other proxies.`,
  failing: () => 'See the errors with `shoal dead list` and `shoal explain <url>`.',
  idle: () => 'See why one of its links waits with `shoal explain <url>`.',
}

function findingOf(
  crawl: WatchedCrawl,
  { host, forMs, why, over }: { host: HostInfo; forMs: number; why: Reason; over: boolean },
  stalled: number,
  { now }: WatchSnapshot,
): Finding {
  const { id, spider } = crawl.snapshot.stats
  return {
    ...{ about: host.host, crawl: id, spider, severity: 'warn', level: over ? 'over' : 'near' },
    message: `${host.host} has returned no page for ${minutes(forMs)}, ${REASON_TEXT[why](host)}: ${waitingLinks(host.pending)}${stalled > 1 ? `; ${count(stalled)} hosts are affected` : ''}`,
    next: NEXT[why](host.host),
    fields: {
      host: host.host,
      ...{ why, forMs, pending: host.pending, failed: host.failed, throttles: host.throttles, hosts: stalled },
      blockedMs: Math.max(0, (host.blockedUntil ?? 0) - now),
    },
  }
}
