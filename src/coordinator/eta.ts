import type { CrawlStats, HostInfo } from '../frontier/frontier.js'

/** When a crawl will end, and what limits it. */
export interface Estimate {
  /** null while there is no estimate: paused, cancelled, no worker alive, no page measured yet, or a host is closed manually. */
  readonly etaSeconds: number | null
  readonly decidedBy: DecidedBy | null
  /** Links left ÷ current rate, for comparison; null without a rate. */
  readonly plainSeconds: number | null
}

export type DecidedBy =
  | { readonly kind: 'host'; readonly host: string; readonly reason: DrainReason }
  /** Every slot of every worker is busy: more workers or a higher concurrency would finish it earlier. */
  | { readonly kind: 'workers' }
  /** The event loop of every worker is busy: pages wait for CPU, not for their hosts. */
  | { readonly kind: 'cpu' }
  /** Only links that wait for a retry are left. */
  | { readonly kind: 'retries' }

/**
 * `closed`: manually. It is unknown when it will be opened again, so there is no estimate. `missing`: a missing worker holds all its
 * slots. `unreachable`: its links wait for their next try.
 */
export type DrainReason = 'delay' | 'rate' | 'latency' | 'blocked' | 'closed' | 'missing' | 'unreachable'

/** Nothing is fetched from a host until then; null: nobody knows until when. */
export interface Block {
  readonly reason: 'missing' | 'unreachable'
  readonly until: number | null
}

export interface EtaInput {
  readonly stats: CrawlStats
  /**
   * At least the hosts with the most work left. Any other host has no more than the last of these, and decides the end only if its own pace is
   * slower than theirs.
   */
  readonly hosts: readonly HostInfo[]
  /** Concurrent visits over all workers; 0 when none is alive, null when unknown. */
  readonly slots: number | null
  readonly now: number
  /** When the last delayed link is due, if known. */
  readonly lastDueAt?: number | null
  /** By host. */
  readonly blocks?: ReadonlyMap<string, Block>
  /** Pages wait for the CPU of the workers. */
  readonly cpuBound?: boolean
}

/** From this share of busy slots, the fleet is the limit, not the hosts. */
const SATURATED = 0.9
/** A busy CPU decides the end only if the hosts alone would be done clearly earlier: a loop may be busy with what a host allows. */
const CLEARLY_SLOWER = 1.25
/** A host with this share of the remaining links is practically the whole crawl. */
const WHOLE_CRAWL = 0.9
const NO_BLOCKS: ReadonlyMap<string, Block> = new Map()
/** One page in eleven days is not a rate. */
const MIN_RATE = 1e-6

export function estimateEnd(input: EtaInput): Estimate {
  const { stats, hosts, slots, now, lastDueAt = null, blocks = NO_BLOCKS, cpuBound = false } = input
  const left = stats.queued + stats.delayed + stats.leased
  const plainSeconds = left === 0 ? 0 : stats.rate > MIN_RATE ? left / stats.rate : null
  if (stats.state === 'finished') return { etaSeconds: 0, decidedBy: null, plainSeconds: 0 }
  if (stats.state !== 'running' || slots === 0) return { etaSeconds: null, decidedBy: null, plainSeconds }
  if (left === 0) return { etaSeconds: stats.seeding ? null : 0, decidedBy: null, plainSeconds }

  const closed = hosts.find((host) => host.pending > 0 && host.set?.blocked === true)
  if (closed !== undefined)
    return { etaSeconds: null, decidedBy: { kind: 'host', host: closed.host, reason: 'closed' }, plainSeconds }

  const slowest = slowestHost(hosts, blocks, now)
  if (slowest !== null && blocks.has(slowest.host)) {
    const { host, reason, seconds } = slowest
    const etaSeconds = Number.isFinite(seconds) ? seconds : null
    return { etaSeconds, decidedBy: { kind: 'host', host, reason }, plainSeconds }
  }
  if (stats.queued + stats.leased === 0) {
    const dueSeconds = lastDueAt === null ? null : Math.max(0, lastDueAt - now) / 1000
    const seconds = Math.max(dueSeconds ?? 0, slowest?.seconds ?? 0)
    return {
      etaSeconds: dueSeconds === null && slowest === null ? null : seconds,
      decidedBy: { kind: 'retries' },
      plainSeconds,
    }
  }

  if (cpuBound && plainSeconds !== null && plainSeconds > (slowest?.seconds ?? 0) * CLEARLY_SLOWER)
    return { etaSeconds: plainSeconds, decidedBy: { kind: 'cpu' }, plainSeconds }

  const saturated = slots !== null && slots > 0 && stats.leased >= slots * SATURATED
  if (plainSeconds !== null && (slowest === null || (saturated && plainSeconds > slowest.seconds))) {
    return { etaSeconds: plainSeconds, decidedBy: saturated ? { kind: 'workers' } : null, plainSeconds }
  }
  const fleet = fleetSeconds(left, hosts, slots)
  if (fleet !== null && (slowest === null || fleet > slowest.seconds)) {
    return { etaSeconds: fleet, decidedBy: { kind: 'workers' }, plainSeconds }
  }
  if (slowest === null) return { etaSeconds: null, decidedBy: null, plainSeconds }
  // The drain leaves out the worker's own time between two requests. If the host is practically the whole crawl, or its responses are the limit, the
  // measured rate includes that time; after a block it only includes the wait that is over.
  const measured = slowest.reason === 'latency' || (slowest.reason !== 'blocked' && slowest.links >= left * WHOLE_CRAWL)
  const seconds = measured ? Math.max(slowest.seconds, plainSeconds ?? 0) : slowest.seconds
  return { etaSeconds: seconds, decidedBy: { kind: 'host', host: slowest.host, reason: slowest.reason }, plainSeconds }
}

