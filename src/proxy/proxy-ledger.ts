import type { Limits } from '../frontier/frontier.js'
import type { HostKey } from '../url/link.js'
import type { ProxyId } from './proxy.js'

/**
 * What the fleet knows of its proxies, kept by the queue's engine: who uses which one on which host right now, which are resting after a ban or a
 * failure, and how each of them does on each site. It knows names alone, never an address or a password. Times are those of the queue.
 * Duties of every driver:
 *  - A grant is decided in one step for the whole fleet: no proxy is asked faster on a host than its limits, whoever asks.
 *  - A proxy that rests is granted to nobody. One that has not proved itself (new, back from a rest, or after a bad answer) has one request in flight at a
 *    time, over all workers, until a good answer: a dead proxy costs the fleet a few tries and not a few for each worker.
 *  - Every call can be repeated: a grant by its ask, a report by its ask; a report for an ask that is not held changes nothing.
 *  - A grant that is never reported (its worker died) ends after `holdMs`, and says nothing about the proxy.
 *  - Cost does not grow with the number of sites or hosts ever asked; what was not used for a week is forgotten.
 */
export interface ProxyLedger {
  grant(asks: readonly ProxyAsk[]): Promise<ProxyAnswer[]>
  report(reports: readonly ProxyReport[]): Promise<void>
  /** Of a pool, by proxy and site; `site` '' is the proxy as a whole. Only those that were used. `after`: the `scoreCursor` of the last one. */
  scores(pool: string, page: { readonly limit: number; readonly after?: string }): Promise<ProxyScore[]>
  /** Those of one site, for choosing: at most one row for each proxy. */
  scoresOn(pool: string, site: string): Promise<ProxyScore[]>
  /** Ends the rest of a proxy, everywhere. */
  wake(pool: string, proxy: ProxyId): Promise<void>
}

export interface ProxyAsk {
  /** Names this ask: the same again gets the same proxy while it is held, and what is left of the permit (0: report it as not sent, and ask anew). */
  readonly ask: string
  readonly pool: string
  /** The first of them that may be used is granted: best first. */
  readonly proxies: readonly ProxyId[]
  /** The pace key. */
  readonly host: HostKey
  /** Its registrable domain: bans and scores are kept for it. */
  readonly site: string
  /** Of one proxy on the host. */
  readonly limits: Limits
  readonly holdMs: number
}

export type ProxyAnswer =
  | { readonly ok: true; readonly proxy: ProxyId /** Good for this long. */; readonly permitMs: number }
  /** `paced`: one of them is free in `waitMs`. `resting`: all of them rest, the first until then. `none`: no proxy was named. */
  | { readonly ok: false; readonly waitMs: number; readonly why: 'paced' | 'resting' | 'none' }

export interface ProxyReport {
  readonly ask: string
  readonly pool: string
  readonly proxy: ProxyId
  readonly host: HostKey
  readonly site: string
  readonly limits: Limits
  readonly verdict: ProxyVerdict
  /** Since the request reached the site, at the latest; null when nothing was sent: then the report only ends the grant. */
  readonly elapsedMs: number | null
  /** The whole request, where that is longer: its latency. */
  readonly tookMs?: number
  readonly bytes: number
  readonly cost: number
  readonly rest: RestRules
}

/**
 * `good`: a page came through. `neutral`: the site failed in a way that says nothing about the proxy. `banned`: the site refuses this proxy (it rests on
 * that site alone). `broken`: the proxy itself does not work (it rests everywhere).
 */
export type ProxyVerdict =
  | { readonly kind: 'good' | 'neutral' | 'broken' }
  | {
      readonly kind: 'banned' /** What the site asked for: it rests at once, for so long. */
      readonly retryAfterMs: number | null
    }

/** How a proxy rests, by the kind of its pool. */
export interface RestRules {
  /** Bad answers in a row before it rests. One that came back from a rest has only one chance. */
  readonly strikes: number
  /** The first rest; each one without a good answer between is twice as long. */
  readonly baseMs: number
  readonly capMs: number
}

export interface ProxyScore {
  readonly proxy: ProxyId
  readonly site: string
  readonly good: number
  readonly neutral: number
  readonly banned: number
  readonly broken: number
  readonly bytes: number
  readonly cost: number
  /** Requests by duration: see `LATENCY_BUCKETS`. */
  readonly latency: readonly number[]
  /** Requests under way. */
  readonly inFlight: number
  readonly restsUntil: number | null
  readonly strikes: number
  readonly usedAt: number
}

/** Upper ends in milliseconds; the last bucket has none. */
export const LATENCY_BUCKETS = [25, 50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600] as const

/** The place of a score in the order of `scores`: as `after`, it makes the next page begin behind it. */
export function scoreCursor({ proxy, site }: Pick<ProxyScore, 'proxy' | 'site'>): string {
  return `${proxy}\n${site}`
}
