import { ShoalError } from '../errors.js'
import type { Limits } from '../frontier/frontier.js'
import { strictest } from '../frontier/pace.js'
import type { ProxyId } from '../proxy/proxy.js'
import type { ProxyGrant } from '../proxy/proxy-allocator.js'
import type { ProxyVerdict } from '../proxy/proxy-ledger.js'
import { DIRECT, type ProxyNeed, type Spider } from '../spider/spider.js'
import type { HostKey } from '../url/link.js'
import { type Granted, grantTime, HostBusy, patienceOf, sleepUnlessStopped, untilBack } from './permits.js'
import type { SpiderProxies } from './spider-proxies.js'
import type { Visit, VisitParts } from './visit-parts.js'

/** A host to which no way leads is looked at again after this long at the latest: somebody may have woken a proxy, or added some. */
const LONGEST_CLOSED_MS = 30_000
/** The next proxy is tried after this long. */
const NEXT_EXIT_MS = 200
/** Beyond every deadline of a request. */
const HOLD_SLACK_MS = 10_000

/** A proxy lent to one request. */
export interface Lent {
  readonly grant: ProxyGrant
  readonly granted: Granted
  /** Only the first end counts. Null: nothing was sent. */
  end(how: { readonly verdict: ProxyVerdict; readonly elapsedMs: number; readonly bytes: number } | null): void
}

/** Where a request goes. */
export interface Going {
  /** The pace key. */
  readonly host: HostKey
  readonly site: string
  /** Through this proxy and no other. */
  readonly stay?: ProxyId | undefined
}

/** A proxy that may be used now. When none is free soon enough the host is closed for everybody until one is, and the link goes back. */
export async function borrowProxy(
  current: Visit,
  parts: VisitParts,
  ways: SpiderProxies,
  need: ProxyNeed,
  { host, site, ...going }: Going,
): Promise<Lent> {
  const { clock, spider, log, outbox, visitors } = parts
  // Without a proxy each site has a proxy of its own, and all of them are the same way.
  const stay = need === DIRECT ? undefined : going.stay
  const pool = ways.poolOf(need, site)
  if (pool === null) {
    log.info('proxies.resting', {
      fp: current.lease.link.fp,
      pool: need.pool,
      country: need.country,
      host,
      why: 'not at hand',
    })
    throw new HostBusy(`${host} through ${need.pool}`, LONGEST_CLOSED_MS)
  }
  const { totalMs, connectMs } = spider.fetch
  const asked = {
    ...{ pool, country: need.country, host, site, choose: spider.proxies?.choose ?? 'cheapest' },
    limits: limitsOf(spider, current.lease.link.route, host),
    holdMs: totalMs + connectMs + HOLD_SLACK_MS,
    ...(stay !== undefined && { stay }),
    ...(visitors && { prefer: visitors.live(pool.name, site) }),
  }
  let giveUpAt: number | null = null
  for (;;) {
    let askedAt = 0
    const acquired = await untilBack(
      () => {
        askedAt = clock.mono()
        return ways.allocator.acquire(asked)
      },
      current,
      clock,
    )
    if (acquired.ok)
      return lentUntilEnd(ways, acquired.grant, {
        at: grantTime(askedAt, clock.mono()),
        forMs: acquired.grant.permitMs,
      })
    const { waitMs, why } = acquired
    giveUpAt ??= clock.mono() + patienceOf(current)
    if (why === 'paced' && clock.mono() + waitMs <= giveUpAt) {
      await sleepUnlessStopped(waitMs, current, clock)
      continue
    }
    // Another visitor may come at any time: only this one has to wait. Where its proxy rests the link goes on with another.
    if (stay !== undefined) throw new HostBusy(`${host} through ${stay}`, why === 'paced' ? waitMs : NEXT_EXIT_MS)
    const closedMs = Math.min(LONGEST_CLOSED_MS, why === 'none' ? LONGEST_CLOSED_MS : waitMs)
    // Where some links go out by other ways, only this one waits.
    if (spider.proxies?.needs.length === 1) {
      const { crawl, token } = current.lease
      outbox.release({ lease: { crawl, token }, host, elapsedMs: 0, report: { kind: 'wait', ms: closedMs } })
    }
    if (why === 'paced') throw new HostBusy(host, closedMs)
    log.info('proxies.resting', {
      fp: current.lease.link.fp,
      pool: pool.name,
      country: need.country,
      host,
      why,
      waitMs: closedMs,
    })
    throw new ShoalError('proxies_resting', `no proxy of ${pool.name} can be used for ${host} now`, {
      cause: { waitMs: closedMs },
    })
  }
}

/** Of one proxy on the host. */
function limitsOf(spider: Spider, route: string, host: HostKey): Limits {
  const own = spider.keyLimits[host] ?? spider.limits
  const ofRoute = spider.routes.get(route)?.limits ?? null
  return ofRoute === null ? own : strictest([own, ofRoute])
}

function lentUntilEnd({ allocator }: SpiderProxies, grant: ProxyGrant, granted: Granted): Lent {
  let ended = false
  return {
    grant,
    granted,
    end(how) {
      if (ended) return
      ended = true
      allocator.report(grant, how ?? { verdict: { kind: 'neutral' }, elapsedMs: null, bytes: 0 })
    },
  }
}
