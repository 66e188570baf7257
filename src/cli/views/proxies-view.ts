import type { PoolProxy } from '../../proxy/proxy.js'
import type { ProxyScore } from '../../proxy/proxy-ledger.js'
import { type ProxyTotals, totalsOf } from '../../proxy/proxy-totals.js'
import { clean } from '../terminal/clean.js'
import { bar, count, duration } from '../terminal/format.js'
import type { Style } from '../terminal/style.js'
import { type Column, figure, figures } from '../terminal/table.js'

const BAR_WIDTH = 10

/** The columns that every proxy table has after its first ones. */
export const TOTALS_COLUMNS: readonly Column[] = [
  figure('requests'),
  'success',
  ...figures('bans', 'broken', 'p50', 'p90', 'p99', 'per 1,000 good'),
]

export function totalsCells(totals: ProxyTotals, style: Style): string[] {
  const { requests, success, banned, broken, p50Ms, p90Ms, p99Ms, costPer1000 } = totals
  return [
    count(requests),
    success === null ? '' : successText(success, style),
    count(banned),
    count(broken),
    ...[p50Ms, p90Ms, p99Ms].map((ms) => (ms === null ? '' : duration(ms))),
    costPer1000 === null ? '' : price(costPer1000),
  ]
}

function successText(success: number, style: Style): string {
  const paint = success >= 0.9 ? style.green : success >= 0.5 ? style.yellow : style.red
  return `${paint(bar(success, BAR_WIDTH))} ${`${Math.floor(success * 100)} %`.padStart(5)}`
}

/** In the currency of the proxies file. */
export function price(value: number): string {
  if (value === 0) return '0'
  return value >= 0.01 ? value.toFixed(2) : value.toPrecision(2)
}

export interface SiteTotals extends ProxyTotals {
  readonly site: string
}

/** By site, busiest first. */
export function bySite(scores: readonly ProxyScore[]): SiteTotals[] {
  const sites = new Map<string, ProxyScore[]>()
  for (const score of scores) {
    if (score.site === '') continue
    const known = sites.get(score.site)
    if (known === undefined) sites.set(score.site, [score])
    else known.push(score)
  }
  return [...sites]
    .map(([site, rows]) => ({ site, ...totalsOf(rows) }))
    .sort((a, b) => b.requests - a.requests || (a.site < b.site ? -1 : 1))
}

export interface TotalsOfProxy extends ProxyTotals {
  readonly proxy: string
  /** Null: not given, or no longer in the proxies file. */
  readonly country: string | null
  readonly inUse: number
  /** Where it is resting and for how much longer; site '': everywhere. */
  readonly rests: readonly { readonly site: string; readonly ms: number }[]
}

/** By proxy, on one site or on all; unused proxies come last. */
export function byProxy(
  proxies: readonly Pick<PoolProxy, 'id' | 'country'>[],
  scores: readonly ProxyScore[],
  site: string | null,
  now: number,
): TotalsOfProxy[] {
  const rows = new Map<string, ProxyScore[]>(proxies.map(({ id }) => [id, []]))
  for (const score of scores) rows.set(score.proxy, [...(rows.get(score.proxy) ?? []), score])
  const countries = new Map(proxies.map(({ id, country }) => [id, country]))
  return [...rows]
    .map(([proxy, own]) => {
      const felt = own.filter((row) => site === null || row.site === '' || row.site === site)
      return {
        proxy,
        country: countries.get(proxy) ?? null,
        ...totalsOf(own.filter((row) => row.site === (site ?? ''))),
        inUse: own.find((row) => row.site === '')?.inFlight ?? 0,
        rests: felt.flatMap((row) =>
          row.restsUntil !== null && row.restsUntil > now ? [{ site: row.site, ms: row.restsUntil - now }] : [],
        ),
      }
    })
    .sort((a, b) => b.requests - a.requests || (a.proxy < b.proxy ? -1 : 1))
}

export function restText({ rests }: TotalsOfProxy, style: Style): string {
  if (rests.length === 0) return ''
  const [first] = [...rests].sort((a, b) => b.ms - a.ms)
  if (first === undefined) return ''
  const more = rests.length > 1 ? ` and ${count(rests.length - 1)} more` : ''
  return style.yellow(`${duration(first.ms)}${first.site === '' ? '' : ` on ${clean(first.site)}`}${more}`)
}
