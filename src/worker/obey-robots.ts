import { asShoalError, ShoalError } from '../errors.js'
import type { FetchResponse } from '../fetch/fetcher.js'
import { Busy } from '../politeness/busy.js'
import { DIRECT } from '../spider/spider.js'
import { hostIn } from '../url/host.js'
import type { HostKey } from '../url/link.js'
import { parseUrl } from '../url/parse-url.js'
import { isDoubtfulRobots } from './judge-answer.js'
import type { SiteRequest } from './layer.js'
import { headersFor, NO_HEADERS, redirectTarget } from './redirects.js'
import { send } from './send.js'
import type { Visit, VisitParts } from './visit-parts.js'
import { sleepUnlessStopped, untilBack } from './waits.js'

const MOST_REDIRECTS = 5
/** robots.txt is requested through this many proxies before a refusal or a failure counts as the site's own. */
const PROXIES_ASKED = 3

/** The paces that apply: `key`, and where `key` covers many hosts, also the one host whose robots.txt asks for a Crawl-delay. */
export async function obeyRobots(
  url: string,
  key: HostKey,
  current: Visit,
  parts: VisitParts,
): Promise<[HostKey, ...HostKey[]] | Busy> {
  const host = hostIn(url)
  const checked = parts.robots.check(
    url,
    (robotsUrl) => fetchRobots(robotsUrl, current, parts),
    (ms) => sleepUnlessStopped(ms, current, parts.clock),
  )
  const robots = checked instanceof Promise ? await checked : checked
  if (robots instanceof Busy) return robots
  // Freshly read: the queue learns how slow the site wants everybody to be, or that it no longer does.
  if (checked instanceof Promise && robots.retryAt === null) {
    await untilBack(() => parts.frontier.setHost(host, { floorMs: robots.crawlDelayMs }), current, parts.clock)
  }
  if (robots.retryAt !== null) {
    throw new ShoalError(
      'robots_unreachable',
      `robots.txt of ${new URL(url).host} could not be read${robots.why === '' ? '' : `: ${robots.why}`}`,
      {
        cause: { retryAt: robots.retryAt, failures: robots.failures },
      },
    )
  }
  const allowed = robots.allows(url.slice(url.indexOf('/', 8)))
  if (parts.log.verbose) parts.log.debug('robots.checked', { fp: current.lease.link.fp, url, allowed })
  if (!allowed) throw new ShoalError('robots_disallowed', `robots.txt forbids ${url}`)
  return robots.crawlDelayMs === null || host === key ? [key] : [key, host]
}

/** robots.txt with permits of its own. Redirects are followed wherever they lead, through the guard. */
async function fetchRobots(robotsUrl: string, current: Visit, parts: VisitParts): Promise<FetchResponse | Busy> {
  const { spider, log } = parts
  let url = new URL(robotsUrl)
  let headers = headersFor(spider.userAgent, spider.headers, undefined)
  for (let hops = 0; ; hops++) {
    const host = parts.admitter.paceKey(url)
    const request = { url: url.href, headers }
    const answer = await sendForRobots(current, parts, host, request).catch((error: unknown) => {
      // A redirect target that is forbidden or does not exist says nothing about the pages of this host.
      if (hops > 0 && error instanceof ShoalError && error.next === 'dead') {
        throw new ShoalError('bad_redirect', `${robotsUrl}: ${error.message}`, { cause: error })
      }
      throw error
    })
    if (answer instanceof Busy) return answer
    const target = redirectTarget(answer)
    const next = target === null ? null : parseUrl(target, url.href)
    if (next === null || hops >= MOST_REDIRECTS) {
      log.debug('robots.read', { fp: current.lease.link.fp, url: url.href, status: answer.status })
      return answer
    }
    if (next.origin !== url.origin) headers = headersFor(spider.userAgent, NO_HEADERS, undefined)
    url = next
  }
}

/**
 * What the site answers, for the whole fleet and for a day: one proxy that is refused or does not work must not decide it. A ban read as
 * "there is no robots.txt" would allow everything, and a proxy's own 502 would close the site.
 */
async function sendForRobots(
  current: Visit,
  parts: VisitParts,
  host: HostKey,
  request: SiteRequest,
): Promise<FetchResponse | Busy> {
  const need = parts.spider.routes.get(current.lease.link.route)?.proxy ?? DIRECT
  const most = need === DIRECT ? 1 : PROXIES_ASKED
  for (let asked = 1; ; asked++) {
    try {
      const more = asked < most && { keepsSlot: true as const }
      const answer = await send(current, parts, [host], { ...request, isRobots: true, ...more })
      if (answer instanceof Busy || asked === most || !isDoubtfulRobots(answer.status)) return answer
    } catch (thrown) {
      const { next } = asShoalError(thrown)
      // A proxy that is refused or broken: the link comes back, to another proxy, as often as it may be throttled.
      if (next === 'backend' || next === 'throttle' || asked === most) throw thrown
    }
  }
}
