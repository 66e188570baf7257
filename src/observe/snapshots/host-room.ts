import type { HostInfo } from '../../frontier/frontier.js'

/** What delays a host's next request. `closed`: blocked manually. `resting`: all its proxies are resting. `asked`: it rate limited us. `slow`: its responses, directly or by the delay they cause. */
export type Hold = 'closed' | 'resting' | 'asked' | 'delay' | 'rate' | 'slow' | 'none'

/** What the hosts of a crawl allow, and what delays most of its links. */
export interface HostRoom {
  /** Waiting links of the hosts that were read. */
  readonly pending: number
  /** Hosts with waiting links. */
  readonly hosts: number
  /** Requests that may start per second over all of them; a host without a limit and without a measured response counts as 0. */
  readonly startsPerSecond: number
  /** Slots that could be busy all the time: see `usefulSlots`. */
  readonly usefulSlots: number
  /** What delays most of the links. */
  readonly hold: Hold
  /** The share of waiting links that it delays. */
  readonly share: number
  /** The host with most of the delayed links; null: no link is waiting. */
  readonly host: HostInfo | null
}

/** `visitMs`: how long a visit occupies a slot, if workers report it. `queued`: over all hosts, including those not read. */
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
  // Hosts that were not read have no more links each than the last of these, so there are at least this many; we assume they are like the last one.
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
 * Little's law: a host that allows λ requests per second, from visits that occupy their slot for W seconds, keeps λ × W slots busy; never more than it
 * allows at once, nor more than it has links.
 */
function usefulSlots(host: HostInfo, now: number, visitMs: number | null): number {
  const most = Math.min(host.concurrency, host.pending + host.inFlight)
  const starts = startsOf(host, now)
  const ms = Math.max(visitMs ?? 0, host.latencyMs ?? 0)
  return starts === null || ms === 0 ? most : Math.min(most, (starts * ms) / 1000)
}

/** Requests per second; 0 while it is blocked, null if neither a pace nor a measured response limits it. */
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

/** Mean time between two starts. */
function intervalMs(host: HostInfo): number {
  return Math.max(host.delayMs, rateMs(host), (host.latencyMs ?? 0) / Math.max(1, host.concurrency))
}

function rateMs({ ratePerSecond }: HostInfo): number {
  return ratePerSecond === null || ratePerSecond <= 0 ? 0 : 1000 / ratePerSecond
}
