import { randomUUID } from 'node:crypto'
import type { Clock } from '../../clock.js'
import { shareProxies } from '../../coordinator/proxies.js'
import type { Log } from '../../log.js'
import type { Spider } from '../../spider/spider.js'
import { warnUnlessAway } from '../../while-away.js'
import type { Backends } from '../../wire/backends.js'
import { countAtHand, type PoolsAtHand } from '../pools-at-hand.js'

const SHARED_EVERY_MS = 60_000

/** The name under which this process claims notes. */
const HOLDER = randomUUID()

export function shareProxiesNow(backends: Backends, spiders: readonly Spider[], pools: PoolsAtHand): Promise<void> {
  return shareProxies(backends, HOLDER, spiders, (need) => countAtHand(pools, need))
}

/** Reports to the fleet every minute how many proxies this process has, because the queue may lose its notes. */
export async function startProxyDuties(
  backends: Backends,
  spiders: readonly Spider[],
  pools: PoolsAtHand,
  { clock, log, signal }: { readonly clock: Clock; readonly log: Log; readonly signal: AbortSignal },
): Promise<void> {
  while (pools.size > 0 && !signal.aborted) {
    try {
      await shareProxiesNow(backends, spiders, pools)
    } catch (error) {
      warnUnlessAway(log, error)
    }
    await clock.sleep(SHARED_EVERY_MS, signal)
  }
}
