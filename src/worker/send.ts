import { asShoalError, ShoalError } from '../errors.js'
import type { FetchLimits, FetchRequest, FetchResponse, RenderWish } from '../fetch/fetcher.js'
import { judgeUrl } from '../fetch/guard.js'
import { isStaleSocket } from '../fetch/stale-socket.js'
import type { HostReport } from '../frontier/frontier.js'
import { traceUrl } from '../observe/tracing/trace-url.js'
import type { TracedStep } from '../observe/tracing/tracing.js'
import type { ProxyVerdict } from '../proxy/proxy-ledger.js'
import type { Session } from '../proxy/session.js'
import { hostIn, siteOf } from '../url/host.js'
import type { HostKey, RequestExtras } from '../url/link.js'
import { parseUrl } from '../url/parse-url.js'
import { borrowProxy, type Lent } from './borrow-proxy.js'
import { type LoginSend, logIn, unlessStopped } from './log-in.js'
import { failureReport, hostReport, NO_NEWS } from './outcome.js'
import { type Granted, HostBusy, isFresh, permitFor } from './permits.js'
import { step } from './step.js'
import type { Visit, VisitParts } from './visit-parts.js'
import { asVisitor } from './visitors.js'

/** Permits in a row that were too old when the connection stood: this process is too busy for the pace of this host. */
const MOST_STALE = 5
const STALE_WAIT_MS = 1_000
/** Broken proxies that one request is tried through; beyond that the link goes back, at no cost. */
const MOST_BROKEN = 3
const NEUTRAL: ProxyVerdict = { kind: 'neutral' }

/** Of which the first 500 KiB are read. */
const ROBOTS_BODY_BYTES = 10 * 1024 * 1024

/** The permit grew old while the connection was made: nothing was sent. */
class PermitStale extends Error {}

export interface Sending extends RequestExtras {
  readonly url: string
  /** What a refusal or a failure means for robots.txt is decided by more than one proxy (send-for-robots.ts). */
  readonly isRobots?: true
  /** It will be asked for once more when the answer is doubtful: the slot is kept, or a link that waits for robots.txt would take it. */
  readonly keepsSlot?: true
  readonly render?: RenderWish
  /** Made as this visitor and through its proxy: a login. */
  readonly visitor?: Session
}

/**
 * One request: a proxy where the spider takes proxies, a permit of each pace it falls under, dispatch, and the slots free again as soon as the body is
 * read.
 */
export async function send(
  current: Visit,
  parts: VisitParts,
  keys: readonly [HostKey, ...HostKey[]],
  request: Sending,
): Promise<FetchResponse> {
  const { clock, ways, spider, meter } = parts
  const { proxy: need = null, handlerTimeoutMs = 0 } = spider.routes.get(current.lease.link.route) ?? {}
  let repeated = false
  let stale = 0
  let broken = 0
  const permits = new Map<HostKey, Granted>()
  let lent: Lent | null = null
  let visitor: Session | null = null
  const site = siteOf(hostIn(request.url))
  let stay = request.visitor?.proxy ?? current.stay
  for (;;) {
    try {
      for (const key of keys)
        if (!isFresh(permits.get(key), clock)) permits.set(key, await permitFor(current, key, parts))
      // Last, because it is good for a shorter time.
      if (ways !== null && need !== null && !isFresh(lent?.granted, clock)) {
        lent?.end(null)
        meter.doing(current, 'proxy')
        const asked = { host: keys[0], site, stay }
        lent = await step(
          current,
          () => borrowProxy(current, parts, ways, need, asked),
          () => ({ name: 'proxy', about: { 'shoal.host': asked.host } }),
        )
      }
      // Once for the request: its session may have been over since, with the time that a login took.
      if (visitor === null || (lent !== null && visitor.proxy !== lent.grant.proxy.id))
        visitor = request.visitor ?? visitorOf(parts, lent, site, request)
      const login = visitor === null || visitor.loggedIn || request.visitor !== undefined ? null : spider.session?.login
      if (visitor !== null && login) {
        // It asks for permits and grants of its own: what is held meanwhile would stand in its way.
        lent?.end(null)
        lent = null
        for (const key of permits.keys()) release(current, parts, key, 0, NO_NEWS)
        permits.clear()
        current.patient = true
        const guest = visitor
        const sendOne: LoginSend = (url, extras, own) => sendAs(guest, current, parts, url, extras, own)
        await unlessStopped(
          guest.logIn(() => logIn(login, sendOne, clock, handlerTimeoutMs)),
          current,
          clock,
        )
        stay = guest.proxy
        continue
      }
      meter.doing(current, 'fetch')
      const [by, as] = [lent, visitor]
      return await step(
        current,
        () => dispatch(current, parts, permits, by, as, request),
        () => fetchStep(current, request, by),
      )
    } catch (error) {
      // The slot is still held and the connection stands: only the permit is asked for again, but not for ever.
      if (error instanceof PermitStale && ++stale < MOST_STALE) {
        // The connection goes through this proxy: through another one it would have to be made again, and the permit would grow old again.
        stay = lent?.grant.proxy.id ?? stay
        continue
      }
      lent?.end(null)
      lent = null
      visitor = null
      // A visitor has but one proxy: its login ends with it.
      const isBroken = error instanceof ShoalError && error.code === 'proxy_error' && request.visitor === undefined
      // Nothing reached the host: its slot is still held, and what was not used of the permit is good.
      if (isBroken && ++broken < MOST_BROKEN) {
        stay = current.stay
        continue
      }
      permits.clear()
      if (error instanceof PermitStale) throw new HostBusy(keys.join(' and '), STALE_WAIT_MS)
      stay = request.visitor?.proxy ?? current.stay
      // The server closed a kept connection under our feet: once more, with a permit of its own.
      if (!isStaleSocket(error) || repeated) throw error
      repeated = true
    }
  }
}

