import type { HostKey } from '../url/link.js'
import { type CrawlSpec, type HostReport, type HostSettings, type Limits, PERMIT_MAX_MS } from './frontier.js'

/**
 * When a host may be asked next: pure arithmetic over one host's state, used by every driver.
 * Times are milliseconds of the queue's own clock.
 */
export interface HostPace {
  /** The last start. Not the time of the next one: the delay that counts is the one that holds when the next request asks. */
  readonly startedAt: number
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
  /** By hand (HostSettings.blocked). */
  readonly closed: boolean
}

export const FRESH_HOST: HostPace = {
  startedAt: 0,
  arrivalAt: 0,
  inFlight: 0,
  blockedUntil: 0,
  blockedAt: 0,
  throttleLevel: 0,
  closed: false,
}

/** Backoff for hosts that throttle without saying for how long: 5 s, 10 s, 20 s … 5 min. */
export const THROTTLE_BASE_MS = 5_000
export const THROTTLE_CAP_MS = 300_000
/** A longer Retry-After is cut to this: a host cannot stall a crawl for ever. */
export const RETRY_AFTER_CAP_MS = 3_600_000

/** What a crawl says of a pace key. */
export function limitsFor(spec: Pick<CrawlSpec, 'limits' | 'keyLimits'>, key: HostKey): Limits {
  return (spec.keyLimits !== undefined && Object.hasOwn(spec.keyLimits, key) && spec.keyLimits[key]) || spec.limits
}

/** The strictest of the limits that hold for a host at this moment; a mix of them where neither rate is stricter in all ways. */
export function strictest(all: readonly Limits[]): Limits {
  const delayMs = Math.max(0, ...all.map((limits) => limits.delayMs))
  const concurrency = Math.min(...all.map((limits) => limits.concurrency))
  const adaptive = strictestAdaptive(all.flatMap((limits) => limits.adaptive ?? []))
  const rates = all.flatMap((limits) => limits.rate ?? [])
  const [first, ...others] = rates
  if (first === undefined) return { delayMs, concurrency, ...adaptive }
  const slowest = others.reduce((slow, rate) => (intervalOf(rate) > intervalOf(slow) ? rate : slow), first)
  const rate = { ...slowest, burst: Math.min(...rates.map(({ burst }) => burst)) }
  return { delayMs, concurrency, rate, ...adaptive }
}

/** At least as slow as each of them at every latency. */
function strictestAdaptive(all: readonly NonNullable<Limits['adaptive']>[]): Pick<Limits, 'adaptive'> {
  if (all.length === 0) return {}
  const target = Math.min(...all.map((adaptive) => adaptive.target))
  const maxDelayMs = Math.max(...all.map((adaptive) => adaptive.maxDelayMs))
  return { adaptive: { target, maxDelayMs } }
}

/** What was set for the host itself: a hand wins over the spiders, robots.txt (`floorMs`) over everybody. Who sets a delay by hand means that delay. */
export function withSettings(limits: Limits, settings: HostSettings): Limits {
  const { adaptive, ...fixed } = limits
  return {
    ...fixed,
    ...(adaptive !== undefined && (settings.delayMs ?? null) === null && { adaptive }),
    delayMs: Math.max(settings.floorMs ?? 0, settings.delayMs ?? limits.delayMs),
    concurrency: settings.concurrency ?? limits.concurrency,
  }
}

/** The limits with the delay that the host's mean latency makes of theirs; those given when it changes nothing. */
export function adapted(limits: Limits, latencyMs: number | null): Limits {
  const { adaptive } = limits
  if (adaptive === undefined || latencyMs === null) return limits
  const delayMs = Math.min(adaptive.maxDelayMs, Math.ceil(latencyMs / adaptive.target))
  return delayMs > limits.delayMs ? { ...limits, delayMs } : limits
}

/** What people are shown of it: null when nothing is set. */
export function settingsShown(settings: HostSettings): HostSettings | null {
  const { delayMs = null, concurrency = null, floorMs = null, blocked = null } = settings
  if (delayMs === null && concurrency === null && floorMs === null && blocked !== true) return null
  return { delayMs, concurrency, floorMs, blocked: blocked === true }
}

function intervalOf(rate: NonNullable<Limits['rate']>): number {
  return rate.perMs / rate.count
}

/** Sums of fractions of a millisecond at 10^12 are off by 10^-4: less than this is no time. */
export const NO_TIME_MS = 0.01

/** The earliest time at which one more request may start, concurrency aside; whole milliseconds, Infinity while it is closed by hand. */
export function earliestStart(host: HostPace, limits: Limits): number {
  return host.closed ? Number.POSITIVE_INFINITY : earliestOpen(host, limits)
}

/** The same if it were not closed by hand: what people are shown. */
export function earliestOpen(host: HostPace, limits: Limits): number {
  const { rate } = limits
  const byRate = rate === undefined ? 0 : Math.ceil(host.arrivalAt - (rate.burst - 1) * intervalOf(rate) - NO_TIME_MS)
  // Without a delay the last start says nothing: a clock that stepped back must not close the host.
  const byDelay = limits.delayMs > 0 ? host.startedAt + limits.delayMs : 0
  return Math.max(byDelay, host.blockedUntil, byRate)
}

/**
 * Nobody knows when a closed host is opened: asked again after this long. More than a visit waits for, so that its link goes back to the queue, and enough
 * that a link which leads there from an open host is not fetched again and again meanwhile.
 */
export const CLOSED_WAIT_MS = 60_000

