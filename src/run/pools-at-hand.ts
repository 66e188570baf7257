import type { ProcessSettings } from '../config.js'
import { ShoalError } from '../errors.js'
import type { Pool } from '../proxy/pool.js'
import { chosenPools, loadPools } from '../proxy/pools.js'
import { DIRECT, type ProxyNeed, type Spider } from '../spider/spider.js'

export type PoolsAtHand = ReadonlyMap<string, Pool>

/** Refuses spiders whose pools this process does not have, unless --pool or --country limit it to some of them on purpose. */
export function poolsAtHand(
  { proxies, pool, country }: Pick<ProcessSettings, 'proxies' | 'pool' | 'country'>,
  spiders: readonly Spider[],
): PoolsAtHand {
  const needs = spiders.flatMap((spider) => spider.proxies?.needs ?? []).filter((need) => need !== DIRECT)
  // A file that no spider needs is not even read.
  if (needs.length === 0) return new Map()
  const pools = new Map(chosenPools(loadPools(proxies, process.env), pool, country).map((one) => [one.name, one]))
  const missing = needs.filter((need) => countAtHand(pools, need) === 0)
  const partly = (pool !== null || country !== null) && missing.length < needs.length
  const [first] = missing
  if (first !== undefined && !partly) {
    const where = first.country === null ? '' : ` in the country '${first.country}'`
    throw new ShoalError('proxy_unknown', `the spider uses the proxy pool '${first.pool}', but there is none${where}`)
  }
  return pools
}

export function countAtHand(pools: PoolsAtHand, { pool, country }: ProxyNeed): number {
  const proxies = pools.get(pool)?.proxies ?? []
  return proxies.filter((proxy) => country === null || proxy.country === country).length
}

/** At least some pages of the spider can be fetched with these pools. */
export function isServed({ proxies }: Spider, pools: PoolsAtHand): boolean {
  return proxies === null || proxies.needs.some((need) => need === DIRECT || countAtHand(pools, need) > 0)
}