/**
 * With every slot busy all the time: how long the fleet needs for everything that is left, hosts outside the snapshot included. For many hosts with a few
 * links each, this is the limit rather than any single host. Null: the slots are unknown, or no response was measured.
 */
function fleetSeconds(left: number, hosts: readonly HostInfo[], slots: number | null): number | null {
  if (slots === null || slots < 1) return null
  let links = 0
  let ms = 0
  for (const { latencyMs, pending, inFlight } of hosts) {
    if (latencyMs === null) continue
    links += pending + inFlight
    ms += latencyMs * (pending + inFlight)
  }
  return links === 0 ? null : (left * (ms / links)) / slots / 1000
}

export interface HostDrain {
  readonly host: string
  readonly seconds: number
  readonly reason: DrainReason
  /** Its remaining links. */
  readonly links: number
}

/** The host that needs longest for its own links; null when no host has work, or none was measured yet. */
function slowestHost(
  hosts: readonly HostInfo[],
  blocks: NonNullable<EtaInput['blocks']>,
  now: number,
): HostDrain | null {
  let slowest: HostDrain | null = null
  for (const host of hosts) {
    const drain = drainOf(host, now, blocks.get(host.host))
    if (drain !== null && (slowest === null || drain.seconds > slowest.seconds)) slowest = drain
  }
  return slowest
}

/** Time to the next slot + links × interval between starts + the last response. Null: nothing left, or no measurements. Infinite: nobody knows. */
export function drainOf(host: HostInfo, now: number, block?: Block): HostDrain | null {
  if (host.pending + host.inFlight === 0) return null
  const latency = host.latencyMs ?? 0
  const byDelay = host.delayMs
  const byRate = host.ratePerSecond !== null && host.ratePerSecond > MIN_RATE ? 1000 / host.ratePerSecond : 0
  const byLatency = latency / Math.max(1, host.concurrency)
  const interval = Math.max(byDelay, byRate, byLatency)
  const blockedMs = Math.max(0, (host.blockedUntil ?? 0) - now)
  const waitMs = Math.max(blockedMs, host.nextAt - now, waitOf(block, now))
  if (interval === 0 && waitMs === 0) return null
  const workMs = host.pending * interval
  const links = host.pending + host.inFlight
  const seconds = (waitMs + workMs + latency) / 1000
  if (block !== undefined) return { host: host.host, seconds, reason: block.reason, links }
  const reason =
    blockedMs > workMs
      ? 'blocked'
      : interval === byDelay && byDelay > 0
        ? 'delay'
        : interval === byRate && byRate > 0
          ? 'rate'
          : 'latency'
  return { host: host.host, seconds, reason, links }
}

function waitOf(block: Block | undefined, now: number): number {
  if (block === undefined) return 0
  return block.until === null ? Number.POSITIVE_INFINITY : Math.max(0, block.until - now)
}
