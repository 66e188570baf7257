import { retryAfterIn } from '../../politeness/retry-after.js'
import type { Pool } from '../../proxy/pool.js'
import type { ProxyAllocator } from '../../proxy/proxy-allocator.js'
import { verdictOfAnswer, verdictOfError } from '../../proxy/verdict.js'
import { DIRECT, type Spider } from '../../spider/spider.js'
import type { SpiderProxies } from '../../worker/visit-parts.js'

/**
 * No proxy, for those routes of a spider with proxies that use none. It never rests: 429 blocks the host, as always without proxies. Each site has its
 * own pool, so that a site that hangs does not slow down the others.
 */
function directPool(site: string): Pool {
  return {
    name: DIRECT.pool,
    kind: 'direct',
    proxies: [
      {
        ...{ id: `direct ${site}`, pool: DIRECT.pool, kind: 'direct', country: null, weight: 1 },
        ...{ cost: { perRequest: 0, perGb: 0 }, via: { by: 'direct' } },
      },
    ],
    rest: { strikes: Number.MAX_SAFE_INTEGER, baseMs: 0, capMs: 0 },
    rotation: { requests: Number.MAX_SAFE_INTEGER, timeMs: Number.MAX_SAFE_INTEGER },
  }
}

/** The proxies of a spider; null when it uses none. */
export function spiderProxies(
  { proxies }: Spider,
  allocator: ProxyAllocator,
  pools: ReadonlyMap<string, Pool>,
): SpiderProxies | null {
  if (proxies === null) return null
  return {
    allocator,
    poolOf: (need, site) => (need === DIRECT ? directPool(site) : (pools.get(need.pool) ?? null)),
    verdictOf: (response) =>
      verdictOfAnswer({ ...response, retryAfterMs: retryAfterIn(response.headers) }, proxies.banned),
    verdictOfError,
  }
}
