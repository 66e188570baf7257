import type { HostInfo } from '../../frontier/frontier.js'

/** What holds a host's next request back. `closed`: by hand. `resting`: no way leads to it, its proxies rest. `slow`: its answers, directly or by the delay they cost. */
export type Hold = 'closed' | 'resting' | 'asked' | 'delay' | 'rate' | 'slow' | 'none'

/** What the hosts of a crawl allow, and what holds most of its links back. */
export interface HostRoom {
  /** Links that wait, of the hosts looked at. */
  readonly pending: number
  /** Hosts with links that wait. */
  readonly hosts: number
  /** Requests that may start in a second over all of them; a host without any limit and without a measured answer counts for nothing. */
  readonly startsPerSecond: number
  /** Slots that could be used all the time: see `usefulSlots`. */
  readonly usefulSlots: number
  /** What holds most of the links back. */
  readonly hold: Hold
  /** Of the links that wait the share that it holds back. */
  readonly share: number
  /** The host with most links of those it holds back; null: none waits. */
  readonly host: HostInfo | null
}

/** `visitMs`: how long a visit keeps a slot, where workers tell. `queued`: over all hosts, also those that were not looked at. */
export function roomOf(
  hosts: readonly HostInfo[],
  { now, visitMs, queued }: { now: number; visitMs: number | null; queued: number },
): HostRoom {
  const waiting = hosts.filter((host) => host.pending > 0)
  const byHold = new Map<Hold, number>()
  let pending = 0
  let startsPerSecond = 0
  let useful = 0
  for (const host of waiting) {
    const hold = holdOf(host, now)
    byHold.set(hold, (byHold.get(hold) ?? 0) + host.pending)
    pending += host.pending
    startsPerSecond += Math.min(startsOf(host, now) ?? 0, Number.MAX_SAFE_INTEGER)
    useful += usefulSlots(host, now, visitMs)
  }
  // Those not looked at have no more links each than the last of these, so there are at least so many of them; like the last one, for all we know.
  const last = waiting.at(-1)
  if (last !== undefined && queued > pending) {
    const unseen = Math.floor((queued - pending) / last.pending)
    startsPerSecond += unseen * (startsOf(last, now) ?? 0)
    useful += unseen * usefulSlots(last, now, visitMs)
  }
  const [hold, held] = [...byHold].sort((a, b) => b[1] - a[1])[0] ?? (['none', 0] as const)
  const host = waiting
    .filter((one) => holdOf(one, now) === hold)
    .reduce<HostInfo | null>((most, one) => (most === null || one.pending > most.pending ? one : most), null)
  return {
    ...{ pending, startsPerSecond, hold, host },
    hosts: waiting.length,
    usefulSlots: useful,
    share: pending === 0 ? 0 : held / pending,
  }
}

/**
 * Little's law: a host that may be asked λ times a second, by visits that keep their slot for W seconds, keeps λ × W slots busy; never more than it
 * takes at once, nor more than it has links.
 */
function usefulSlots(host: HostInfo, now: number, visitMs: number | null): number {
  const most = Math.min(host.concurrency, host.pending + host.inFlight)
  const starts = startsOf(host, now)
  const ms = Math.max(visitMs ?? 0, host.latencyMs ?? 0)
  return starts === null || ms === 0 ? most : Math.min(most, (starts * ms) / 1000)
}

/** Requests a second; 0 while it is closed, null when neither a pace nor a measured answer bounds it. */
export function startsOf(host: HostInfo, now: number): number | null {
  const hold = holdOf(host, now)
  if (hold === 'closed' || hold === 'resting' || hold === 'asked') return 0
  const ms = intervalMs(host)
  return ms === 0 ? null : 1000 / ms
}

export function holdOf(host: HostInfo, now: number): Hold {
  if (host.set?.blocked === true) return 'closed'
  if ((host.blockedUntil ?? 0) > now) return host.throttles === 0 ? 'resting' : 'asked'
  const ms = intervalMs(host)
  if (ms === 0) return 'none'
  if (host.slowedFromMs !== null && ms === host.delayMs) return 'slow'
  if (ms === host.delayMs) return 'delay'
  return ms === rateMs(host) ? 'rate' : 'slow'
}

/** Between two starts, on average. */
function intervalMs(host: HostInfo): number {
  return Math.max(host.delayMs, rateMs(host), (host.latencyMs ?? 0) / Math.max(1, host.concurrency))
}

function rateMs({ ratePerSecond }: HostInfo): number {
  return ratePerSecond === null || ratePerSecond <= 0 ? 0 : 1000 / ratePerSecond
}
