import { ShoalError } from '../errors.js'
import type { Limits } from '../frontier/frontier.js'
import { strictest } from '../frontier/pace.js'
import { Busy } from '../politeness/busy.js'
import type { Pool } from '../proxy/pool.js'
import type { ProxyId } from '../proxy/proxy.js'
import type { Acquired, ProxyGrant } from '../proxy/proxy-allocator.js'
import { DIRECT, type ProxyNeed, type Spider } from '../spider/spider.js'
import { hostIn, siteOf } from '../url/host.js'
import type { HostKey } from '../url/link.js'
import type { Lent, Sending } from './layer.js'
import type { SpiderProxies } from './visit-parts.js'
import { type Granted, grantTime, patienceOf, sleepUnlessStopped, untilBack } from './waits.js'

/** A host that no proxy can reach is tried again after this long at the latest: somebody may have woken a proxy, or added some. */
const LONGEST_CLOSED_MS = 30_000
/** The next proxy is tried after this long. */
const NEXT_PROXY_MS = 200
/** Added to the deadlines of a request. */
const HOLD_SLACK_MS = 10_000

/** A proxy that may be used now, and only `bound` where the request is bound to one. */
export async function borrowProxy(
  sending: Sending,
  proxies: SpiderProxies,
  need: ProxyNeed,
  bound: ProxyId | undefined,
): Promise<Lent | Busy> {
  const { current, parts, request } = sending
  const { clock, spider, visitors } = parts
  const [host] = sending.keys
  const site = siteOf(hostIn(request.url))
  // `direct` has one proxy for each site, which are all the same route.
  const stay = need === DIRECT ? undefined : bound
  const pool = proxies.poolOf(need, site)
  if (pool === null) {
    logResting(sending, need.pool, need, { why: 'not at hand' })
    return new Busy(LONGEST_CLOSED_MS)
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
        return proxies.allocator.acquire(asked)
      },
      current,
      clock,
    )
    if (acquired.ok) {
      const { grant } = acquired
      return lentUntilEnd(proxies, grant, { at: grantTime(askedAt, clock.mono()), forMs: grant.permitMs })
    }
    giveUpAt ??= clock.mono() + patienceOf(current)
    if (acquired.why !== 'paced' || clock.mono() + acquired.waitMs > giveUpAt)
      return refused(sending, acquired, pool, need, stay)
    await sleepUnlessStopped(acquired.waitMs, current, clock)
  }
}

/** None is free soon enough: the host is closed for everybody until one is, and the link goes back. */
function refused(
  sending: Sending,
  { why, waitMs }: Extract<Acquired, { ok: false }>,
  pool: Pool,
  need: ProxyNeed,
  stay: ProxyId | undefined,
): Busy {
  const { current, parts } = sending
  const [host] = sending.keys
  // Another visitor may come at any time: only this one has to wait. If its proxy rests, the link continues with another.
  if (stay !== undefined) return new Busy(why === 'paced' ? waitMs : NEXT_PROXY_MS)
  const closedMs = Math.min(LONGEST_CLOSED_MS, why === 'none' ? LONGEST_CLOSED_MS : waitMs)
  // Where other links of the spider use other pools, only this one waits.
  const closesHost = parts.spider.proxies?.needs.length === 1
  if (closesHost) {
    const { crawl, token } = current.lease
    parts.outbox.release({ lease: { crawl, token }, host, elapsedMs: 0, report: { kind: 'wait', ms: closedMs } })
  }
  if (why === 'paced') return new Busy(closedMs, closesHost ? host : null)
  logResting(sending, pool.name, need, { why, waitMs: closedMs })
  throw new ShoalError('proxies_resting', `no proxy of ${pool.name} can be used for ${host} now`, {
    cause: { waitMs: closedMs },
  })
}

function logResting(
  { current, parts, keys: [host] }: Sending,
  pool: string,
  { country }: ProxyNeed,
  reason: { readonly why: string; readonly waitMs?: number },
): void {
  parts.log.info('proxies.resting', { fp: current.lease.link.fp, pool, country, host, ...reason })
}

/** The pace of each proxy on the host. */
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