/** For a permit that is refused. */
export function waitUntil(openAt: number, now: number): number {
  return Number.isFinite(openAt) ? Math.ceil(openAt - now) : CLOSED_WAIT_MS
}

/** A clock that stepped back: no request can have started later than now, or its host would stay closed until the clock has caught up. */
export function notAhead(host: HostPace, now: number): HostPace {
  return host.startedAt > now ? { ...host, startedAt: now } : host
}

/** How many requests may start now. With a delay it is one at most; with a rate, what the bucket holds. */
export function startsAllowed(host: HostPace, limits: Limits, now: number): number {
  const free = limits.concurrency - host.inFlight
  if (free <= 0 || earliestStart(host, limits) > now) return 0
  if (limits.delayMs > 0) return 1
  if (limits.rate === undefined) return free
  const ahead = Math.max(0, host.arrivalAt - now - NO_TIME_MS)
  return Math.min(free, Math.max(1, Math.floor(limits.rate.burst - ahead / intervalOf(limits.rate))))
}

/** One request starts now. `holds` is false when the asking lease has a slot of this host already. */
export function afterStart(host: HostPace, limits: Limits, now: number, count = 1, holds = true): HostPace {
  return {
    ...host,
    inFlight: holds ? host.inFlight + count : host.inFlight,
    startedAt: Math.max(host.startedAt, now),
    arrivalAt:
      limits.rate === undefined ? host.arrivalAt : Math.max(host.arrivalAt, now) + count * intervalOf(limits.rate),
  }
}

/**
 * A request ended. `elapsedMs` counts from the real dispatch, which may be later than the permit: the delay counts from it. Null when
 * nobody can say (the lease was lost, or settled without a release).
 */
export function afterEnd(host: HostPace, now: number, elapsedMs: number | null): HostPace {
  const dispatchedAt = elapsedMs === null ? 0 : now - Math.max(0, elapsedMs)
  return { ...host, inFlight: Math.max(0, host.inFlight - 1), startedAt: Math.max(host.startedAt, dispatchedAt) }
}

/**
 * The host reported back. A report of a request that was granted before the block began belongs to the same incident (nothing is
 * granted during a block, so a grant of the same millisecond came before it).
 */
export function afterReport(host: HostPace, report: HostReport, grantedAt: number, now: number): HostPace {
  const beforeBlock = grantedAt <= host.blockedAt
  if (report.kind === 'failed') return host
  if (report.kind === 'wait') {
    return { ...host, blockedUntil: Math.max(host.blockedUntil, now + Math.min(report.ms, RETRY_AFTER_CAP_MS)) }
  }
  if (report.kind === 'ok') return beforeBlock ? host : { ...host, throttleLevel: 0 }
  // Zero, negative or unreadable: the host did not say how long.
  const asked = report.retryAfterMs !== null && report.retryAfterMs > 0 ? report.retryAfterMs : null
  if (beforeBlock && asked === null) return host
  const throttleLevel = beforeBlock ? host.throttleLevel : host.throttleLevel + 1
  const backoff = Math.min(THROTTLE_CAP_MS, THROTTLE_BASE_MS * 2 ** (throttleLevel - 1))
  const blockMs = asked === null ? backoff : Math.min(asked, RETRY_AFTER_CAP_MS)
  return {
    ...host,
    blockedUntil: Math.max(host.blockedUntil, now + blockMs),
    blockedAt: beforeBlock ? host.blockedAt : now,
    throttleLevel,
  }
}

/** A permit older than a tenth of the gap between starts would eat into the next gap: the worker must ask again. */
export const PERMITS_PER_GAP = 10
/** Less than this no worker could use. */
export const PERMIT_MIN_MS = 5

/** Between two starts at least; 0 when one may follow the other at once. */
export function gapMs(limits: Limits): number {
  return Math.max(limits.delayMs, limits.rate?.burst === 1 ? intervalOf(limits.rate) : 0)
}

export function permitMs(limits: Limits): number {
  const gap = gapMs(limits)
  return gap > 0 ? Math.min(PERMIT_MAX_MS, Math.max(PERMIT_MIN_MS, gap / PERMITS_PER_GAP)) : PERMIT_MAX_MS
}

/**
 * The order of lanes with work: smallest score first. Ageing is built in: a lane that waits `agingMs` longer beats one whose best link
 * is one point of priority better. `readySince` is the later of: the lane last served a lease, its head became due. That the host
 * was closed meanwhile does not count, or of two crawls on one slow host the second would never get its turn.
 */
export function laneScore(readySince: number, headPriority: number, agingMs: number): number {
  return Math.round(readySince - headPriority * agingMs)
}

export const LATENCY_WEIGHT = 0.2
/** A failure counts as this long at least, or as twice the mean: a host that fails at once is not a fast one. */
export const FAILURE_MS = 1_000
/** … and for not more than this, or a host that failed for an hour would need another one to come back. */
export const FAILURE_CAP_MS = 60_000

/** Milliseconds since the dispatch, or null: a request that was never sent has none. */
export function sentFor(report: HostReport, elapsedMs: number): number | null {
  return report.kind === 'wait' ? null : Math.max(0, elapsedMs)
}

export function meanLatency(old: number | null, report: HostReport, latencyMs: number): number | null {
  if (report.kind === 'wait') return old
  const tookMs = Math.max(0, latencyMs)
  const latest =
    report.kind === 'failed' ? Math.max(tookMs, Math.min(FAILURE_CAP_MS, Math.max(FAILURE_MS, 2 * (old ?? 0)))) : tookMs
  return old === null ? latest : old + LATENCY_WEIGHT * (latest - old)
}
