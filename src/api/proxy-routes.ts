import { z } from 'zod'
import { ShoalError } from '../errors.js'
import type { ProxyLedger, ProxyScore } from '../proxy/proxy-ledger.js'
import { scoreCursor } from '../proxy/proxy-ledger.js'
import { totalsOf } from '../proxy/proxy-totals.js'
import type { ProxiesView, ProxyView } from './api-types.js'
import { paging, poolName, proxyName } from './inputs.js'
import { audited } from './parts.js'
import { type Api, OK, type Route, route } from './route.js'
import { done, pageOf, proxiesView, proxyView } from './schemas.js'

/** Rows that one call reads at most: a thousand proxies on twenty sites have as many, and are read in parts. */
const ROWS_READ = 5_000
const ROWS_AT_ONCE = 1_000
const SITES_SHOWN = 20

const aPool = z.strictObject({ pool: poolName })

export const proxyRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/proxies',
    summary: 'Proxy pools',
    answer: proxiesView,
    async handle(api) {
      const names = await poolsKnown(api)
      return { pools: await Promise.all(names.map((pool) => poolView(api, pool))) }
    },
  }),
  route({
    method: 'GET',
    path: '/api/proxies/:pool',
    summary: 'Proxies of a pool, by name: success, latency, bans and rests on each site',
    params: aPool,
    query: z.strictObject(paging),
    answer: pageOf(proxyView),
    async handle(api, { params: { pool }, query: { limit, after } }) {
      const list = `proxies ${pool}`
      const place = after === undefined ? undefined : api.cursors.unwrap(list, after)
      const { scores, next } = await readScores(api.backends.proxies, pool, place, limit)
      const proxies = new Map<string, ProxyScore[]>()
      for (const score of scores) proxies.set(score.proxy, [...(proxies.get(score.proxy) ?? []), score])
      return {
        items: [...proxies.values()].map(proxyAsView),
        next: next === null ? null : api.cursors.wrap(list, next),
      }
    },
  }),
  route({
    method: 'POST',
    path: '/api/proxies/:pool/:proxy/wake',
    summary: 'End the rest of a proxy, everywhere',
    params: z.strictObject({ pool: poolName, proxy: proxyName }),
    body: z.strictObject({}),
    answer: done,
    async handle(api, { params: { pool, proxy } }) {
      if (!(await poolsKnown(api)).includes(pool))
        throw new ShoalError('not_found', `there is no pool '${pool}'`, { hint: 'GET /api/proxies lists them.' })
      await audited(api, { action: 'proxy.wake', target: `${pool}/${proxy}` }, () =>
        api.backends.proxies.wake(pool, proxy),
      )
      return OK
    },
  }),
]

/** Pools that workers have, or had recently, and those of this process. */
async function poolsKnown({ snapshots, pools }: Api): Promise<string[]> {
  const reported = (await snapshots.workers()).flatMap(({ about }) => about?.pools ?? [])
  return [...new Set([...pools, ...reported])].sort()
}

async function poolView({ backends, clock }: Api, pool: string): Promise<ProxiesView['pools'][number]> {
  const { scores, next } = await readScores(backends.proxies, pool, undefined, ROWS_READ)
  const whole = scores.filter(({ site }) => site === '')
  const now = clock.now()
  const { good, banned, broken } = totalsOf(whole)
  const resting = scores.filter(({ restsUntil }) => restsUntil !== null && restsUntil > now)
  return {
    pool,
    proxies: whole.length,
    resting: new Set(resting.map(({ proxy }) => proxy)).size,
    good,
    bad: banned + broken,
    more: next !== null,
  }
}

/** At most `limit` whole proxies; `next`: after the last row that was used. */
async function readScores(
  ledger: ProxyLedger,
  pool: string,
  from: string | undefined,
  limit: number,
): Promise<{ scores: ProxyScore[]; next: string | null }> {
  const scores: ProxyScore[] = []
  const proxies = new Set<string>()
  for (let after = from; scores.length < ROWS_READ; ) {
    const page = await ledger.scores(pool, { limit: ROWS_AT_ONCE, ...(after === undefined ? {} : { after }) })
    for (const score of page) {
      const last = scores.at(-1)
      if (!proxies.has(score.proxy) && proxies.size === limit && last !== undefined)
        return { scores, next: scoreCursor(last) }
      proxies.add(score.proxy)
      scores.push(score)
    }
    const last = page.at(-1)
    if (last === undefined || page.length < ROWS_AT_ONCE) return { scores, next: null }
    after = scoreCursor(last)
  }
  const last = scores.at(-1)
  return { scores, next: last === undefined ? null : scoreCursor(last) }
}

function proxyAsView(rows: readonly ProxyScore[]): ProxyView {
  const proxy = rows[0]?.proxy ?? ''
  const whole = rows.find(({ site }) => site === '')
  const { good, neutral, banned, broken, p50Ms, p90Ms, cost } = totalsOf(whole === undefined ? [] : [whole])
  const sites = rows
    .filter(({ site }) => site !== '')
    .map((row) => ({ site: row.site, good: row.good, bad: row.banned + row.broken, restsUntil: row.restsUntil }))
    .sort((a, b) => share(b) - share(a) || b.bad - a.bad || (a.site < b.site ? -1 : 1))
  return {
    ...{ proxy, good, neutral, banned, broken, p50Ms, p90Ms, cost },
    inFlight: whole?.inFlight ?? 0,
    restsUntil: whole?.restsUntil ?? null,
    sites: sites.slice(0, SITES_SHOWN),
  }
}

function share({ good, bad }: { readonly good: number; readonly bad: number }): number {
  return bad / Math.max(1, good + bad)
}
