import { asShoalError } from '../errors.js'
import type { FetchResponse } from '../fetch/fetcher.js'
import { DIRECT } from '../spider/spider.js'
import type { HostKey } from '../url/link.js'
import { HostBusy } from './permits.js'
import { isDoubtfulRobots, type Sending, send } from './send.js'
import type { Visit, VisitParts } from './visit-parts.js'

/** Through so many proxies robots.txt is asked for before a refusal or a failure is taken for the site's own. */
const EXITS_ASKED = 3

/**
 * What the site says, for the whole fleet and for a day: one proxy that is refused or does not work must not decide it. A ban read as "there is no
 * robots.txt" would let everything in, and a proxy's own 502 would close the site.
 */
export async function sendForRobots(
  current: Visit,
  parts: VisitParts,
  host: HostKey,
  request: Omit<Sending, 'isRobots'>,
): Promise<FetchResponse> {
  const need = parts.spider.routes.get(current.lease.link.route)?.proxy ?? DIRECT
  const most = need === DIRECT ? 1 : EXITS_ASKED
  for (let asked = 1; ; asked++) {
    try {
      const more = asked < most && { keepsSlot: true as const }
      const response = await send(current, parts, [host], { ...request, isRobots: true, ...more })
      if (asked === most || !isDoubtfulRobots(response.status)) return response
    } catch (thrown) {
      const { next } = asShoalError(thrown)
      // A proxy that is refused or broken: the link comes back, to another one, as often as it may be throttled.
      if (thrown instanceof HostBusy || next === 'backend' || next === 'throttle' || asked === most) throw thrown
    }
  }
}
