import { type Limits, SLOT_WAIT_MS } from '../frontier/frontier.js'
import { afterEnd, afterStart, earliestStart, FRESH_HOST, type HostPace, startsAllowed } from '../frontier/pace.js'
import type { HostKey } from '../url/link.js'
import type { ProxyId } from './proxy.js'
import { LATENCY_BUCKETS, type ProxyAnswer, type ProxyReport, type ProxyScore, type RestRules } from './proxy-ledger.js'

/**
 * What the ledger decides, as pure functions over the state of one proxy; Redis says the same in lua/ledger.lua. Times are milliseconds of
 * the queue's own clock.
 */

/** Of a proxy on one site; on site '' of the proxy as a whole. */
export interface ProxyHealth {
  /** A good answer came since it was new or back from a rest. */
  readonly proved: boolean
  /** Bad answers in a row. */
  readonly strikes: number
  /** Rests in a row, for the doubling. */
  readonly rests: number
  /** When the last rest began, to count bad answers of one incident once. */
  readonly restedAt: number
  readonly restsUntil: number
  readonly inFlight: number
  readonly usedAt: number
}

export const FRESH_HEALTH: ProxyHealth = {
  proved: false,
  strikes: 0,
  rests: 0,
  restedAt: 0,
  restsUntil: 0,
  inFlight: 0,
  usedAt: 0,
}

/** What its requests brought, apart from its health: a grant has no use for it. */
export type ProxyCounts = Pick<ProxyScore, 'good' | 'neutral' | 'banned' | 'broken' | 'bytes' | 'cost' | 'latency'>

export const NO_COUNTS: ProxyCounts = {
  good: 0,
  neutral: 0,
  banned: 0,
  broken: 0,
  bytes: 0,
  cost: 0,
  latency: [...LATENCY_BUCKETS.map(() => 0), 0],
}

/** Of a proxy on one host. */
export interface ProxyPace {
  readonly startedAt: number
  readonly arrivalAt: number
  readonly inFlight: number
  readonly usedAt: number
}

export const FRESH_PACE: ProxyPace = { startedAt: 0, arrivalAt: 0, inFlight: 0, usedAt: 0 }

/** What an ask needs to know of one proxy. */
export interface ProxyState {
  readonly whole: ProxyHealth
  readonly onSite: ProxyHealth
  readonly pace: ProxyPace
}

/** A grant that is not reported yet. */
export interface Hold {
  readonly ask: string
  readonly pool: string
  readonly proxy: ProxyId
  readonly host: HostKey
  readonly site: string
  readonly grantedAt: number
  readonly endsAt: number
  readonly permitMs: number
}

/** What was not used for so long is forgotten. */
export const FORGET_MS = 604_800_000
/** Proxies looked at in one ask at most, the first of them. */
export const MOST_PROXIES = 1_000
/** Grants that ran out, ended in one call at most. */
export const REAP_AT_ONCE = 1_000

/** More than any cap allows, and still a number. @lua */
export const MOST_DOUBLINGS = 30

export function isForgotten({ usedAt }: { readonly usedAt: number }, now: number): boolean {
  return usedAt <= now - FORGET_MS
}

/** As it is now: after the clock stepped back, no rest began later than now. */
export function healthNow(health: ProxyHealth, now: number): ProxyHealth {
  if (isForgotten(health, now)) return FRESH_HEALTH
  const ahead = health.restedAt - now
  return ahead > 0 ? { ...health, restedAt: now, restsUntil: health.restsUntil - ahead } : health
}

export function paceNow(pace: ProxyPace, now: number): ProxyPace {
  if (isForgotten(pace, now)) return FRESH_PACE
  return pace.startedAt > now ? { ...pace, startedAt: now } : pace
}

/** New, back from a rest, or after a bad answer: one request at a time until a good one. */
function onProbation(health: ProxyHealth): boolean {
  return !health.proved || health.strikes > 0
}

/** Null: it may be used now. */
export function obstacle(state: ProxyState, limits: Limits, now: number): { waitMs: number; resting: boolean } | null {
  const { whole, onSite, pace } = state
  const restsUntil = Math.max(whole.restsUntil, onSite.restsUntil)
  if (restsUntil > now) return { waitMs: Math.ceil(restsUntil - now), resting: true }
  const host = hostPace(pace)
  const tried = (onProbation(whole) && whole.inFlight > 0) || (onProbation(onSite) && onSite.inFlight > 0)
  if (!tried && startsAllowed(host, limits, now) > 0) return null
  const waitMs = Math.ceil(earliestStart(host, limits) - now)
  const full = tried || pace.inFlight >= limits.concurrency
  return { waitMs: Math.max(waitMs, full ? SLOT_WAIT_MS : 1), resting: false }
}

/** Of all the proxies of an ask, none of which may be used. */
export function refusal(obstacles: readonly { waitMs: number; resting: boolean }[]): ProxyAnswer {
  if (obstacles.length === 0) return { ok: false, waitMs: 0, why: 'none' }
  const waitMs = obstacles.reduce((least, one) => Math.min(least, one.waitMs), Number.POSITIVE_INFINITY)
  return { ok: false, waitMs, why: obstacles.every((one) => one.resting) ? 'resting' : 'paced' }
}

/** The permit counts from the first answer: a repeat gets what is left of it. */
export function answerOf(hold: Hold, now: number): ProxyAnswer {
  return { ok: true, proxy: hold.proxy, permitMs: Math.max(0, hold.permitMs - Math.max(0, now - hold.grantedAt)) }
}