/** By the conventions of OpenTelemetry for a client of HTTP. */
function fetchStep({ lease }: Visit, { url, method = 'GET' }: Sending, lent: Lent | null): TracedStep<FetchResponse> {
  const { hostname, port, protocol } = new URL(url)
  return {
    name: method,
    client: true,
    about: {
      ...{ 'http.request.method': method, 'url.full': traceUrl(url), 'server.address': hostname },
      'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
      ...(lease.attempt > 1 && { 'http.request.resend_count': lease.attempt - 1 }),
      ...(lent !== null && { 'shoal.proxy': `${lent.grant.need.pool.name}/${lent.grant.proxy.id}` }),
    },
    learnt: ({ status, wireBytes }) => ({
      ...{ 'http.response.status_code': status, 'http.response.body.size': wireBytes },
      ...(status >= 400 && { 'error.type': String(status) }),
    }),
  }
}

/** A request of a login. */
function sendAs(
  visitor: Session,
  current: Visit,
  parts: VisitParts,
  url: URL,
  extras: RequestExtras,
  own: boolean,
): Promise<FetchResponse> {
  const { userAgent, headers } = parts.spider
  return send(current, parts, [parts.admitter.paceKey(url)], {
    ...extras,
    url: url.href,
    headers: { 'user-agent': userAgent, ...(own && headers), ...extras.headers },
    visitor,
  })
}

/** robots.txt is read by nobody in particular. */
function visitorOf({ visitors }: VisitParts, lent: Lent | null, site: string, request: Sending): Session | null {
  return request.isRobots === true ? null : (visitors?.next(lent?.grant ?? null, site) ?? null)
}

function release({ lease }: Visit, { outbox }: VisitParts, host: HostKey, elapsedMs: number, report: HostReport): void {
  const { crawl, token } = lease
  outbox.release({ lease: { crawl, token }, host, elapsedMs, report })
}

