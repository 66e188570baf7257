import type { Clock, Random } from '../clock.js'
import type { FetchRequest } from '../fetch/fetcher.js'
import type { Rotation } from '../proxy/pool.js'
import type { ProxyId } from '../proxy/proxy.js'
import type { ProxyGrant } from '../proxy/proxy-allocator.js'
import { createSessions, type Session } from '../proxy/session.js'
import { DIRECT, type Spider } from '../spider/spider.js'

/** The sessions of a spider in this thread. A grant of null: without a proxy. */
export interface Visitors {
  /** Proxies whose sessions have not ended: to be preferred. */
  live(pool: string, site: string): ProxyId[]
  /** Who makes the next request. Null: a scraping service, which has cookies of its own. */
  next(grant: ProxyGrant | null, site: string): Session | null
  /** The site refuses it, or its proxy does not work. */
  end(grant: ProxyGrant | null, site: string): void
}

const DIRECT_PROXY = 'direct'
const FOR_EVER: Rotation = { requests: Number.MAX_SAFE_INTEGER, timeMs: Number.MAX_SAFE_INTEGER }

export function visitorsOf({ name, session }: Spider, clock: Clock, random: Random): Visitors | null {
  if (session === null) return null
  const { cookies, requests, timeMs, userAgents } = session
  const sessions = createSessions(clock, random)
  const placeOf = (grant: ProxyGrant | null, site: string) => ({
    ...{ spider: name, pool: grant?.need.pool.name ?? DIRECT.pool, site },
  })
  const proxyOf = (grant: ProxyGrant | null) => grant?.proxy.id ?? DIRECT_PROXY
  return {
    live: (pool, site) => sessions.live({ spider: name, pool, site }),
    next(grant, site) {
      if (grant?.proxy.via.by === 'wrap') return null
      const own = grant?.need.pool.rotation ?? FOR_EVER
      const rotation = { requests: requests ?? own.requests, timeMs: timeMs ?? own.timeMs }
      return sessions.use(placeOf(grant, site), proxyOf(grant), { rotation, cookies, userAgents })
    },
    end: (grant, site) => sessions.end(placeOf(grant, site), proxyOf(grant)),
  }
}

/** The request as this visitor makes it. Cookies that the spider itself sends come first. */
export function asVisitor<Request extends Pick<FetchRequest, 'url' | 'headers' | 'render'>>(
  request: Request,
  visitor: Session,
): Request {
  const { userAgent, cookies } = visitor
  const { render } = request
  const kept = cookies?.headerFor(request.url) ?? ''
  if (kept === '' && userAgent === null && render === undefined) return request
  const own = request.headers?.cookie
  return {
    ...request,
    ...(render && { render: { ...render, visitor } }),
    headers: {
      ...request.headers,
      ...(userAgent === null ? {} : { 'user-agent': userAgent }),
      ...(kept === '' ? {} : { cookie: own === undefined ? kept : `${own}; ${kept}` }),
    },
  }
}