export function afterGrant({ whole, onSite, pace }: ProxyState, limits: Limits, now: number): ProxyState {
  const started = afterStart(hostPace(pace), limits, now)
  return {
    whole: { ...whole, inFlight: whole.inFlight + 1, usedAt: now },
    onSite: { ...onSite, inFlight: onSite.inFlight + 1, usedAt: now },
    pace: { startedAt: started.startedAt, arrivalAt: started.arrivalAt, inFlight: started.inFlight, usedAt: now },
  }
}

/** The grant is over: reported, or run out (`elapsedMs` null). */
export function afterHold({ whole, onSite, pace }: ProxyState, elapsedMs: number | null, now: number): ProxyState {
  const ended = afterEnd(hostPace(pace), now, elapsedMs)
  return {
    whole: { ...whole, inFlight: Math.max(0, whole.inFlight - 1) },
    onSite: { ...onSite, inFlight: Math.max(0, onSite.inFlight - 1) },
    pace: { ...pace, startedAt: ended.startedAt, inFlight: ended.inFlight },
  }
}

export type SentReport = Pick<ProxyReport, 'verdict' | 'rest' | 'bytes' | 'cost' | 'tookMs'> & {
  readonly elapsedMs: number
}

/** A request was sent. A ban counts on the site alone, a broken proxy everywhere. */
export function afterVerdict(
  state: ProxyState,
  { verdict, rest }: SentReport,
  grantedAt: number,
  now: number,
): ProxyState {
  let whole = { ...state.whole, usedAt: now }
  let onSite = { ...state.onSite, usedAt: now }
  if (verdict.kind === 'good') {
    whole = afterGood(whole, grantedAt)
    onSite = afterGood(onSite, grantedAt)
  } else if (verdict.kind === 'broken') whole = afterBad(whole, rest, null, grantedAt, now)
  else if (verdict.kind === 'banned') onSite = afterBad(onSite, rest, verdict.retryAfterMs, grantedAt, now)
  return { ...state, whole, onSite }
}

/** For the proxy and for the site alike. */
export function counted(
  counts: ProxyCounts,
  { verdict, bytes, cost, elapsedMs, tookMs = elapsedMs }: SentReport,
): ProxyCounts {
  const bucket = bucketOf(tookMs)
  const latency = [...counts.latency]
  latency[bucket] = (latency[bucket] ?? 0) + 1
  const { kind } = verdict
  return {
    good: counts.good + (kind === 'good' ? 1 : 0),
    neutral: counts.neutral + (kind === 'neutral' ? 1 : 0),
    banned: counts.banned + (kind === 'banned' ? 1 : 0),
    broken: counts.broken + (kind === 'broken' ? 1 : 0),
    bytes: counts.bytes + bytes,
    cost: counts.cost + cost,
    latency,
  }
}

export function bucketOf(elapsedMs: number): number {
  const bucket = LATENCY_BUCKETS.findIndex((end) => elapsedMs <= end)
  return bucket < 0 ? LATENCY_BUCKETS.length : bucket
}

/** Nothing is granted during a rest, so a grant of the same millisecond came before it, and says nothing about the time after. */
function beforeRest(health: ProxyHealth, grantedAt: number): boolean {
  return grantedAt <= health.restedAt
}

function afterGood(health: ProxyHealth, grantedAt: number): ProxyHealth {
  if (health.proved && health.strikes === 0 && health.rests === 0) return health
  return beforeRest(health, grantedAt) ? health : { ...health, proved: true, strikes: 0, rests: 0 }
}

/** What the site asked for is done at once; otherwise the rest begins after so many strikes. */
function afterBad(
  health: ProxyHealth,
  rest: RestRules,
  retryAfterMs: number | null,
  grantedAt: number,
  now: number,
): ProxyHealth {
  const askedMs = retryAfterMs !== null && retryAfterMs > 0 ? Math.min(retryAfterMs, rest.capMs) : null
  if (beforeRest(health, grantedAt)) {
    return askedMs === null ? health : { ...health, restsUntil: Math.max(health.restsUntil, now + askedMs) }
  }
  const strikes = health.strikes + 1
  if (askedMs === null && strikes < (health.rests > 0 ? 1 : rest.strikes)) return { ...health, strikes }
  const restMs = askedMs ?? Math.min(rest.capMs, rest.baseMs * 2 ** Math.min(health.rests, MOST_DOUBLINGS))
  return { ...health, proved: false, strikes, rests: health.rests + 1, restedAt: now, restsUntil: now + restMs }
}

/** Woken by a person: as good as new, but requests that were in flight before the rest still do not count. */
export function awake(health: ProxyHealth): ProxyHealth {
  return { ...health, proved: false, strikes: 0, rests: 0, restsUntil: 0 }
}

export function scoreOf(
  { proxy, site }: Pick<ProxyScore, 'proxy' | 'site'>,
  health: ProxyHealth,
  counts: ProxyCounts,
  now: number,
): ProxyScore {
  const { inFlight, restsUntil, strikes, usedAt } = health
  return { proxy, site, ...counts, inFlight, restsUntil: restsUntil > now ? restsUntil : null, strikes, usedAt }
}

function hostPace({ startedAt, arrivalAt, inFlight }: ProxyPace): HostPace {
  return { ...FRESH_HOST, startedAt, arrivalAt, inFlight }
}
