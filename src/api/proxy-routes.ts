import { z } from 'zod'
import { ShoalError } from '../errors.js'
import type { ExitLedger, ExitScore } from '../proxy/proxy-ledger.js'
import { scoreCursor } from '../proxy/score-cursor.js'
import { standingOf } from '../proxy/standing.js'
import type { ExitView, ProxiesView } from './api-types.js'
import { audited } from './audited.js'
import { exitName, paging, poolName } from './inputs.js'
import { type Api, OK, type Route, route } from './route.js'
import { done, exitView, pageOf, proxiesView } from './schemas.js'

/** Rows that one call reads at most: a pool of a thousand proxies on twenty sites has as many, and reads them in parts. */
const ROWS_READ = 5_000
const ROWS_AT_ONCE = 1_000
const SITES_SHOWN = 20

const aPool = z.strictObject({ pool: poolName })

export const proxyRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/proxies',
    summary: 'Pools of proxies',
    answer: proxiesView,
    async handle(api) {
      const names = await poolsKnown(api)
      return { pools: await Promise.all(names.map((pool) => poolView(api, pool))) }
    },
  }),
  route({
    method: 'GET',
    path: '/api/proxies/:pool',
    summary: 'Proxies of a pool, by name: health, rests, success on each site',
    params: aPool,
    query: z.strictObject(paging),
    answer: pageOf(exitView),
    async handle(api, { params: { pool }, query: { limit, after } }) {
      const list = `exits ${pool}`
      const place = after === undefined ? undefined : api.cursors.unwrap(list, after)
      const { scores, next } = await readScores(api.plant.exits, pool, place, limit)
      const exits = new Map<string, ExitScore[]>()
      for (const score of scores) exits.set(score.exit, [...(exits.get(score.exit) ?? []), score])
      return {
        items: [...exits.values()].map(exitAsView),
        next: next === null ? null : api.cursors.wrap(list, next),
      }
    },
  }),
  route({
    method: 'POST',
    path: '/api/proxies/:pool/:exit/wake',
    summary: 'End the rest of a proxy, everywhere',
    params: z.strictObject({ pool: poolName, exit: exitName }),
    body: z.strictObject({}),
    answer: done,
    async handle(api, { params: { pool, exit } }) {
      if (!(await poolsKnown(api)).includes(pool))
        throw new ShoalError('not_found', `there is no pool '${pool}'`, { hint: 'GET /api/proxies lists them.' })
      await audited(api, { action: 'proxy.wake', target: `${pool}/${exit}` }, () => api.plant.exits.wake(pool, exit))
      return OK
    },
  }),
]

/** Those that workers have, or had lately, and those of this process. */
async function poolsKnown({ look, pools }: Api): Promise<string[]> {
  const told = (await look.workers()).flatMap(({ about }) => about?.pools ?? [])
  return [...new Set([...pools, ...told])].sort()
}

async function poolView({ plant, clock }: Api, pool: string): Promise<ProxiesView['pools'][number]> {
  const { scores, next } = await readScores(plant.exits, pool, undefined, ROWS_READ)
  const whole = scores.filter(({ site }) => site === '')
  const now = clock.now()
  const { good, banned, broken } = standingOf(whole)
  const resting = scores.filter(({ restsUntil }) => restsUntil !== null && restsUntil > now)
  return {
    pool,
    exits: whole.length,
    resting: new Set(resting.map(({ exit }) => exit)).size,
    good,
    bad: banned + broken,
    more: next !== null,
  }
}

/** Whole exits, `limit` of them at most; `next`: behind the last row that was used. */
async function readScores(
  ledger: ExitLedger,
  pool: string,
  from: string | undefined,
  limit: number,
): Promise<{ scores: ExitScore[]; next: string | null }> {
  const scores: ExitScore[] = []
  const exits = new Set<string>()
  for (let after = from; scores.length < ROWS_READ; ) {
    const page = await ledger.scores(pool, { limit: ROWS_AT_ONCE, ...(after === undefined ? {} : { after }) })
    for (const score of page) {
      const last = scores.at(-1)
      if (!exits.has(score.exit) && exits.size === limit && last !== undefined)
        return { scores, next: scoreCursor(last) }
      exits.add(score.exit)
      scores.push(score)
    }
    const last = page.at(-1)
    if (last === undefined || page.length < ROWS_AT_ONCE) return { scores, next: null }
    after = scoreCursor(last)
  }
  const last = scores.at(-1)
  return { scores, next: last === undefined ? null : scoreCursor(last) }
}

function exitAsView(rows: readonly ExitScore[]): ExitView {
  const exit = rows[0]?.exit ?? ''
  const whole = rows.find(({ site }) => site === '')
  const { good, neutral, banned, broken, p50Ms, p90Ms, cost } = standingOf(whole === undefined ? [] : [whole])
  const sites = rows
    .filter(({ site }) => site !== '')
    .map((row) => ({ site: row.site, good: row.good, bad: row.banned + row.broken, restsUntil: row.restsUntil }))
    .sort((a, b) => share(b) - share(a) || b.bad - a.bad || (a.site < b.site ? -1 : 1))
  return {
    ...{ exit, good, neutral, banned, broken, p50Ms, p90Ms, cost },
    inFlight: whole?.inFlight ?? 0,
    restsUntil: whole?.restsUntil ?? null,
    sites: sites.slice(0, SITES_SHOWN),
  }
}

function share({ good, bad }: { readonly good: number; readonly bad: number }): number {
  return bad / Math.max(1, good + bad)
}
