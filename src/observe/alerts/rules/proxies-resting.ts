import type { z } from 'zod'
import { atLeastOne, options } from '../../../options.js'
import {
  count,
  type Finding,
  minutes,
  type PoolSnapshot,
  type Rule,
  STATELESS,
  type WatchedCrawl,
  waitingLinks,
} from './rule.js'

const settings = options({ pending: atLeastOne.default(1) })
type Settings = z.output<typeof settings>

/** Between two attempts a host is open for a moment. */
const JUST_OPEN_MS = 60_000
const NAMED_PER_CRAWL = 5

export const proxiesResting: Rule<Settings, null> = {
  ...STATELESS,
  rule: 'proxies_resting',
  meaning:
    'All proxies of a pool are resting, everywhere or on a host with at least `pending` links: nothing can be fetched until the first is back.',
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
  'See which and why with `shoal proxies list`, and test them with `shoal proxies test`. More proxies or a slower pace help.'

function ofPool({ pool, proxies, firstBackAt }: PoolSnapshot, now: number): Finding {
  const backMs = Math.max(0, (firstBackAt ?? now) - now)
  return {
    ...{ about: pool, crawl: null, spider: null, level: 'over', severity: 'critical' },
    message: `${proxies === 1 ? `the only proxy of the pool ${pool} is` : `all ${count(proxies)} proxies of the pool ${pool} are`} resting; the first is back in ${minutes(backMs)}`,
    next: NEXT,
    fields: { pool, proxies, backMs },
  }
}

/** A host that is blocked without having rate limited us has no usable proxy. */
function ofHosts({ snapshot }: WatchedCrawl, pending: number, now: number): Finding[] {
  const { id, spider } = snapshot.stats
  const closed = snapshot.hosts.filter(
    (host) =>
      host.pending >= pending &&
      host.throttles === 0 &&
      host.set?.blocked !== true &&
      host.blockedUntil !== null &&
      host.blockedUntil > now - JUST_OPEN_MS,
  )
  return closed.slice(0, NAMED_PER_CRAWL).map((host) => {
    const backMs = Math.max(0, (host.blockedUntil ?? 0) - now)
    return {
      ...{ about: host.host, crawl: id, spider, level: backMs > 0 ? 'over' : 'near', severity: 'warn' },
      message: `all proxies for ${host.host} are resting${backMs > 0 ? `, the first for another ${minutes(backMs)}` : ''}: ${waitingLinks(host.pending)}${closed.length > 1 ? `; ${count(closed.length)} hosts are affected` : ''}`,
      next: NEXT,
      fields: { host: host.host, backMs, pending: host.pending, hosts: closed.length },
    }
  })
}
