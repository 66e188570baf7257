import type { Random } from '../clock.js'
import type { Pool, ProxyChoice } from './pool.js'
import type { PoolProxy, ProxyId } from './proxy.js'
import type { ProxyScore } from './proxy-ledger.js'

/** Of the asks of a pool that goes by cost, this share tries first what is least known: prices and bans change. */
export const EXPLORE = 0.05
/** Makes proxies that cost nothing differ by how often they work. */
const TINY_COST = 1e-9
const GB = 1e9

export interface Choosing {
  readonly choose: ProxyChoice
  readonly country: string | null
  readonly prefer?: readonly ProxyId[]
  readonly stay?: ProxyId
  /** Counts the asks of this pool: a rotating pool begins one further each time. */
  readonly turn: number
  /** On the site in question, by proxy. */
  readonly scores: ReadonlyMap<ProxyId, ProxyScore>
}

/** The proxies of a pool for one ask, best first. */
export function chooseProxies(pool: Pool, choosing: Choosing, random: Random): PoolProxy[] {
  const { choose, country, prefer = [], stay, turn, scores } = choosing
  const fits = (proxy: PoolProxy) =>
    (country === null || proxy.country === country) && (stay === undefined || proxy.id === stay)
  const fitting = country === null && stay === undefined ? pool.proxies : pool.proxies.filter(fits)
  const ordered = inOrder(choose, rotated(fitting, turn), scores, random)
  if (prefer.length === 0) return ordered
  const preferred = new Set(prefer)
  return [...ordered.filter((proxy) => preferred.has(proxy.id)), ...ordered.filter((proxy) => !preferred.has(proxy.id))]
}

function inOrder(choose: ProxyChoice, proxies: PoolProxy[], scores: Choosing['scores'], random: Random): PoolProxy[] {
  if (proxies.length < 2 || choose === 'rotate') return proxies
  // The sort is stable: what is equal stays in turn.
  if (choose === 'weighted') return sortedBy(proxies, (proxy) => -(random() ** (1 / proxy.weight)))
  if (random() < EXPLORE) return sortedBy(proxies, (proxy) => triesOf(scores.get(proxy.id)))
  return sortedBy(proxies, (proxy) => costStep(expectedCost(proxy, scores.get(proxy.id))))
}

function rotated(proxies: readonly PoolProxy[], turn: number): PoolProxy[] {
  const start = proxies.length === 0 ? 0 : turn % proxies.length
  return [...proxies.slice(start), ...proxies.slice(0, start)]
}

function sortedBy(proxies: readonly PoolProxy[], rank: (proxy: PoolProxy) => number): PoolProxy[] {
  return proxies
    .map((proxy) => ({ proxy, value: rank(proxy) }))
    .sort((a, b) => a.value - b.value)
    .map(({ proxy }) => proxy)
}

function triesOf(score: ProxyScore | undefined): number {
  return score === undefined ? 0 : score.good + score.neutral + score.banned + score.broken
}

/**
 * Of one good page of the site. One good answer is assumed beforehand, so that what is unknown looks as good as it can be and is tried, and a
 * single failure does not condemn.
 */
export function expectedCost(proxy: PoolProxy, score: ProxyScore | undefined): number {
  const tries = triesOf(score)
  const bytes = tries === 0 ? 0 : (score?.bytes ?? 0) / tries
  const ofRequest = proxy.cost.perRequest + (proxy.cost.perGb * bytes) / GB
  return ((ofRequest + TINY_COST) * (tries + 1)) / ((score?.good ?? 0) + 1)
}

/** In steps of a tenth: what costs about the same takes turns. */
function costStep(cost: number): number {
  return Math.round(Math.log(cost) / Math.log(1.1))
}
