import type { z } from 'zod'
import { atLeastOne, options } from '../../../options.js'
import { count, type Finding, FORGETFUL, minutes, type PoolSnapshot, type Rule, type WatchedCrawl } from './rule.js'

const settings = options({ pending: atLeastOne.default(1) })
type Settings = z.output<typeof settings>

/** Between two tries a host is open for a moment. */
const JUST_OPEN_MS = 60_000
const NAMED_OF_A_CRAWL = 5

export const proxiesResting: Rule<Settings, null> = {
  ...FORGETFUL,
  rule: 'proxies_resting',
  meaning:
    'All proxies of a pool rest, everywhere or on a host with `pending` links or more: nothing can be fetched through them until the first is back.',
  settings,
  lastingMs: 30_000,
  judge: ({ crawls, pools, now }, { pending }) => ({
    memory: null,
    found: [
      ...pools.filter(({ proxies, resting }) => proxies > 0 && resting >= proxies).map((pool) => ofPool(pool, now)),
      ...crawls.flatMap((crawl) => ofHosts(crawl, pending, now)),
    ],
  }),
}

const NEXT =
  'See which and why with `shoal proxies list`; `shoal proxies test` tries them, further ones or a slower pace help.'

function ofPool({ pool, proxies, firstBackAt }: PoolSnapshot, now: number): Finding {
  const backMs = Math.max(0, (firstBackAt ?? now) - now)
  return {
    ...{ about: pool, crawl: null, spider: null, level: 'over', severity: 'critical' },
    message: `all ${count(proxies)} proxies of the pool ${pool} rest, the first for another ${minutes(backMs)}`,
    next: NEXT,
    fields: { pool, proxies, backMs },
  }
}

/** A host that is closed without having asked for it has no way that leads to it. */
function ofHosts({ look }: WatchedCrawl, pending: number, now: number): Finding[] {
  const { id, spider } = look.stats
  const closed = look.hosts.filter(
    (host) =>
      host.pending >= pending &&
      host.throttles === 0 &&
      host.set?.blocked !== true &&
      host.blockedUntil !== null &&
      host.blockedUntil > now - JUST_OPEN_MS,
  )
  return closed.slice(0, NAMED_OF_A_CRAWL).map((host) => {
    const backMs = Math.max(0, (host.blockedUntil ?? 0) - now)
    return {
      ...{ about: host.host, crawl: id, spider, level: backMs > 0 ? 'over' : 'near', severity: 'warn' },
      message: `every way to ${host.host} rests${backMs > 0 ? `, the first proxy for another ${minutes(backMs)}` : ''}: ${count(host.pending)} links wait${closed.length > 1 ? `; ${count(closed.length)} hosts are like that` : ''}`,
      next: NEXT,
      fields: { host: host.host, backMs, pending: host.pending, hosts: closed.length },
    }
  })
}
