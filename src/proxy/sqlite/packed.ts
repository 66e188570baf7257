import type { Limits } from '../../frontier/frontier.js'
import type { ReportOfAsk } from '../ledger-steps.js'
import type { ProxyAsk, ProxyReport, ProxyVerdict, RestRules } from '../proxy-ledger.js'

/**
 * Asks and reports as they travel to the database thread. What many of them share is said once: to copy its texts for each of them, and to hash them
 * again over there, would cost more than to decide.
 */
export interface PackedAsks {
  readonly texts: readonly string[]
  readonly limits: readonly Limits[]
  readonly asks: readonly PackedAsk[]
}

/** Numbers are places in the lists, all but `holdMs`. */
type PackedAsk = readonly [
  ...[ask: string, pool: number, host: number, site: number, limits: number, holdMs: number],
  ...proxies: number[],
]

export interface PackedReports {
  readonly texts: readonly string[]
  readonly rests: readonly RestRules[]
  readonly reports: readonly PackedReport[]
}

type PackedReport = readonly [
  ...[
    ask: string,
    pool: number,
    proxy: number,
    rest: number,
    verdict: ProxyVerdict['kind'],
    retryAfterMs: number | null,
  ],
  ...[elapsedMs: number | null, tookMs: number | undefined, bytes: number, cost: number],
]

export function packAsks(asks: readonly ProxyAsk[]): PackedAsks {
  const texts = places<string>()
  const limits = places<Limits>()
  const packed = asks.map((ask): PackedAsk => {
    const where = [texts.of(ask.pool), texts.of(ask.host), texts.of(ask.site), limits.of(ask.limits)] as const
    return [ask.ask, ...where, ask.holdMs, ...ask.proxies.map(texts.of)]
  })
  return { texts: texts.all, limits: limits.all, asks: packed }
}

export function unpackAsks({ texts, limits, asks }: PackedAsks): ProxyAsk[] {
  return asks.map(([ask, pool, host, site, limit, holdMs, ...proxies]) => ({
    ask,
    pool: at(texts, pool),
    proxies: proxies.map((proxy) => at(texts, proxy)),
    host: at(texts, host),
    site: at(texts, site),
    limits: at(limits, limit),
    holdMs,
  }))
}

export function packReports(reports: readonly ProxyReport[]): PackedReports {
  const texts = places<string>()
  const rests = places<RestRules>()
  const packed = reports.map(({ ask, pool, proxy, rest, verdict, elapsedMs, tookMs, bytes, cost }): PackedReport => {
    const retryAfterMs = verdict.kind === 'banned' ? verdict.retryAfterMs : null
    const who = [ask, texts.of(pool), texts.of(proxy), rests.of(rest)] as const
    return [...who, verdict.kind, retryAfterMs, elapsedMs, tookMs, bytes, cost]
  })
  return { texts: texts.all, rests: rests.all, reports: packed }
}

export function unpackReports({ texts, rests, reports }: PackedReports): ReportOfAsk[] {
  return reports.map(([ask, pool, proxy, rest, kind, retryAfterMs, elapsedMs, tookMs, bytes, cost]) => ({
    ask,
    pool: at(texts, pool),
    proxy: at(texts, proxy),
    verdict: kind === 'banned' ? { kind, retryAfterMs } : { kind },
    elapsedMs,
    ...(tookMs !== undefined && { tookMs }),
    bytes,
    cost,
    rest: at(rests, rest),
  }))
}

/** A list without duplicates. */
function places<Item>() {
  const all: Item[] = []
  const known = new Map<Item, number>()
  return {
    all,
    of(item: Item): number {
      let place = known.get(item)
      if (place === undefined) {
        place = all.push(item) - 1
        known.set(item, place)
      }
      return place
    },
  }
}

function at<Item>(list: readonly Item[], place: number): Item {
  const item = list[place]
  if (item === undefined) throw new Error(`there is no place ${place} in a list of ${list.length}`)
  return item
}
