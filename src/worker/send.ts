import type { FetchResponse } from '../fetch/fetcher.js'
import { Busy } from '../politeness/busy.js'
import type { HostKey } from '../url/link.js'
import { dispatch } from './dispatch.js'
import { fromCache } from './from-cache.js'
import { Again, nothingHeld, type Sending, type SiteRequest } from './layer.js'
import { withPermits } from './permits.js'
import type { Visit, VisitParts } from './visit-parts.js'
import { withProxy } from './with-proxy.js'
import { type SendAs, withVisitor } from './with-visitor.js'

/** How often a request is attempted in vain for each reason. */
const MOST: Readonly<Record<Again['why'], number>> = {
  // This process is too busy for the pace of this host.
  stale: 5,
  broken: 3,
  // Once more, with a permit of its own.
  closed: 2,
  login: Number.POSITIVE_INFINITY,
}
const NONE: Readonly<Record<Again['why'], number>> = { stale: 0, broken: 0, closed: 0, login: 0 }
const STALE_WAIT_MS = 1_000

/** One attempt. Permits come before the proxy, whose grant is good for a shorter time. */
const attempt = withPermits(withProxy(withVisitor(dispatch, sendAs)))

/** One request to a site, or its response from the development cache. */
export function send(
  current: Visit,
  parts: VisitParts,
  keys: readonly [HostKey, ...HostKey[]],
  request: SiteRequest,
): Promise<FetchResponse | Busy> {
  const sending = { current, parts, keys, request }
  return parts.cache ? fromCache(sending, parts.cache, sendOut) : sendOut(sending)
}

/** Repeated where that costs the site nothing or the failure was not its own. */
async function sendOut(sending: Sending): Promise<FetchResponse | Busy> {
  let held = nothingHeld(sending)
  let tried = NONE
  try {
    for (;;) {
      const answer = await attempt(sending, held)
      if (!(answer instanceof Again)) return answer
      const { why } = answer
      held = answer.held
      tried = { ...tried, [why]: tried[why] + 1 }
      if (tried[why] < MOST[why]) continue
      if (why === 'stale') return new Busy(STALE_WAIT_MS)
      throw answer.error
    }
  } finally {
    // A proxy that was kept for one more attempt, which did not come to use it.
    held.lent?.end(null)
  }
}

/** A request of a login. `own`: it goes where the login sent it, not to another origin after a redirect. */
function sendAs(...[visitor, { current, parts }, url, extras, own]: Parameters<SendAs>): ReturnType<SendAs> {
  const { userAgent, headers } = parts.spider
  return send(current, parts, [parts.admitter.paceKey(url)], {
    ...extras,
    url: url.href,
    headers: { 'user-agent': userAgent, ...(own && headers), ...extras.headers },
    visitor,
  })
}