async function dispatch(
  current: Visit,
  parts: VisitParts,
  permits: ReadonlyMap<HostKey, Granted>,
  lent: Lent | null,
  visitor: Session | null,
  request: Sending,
): Promise<FetchResponse> {
  const { clock, fetcher, spider, ways, meter } = parts
  const began = clock.mono()
  // What fails after its answer was counted is not counted again.
  let counted = request.isRobots === true
  let dispatchedAt = Math.min(...[...permits.values()].map(({ at }) => at))
  const releaseAll = (report: HostReport) => {
    const elapsedMs = clock.mono() - dispatchedAt
    for (const host of permits.keys()) release(current, parts, host, elapsedMs, report)
  }
  const endVisitor = () => {
    if (visitor !== null) parts.visitors?.end(lent?.grant ?? null, siteOf(hostIn(request.url)))
  }
  try {
    const response = await fetcher.fetch(
      {
        ...outgoing(visitor === null ? request : asVisitor(request, visitor), lent, spider.allowPrivate),
        limits: request.isRobots === true ? forRobots(spider.fetch) : spider.fetch,
        allowPrivate: spider.allowPrivate,
        onDispatch: () => {
          dispatchedAt = clock.mono()
          for (const permit of permits.values()) if (!isFresh(permit, clock)) throw new PermitStale()
          if (lent !== null && !isFresh(lent.granted, clock)) throw new PermitStale()
          current.started = true
          if (lent !== null) current.proxy = `${lent.grant.need.pool.name}/${lent.grant.proxy.id}`
          // The request is written before this runs. On a busy machine the process may have stood still in between, by 50 ms and more:
          // the delay counts from the write.
          queueMicrotask(() => {
            dispatchedAt = clock.mono()
          })
        },
      },
      current.stop,
    )
    if (parts.log.verbose) {
      const { fp } = current.lease.link
      const ms = Math.round(clock.mono() - began)
      parts.log.debug('fetch.done', {
        fp,
        url: request.url,
        status: response.status,
        bytes: response.wireBytes,
        ms,
        proxy: current.proxy,
      })
    }
    if (request.isRobots === true) meter.receivedAside(response.wireBytes)
    else meter.received(response.status, response.wireBytes, clock.mono() - began)
    counted = true
    if (lent !== null && redirectsToItself(response, lent, request.url))
      throw new ShoalError('bad_redirect', `the service of the pool ${lent.grant.need.pool.name} redirects to itself`)
    // Without a proxy there is none to judge: called neutral, the way would stay on probation, and one request at a time.
    const verdict: ProxyVerdict = isDirect(lent) || ways === null ? { kind: 'good' } : ways.verdictOf(response)
    lent?.end({ verdict, elapsedMs: clock.mono() - dispatchedAt, bytes: response.wireBytes })
    // A site that refuses one proxy has nothing against the others: only the proxy rests.
    const isOpen = request.isRobots === true && isDoubtfulRobots(response.status)
    if (!isOpen || request.keepsSlot !== true)
      releaseAll(verdict.kind === 'banned' ? NO_NEWS : hostReport(response, clock))
    visitor?.cookies?.take(request.url, response.cookies)
    if (request.isRobots !== true)
      current.stay = visitor !== null && response.status >= 300 && response.status < 400 ? visitor.proxy : undefined
    if (verdict.kind === 'banned' && !isOpen) {
      endVisitor()
      throw new ShoalError('proxy_banned', `the site refuses ${current.proxy} (${response.status})`)
    }
    return lent === null ? response : { ...response, url: request.url }
  } catch (error) {
    if (error instanceof PermitStale) throw error
    const failure = asShoalError(error)
    if (failure.code === 'proxy_banned') throw error
    if (!counted && failure.next !== 'backend' && !current.stop.aborted) meter.received(0, 0, clock.mono() - began)
    if (ways !== null) {
      const verdict = isDirect(lent) ? NEUTRAL : ways.verdictOfError(failure)
      lent?.end({ verdict, elapsedMs: clock.mono() - dispatchedAt, bytes: 0 })
    }
    if (failure.code === 'proxy_error') endVisitor()
    if (failure.code !== 'proxy_error') releaseAll(failureReport(failure))
    if (failure.code === 'tls_error' && !isDirect(lent))
      throw new ShoalError('proxy_banned', `${current.proxy}: ${failure.message}`, { cause: failure })
    throw error
  }
}

/** Of the site or of the proxy: one answer does not tell. */
export function isDoubtfulRobots(status: number): boolean {
  return status === 401 || status === 403 || status >= 500
}

/** A spider of small pages must not lose a site to its long robots.txt. */
function forRobots(limits: FetchLimits): FetchLimits {
  return { ...limits, maxBodyBytes: Math.max(limits.maxBodyBytes, ROBOTS_BODY_BYTES) }
}

function isDirect(lent: Lent | null): boolean {
  return lent === null || lent.grant.proxy.way.by === 'direct'
}

/** The request as it leaves: through the proxy, or to the service that is given its URL. */
function outgoing(
  { isRobots: _, keepsSlot: _slot, visitor: _visitor, ...request }: Sending,
  lent: Lent | null,
  allowPrivate: readonly string[],
): Pick<FetchRequest, 'proxy'> & Sending {
  if (lent === null) return request
  const { way } = lent.grant.proxy
  if (way.by === 'wrap') {
    const refused = judgeUrl(new URL(request.url), allowPrivate)
    if (refused !== null) throw refused
    // Its pages come from another address than their own: whether they are rendered is the service's business.
    const { render: _wish, ...plain } = request
    return { ...plain, url: way.wrap(request.url) }
  }
  return way.by === 'proxy' ? { ...request, proxy: way.proxy } : request
}

/** Its key stands in such an address: that is not followed, shown or stored. */
function redirectsToItself({ status, headers }: FetchResponse, { grant }: Lent, url: string): boolean {
  const { way } = grant.proxy
  if (way.by !== 'wrap' || status < 300 || status >= 400) return false
  const location = headers.location ?? ''
  const isWhole = /^([a-z][a-z0-9+.-]*:)?\/\//i.test(location)
  return isWhole && parseUrl(location, url)?.host === new URL(way.wrap(url)).host
}
