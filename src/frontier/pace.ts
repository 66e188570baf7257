import { PERMIT_MAX_MS, type HostReport, type Limits } from './frontier.js'

/**
 * When a host may be asked next: pure arithmetic over one host's state, used by every driver.
 * Times are milliseconds of the queue's own clock.
 */
export interface HostPace {
  /** No start before this: last start + delay. */
  readonly nextAt: number
  /** Token bucket as a theoretical arrival time (GCRA): one number instead of a level and a date. */
  readonly arrivalAt: number
  /** Requests under way. */
  readonly inFlight: number
  /** Throttled by the host until then; 0 when not. */
  readonly blockedUntil: number
  /** When the block was set, to count simultaneous 429s once. */
  readonly blockedAt: number
  /** Incidents in a row, for the backoff. */
  readonly throttleLevel: number
}

export const FRESH_HOST: HostPace = { nextAt: 0, arrivalAt: 0, inFlight: 0, blockedUntil: 0, blockedAt: 0, throttleLevel: 0 }

/** Backoff for hosts that throttle without saying for how long: 5 s, 10 s, 20 s … 5 min. */
export const THROTTLE_BASE_MS = 5_000
export const THROTTLE_CAP_MS = 300_000
/** Retry-After beyond this is taken as this: a host cannot stall a crawl for ever. */
export const RETRY_AFTER_CAP_MS = 3_600_000

/** The strictest of the limits that hold for a host at this moment. */
export function strictest(all: readonly Limits[]): Limits {
  let delayMs = 0
  let concurrency = Number.POSITIVE_INFINITY
  let rate: Limits['rate']
  for (const limits of all) {
    delayMs = Math.max(delayMs, limits.delayMs)
    concurrency = Math.min(concurrency, limits.concurrency)
    if (limits.rate !== undefined && (rate === undefined || intervalOf(limits.rate) > intervalOf(rate))) rate = limits.rate
  }
  return rate === undefined ? { delayMs, concurrency } : { delayMs, concurrency, rate }
}

function intervalOf(rate: NonNullable<Limits['rate']>): number {
  return rate.perMs / rate.count
}

/** The earliest time at which one more request may start, concurrency aside. */
export function earliestStart(host: HostPace, limits: Limits): number {
  const byRate = limits.rate === undefined ? 0 : host.arrivalAt - (limits.rate.burst - 1) * intervalOf(limits.rate)
  return Math.max(host.nextAt, host.blockedUntil, byRate)
}

/** How many requests may start now. With a delay it is one at most; with a rate, what the bucket holds. */
export function startsAllowed(host: HostPace, limits: Limits, now: number): number {
  const free = limits.concurrency - host.inFlight
  if (free <= 0 || earliestStart(host, limits) > now) return 0
  if (limits.delayMs > 0) return 1
  if (limits.rate === undefined) return free
  const interval = intervalOf(limits.rate)
  const tokens = Math.floor((now + limits.rate.burst * interval - Math.max(host.arrivalAt, now)) / interval + 1e-9)
  return Math.max(0, Math.min(free, tokens))
}

/** One request starts now. `holds` is false when the asking lease has a slot of this host already. */
export function afterStart(host: HostPace, limits: Limits, now: number, count = 1, holds = true): HostPace {
  return {
    ...host,
    inFlight: holds ? host.inFlight + count : host.inFlight,
    nextAt: Math.max(host.nextAt, now + limits.delayMs),
    arrivalAt: limits.rate === undefined ? host.arrivalAt : Math.max(host.arrivalAt, now) + count * intervalOf(limits.rate),
  }
}

/** A request ended. `startedAt` is the real dispatch, which may be later than the permit: the delay counts from it. */
export function afterEnd(host: HostPace, limits: Limits, startedAt: number): HostPace {
  return {
    ...host,
    inFlight: Math.max(0, host.inFlight - 1),
    nextAt: limits.delayMs > 0 ? Math.max(host.nextAt, startedAt + limits.delayMs) : host.nextAt,
  }
}

/** The host said how it feels. A report of a request that was granted before the block began belongs to the same incident. */
export function afterReport(host: HostPace, report: HostReport, grantedAt: number, now: number): HostPace {
  if (report.kind === 'ok') {
    const older = grantedAt < host.blockedAt
    return older || host.throttleLevel === 0 ? host : { ...host, throttleLevel: 0 }
  }
  if (report.kind === 'failed') return host
  const sameIncident = grantedAt < host.blockedAt
  const level = sameIncident ? host.throttleLevel : host.throttleLevel + 1
  const backoff = Math.min(THROTTLE_CAP_MS, THROTTLE_BASE_MS * 2 ** Math.max(0, level - 1))
  const asked = report.retryAfterMs
  const blockMs = asked === null || asked <= 0 ? backoff : Math.min(asked, RETRY_AFTER_CAP_MS)
  if (sameIncident && (asked === null || asked <= 0)) return host
  return { ...host, blockedUntil: Math.max(host.blockedUntil, now + blockMs), blockedAt: sameIncident ? host.blockedAt : now, throttleLevel: level }
}

/** A permit older than a twentieth of the delay would eat into the next gap: the worker must ask again. */
export function permitMs(limits: Limits): number {
  return limits.delayMs > 0 ? Math.min(PERMIT_MAX_MS, Math.max(5, limits.delayMs / 20)) : PERMIT_MAX_MS
}

/**
 * The order of hosts with work: smallest score first. Waiting lowers nothing and raises nothing, it is built in: a host that became
 * ready `agingMs` earlier beats one whose best link is one point of priority better.
 */
export function laneScore(readySince: number, headPriority: number, agingMs: number): number {
  return Math.round(readySince - headPriority * agingMs)
}

export const LATENCY_WEIGHT = 0.2

export function meanLatency(old: number | null, elapsedMs: number): number {
  return old === null ? elapsedMs : old + LATENCY_WEIGHT * (elapsedMs - old)
}
