import { asShoalError, ShoalError } from '../errors.js'
import type { FetchResponse } from '../fetch/fetcher.js'
import { isStaleSocket } from '../fetch/stale-socket.js'
import type { ProxyVerdict } from '../proxy/proxy-ledger.js'
import { hostIn, siteOf } from '../url/host.js'
import { parseUrl } from '../url/parse-url.js'
import { Again, type Held, type HostPermit, type Lent, nothingHeld, type Sending } from './layer.js'
import { failureReport, hostReport, NO_NEWS } from './outcome.js'
import { releaseSlots } from './permits.js'

/** What an answer, or none, means for the slots of the hosts, for the proxy and for the visitor. */

/** What an answer says about the proxy. Throws what the spider's own check for bans throws. */
export function verdictOn(response: FetchResponse, { parts, request }: Sending, lent: Lent | null): ProxyVerdict {
  if (lent !== null && redirectsToItself(response, lent, request.url))
    throw new ShoalError('bad_redirect', `the service of the pool ${lent.grant.need.pool.name} redirects to itself`)
  // Without a proxy there is none to judge. A neutral verdict would keep `direct` on probation, with one request at a time.
  return isDirect(lent) || parts.proxies === null ? { kind: 'good' } : parts.proxies.verdictOf(response)
}

/** The body is read: slots and proxy are free again, at once and before the page is handled. */
export function answered(
  response: FetchResponse,
  verdict: ProxyVerdict,
  sending: Sending,
  held: Held,
  dispatchedAt: number,
): FetchResponse {
  const { current, parts, request } = sending
  const { lent, visitor } = held
  const elapsedMs = parts.clock.mono() - dispatchedAt
  const latencyMs = Math.min(elapsedMs, response.ms)
  parts.slots.answered(current, dispatchedAt, elapsedMs - latencyMs, response.body.length)
  const isBanned = verdict.kind === 'banned'
  const isDoubtful = request.isRobots === true && isDoubtfulRobots(response.status)
  lent?.end({ verdict, elapsedMs, bytes: response.wireBytes })
  // A site that refuses one proxy may welcome the others: only the proxy rests.
  if (!isDoubtful || request.keepsSlot !== true)
    releaseSlots(sending, held, { elapsedMs, latencyMs }, isBanned ? NO_NEWS : hostReport(response, parts.clock))
  visitor?.cookies?.take(request.url, response.cookies)
  if (request.isRobots !== true)
    current.stay = visitor !== null && response.status >= 300 && response.status < 400 ? visitor.proxy : undefined
  if (isBanned && !isDoubtful) {
    endVisitor(sending, held)
    throw new ShoalError('proxy_banned', `the site refuses ${current.proxy} (${response.status})`)
  }
  return lent === null ? response : { ...response, url: request.url }
}

/** `response`: one that came all the same, and is counted already. */
export function failed(
  thrown: unknown,
  response: FetchResponse | null,
  sending: Sending,
  held: Held,
  { began, dispatchedAt }: { readonly began: number; readonly dispatchedAt: number },
): Again {
  const { current, parts, request } = sending
  const { lent } = held
  const now = parts.clock.mono()
  const failure = asShoalError(thrown)
  const isBroken = failure.code === 'proxy_error'
  const isCounted = response !== null || request.isRobots === true
  if (!isCounted && failure.next !== 'backend' && !current.stop.aborted) parts.meter.received(0, 0, now - began)
  if (parts.proxies !== null) {
    const verdict: ProxyVerdict = isDirect(lent) ? { kind: 'neutral' } : parts.proxies.verdictOfError(failure)
    lent?.end({ verdict, elapsedMs: now - dispatchedAt, bytes: 0 })
  }
  if (isBroken) endVisitor(sending, held)
  else releaseSlots(sending, held, { elapsedMs: now - dispatchedAt }, failureReport(failure, request.isRobots))
  if (failure.code === 'tls_error' && !isDirect(lent))
    throw new ShoalError('proxy_banned', `${current.proxy}: ${failure.message}`, { cause: failure })
  return againAfter(thrown, sending, held.permits)
}

/** The next attempt after a failure that may not be the site's; any other failure is thrown. */
export function againAfter(thrown: unknown, sending: Sending, permits: readonly HostPermit[]): Again {
  const { code } = asShoalError(thrown)
  // Nothing reached the host: its slots are still held. A request of a login is bound to one proxy and fails with it.
  if (code === 'proxy_error' && sending.request.visitor === undefined)
    return new Again('broken', { ...nothingHeld(sending), permits }, thrown)
  if (isStaleSocket(thrown)) return new Again('closed', nothingHeld(sending), thrown)
  throw thrown
}

function endVisitor({ parts, request }: Sending, { visitor, lent }: Held): void {
  if (visitor !== null) parts.visitors?.end(lent?.grant ?? null, siteOf(hostIn(request.url)))
}

/** The site's own answer, or the proxy's: one answer does not show which. */
export function isDoubtfulRobots(status: number): boolean {
  return status === 401 || status === 403 || status >= 500
}

function isDirect(lent: Lent | null): boolean {
  return lent === null || lent.grant.proxy.via.by === 'direct'
}

/** Such an address contains the key of the service: it is not followed, shown or stored. */
function redirectsToItself({ status, headers }: FetchResponse, { grant }: Lent, url: string): boolean {
  const { via } = grant.proxy
  if (via.by !== 'wrap' || status < 300 || status >= 400) return false
  const location = headers.location ?? ''
  const isWhole = /^([a-z][a-z0-9+.-]*:)?\/\//i.test(location)
  return isWhole && parseUrl(location, url)?.host === new URL(via.wrap(url)).host
}
