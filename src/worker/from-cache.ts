import type { CacheableRequest } from '../fetch/cache/cache-key.js'
import type { ResponseCache } from '../fetch/cache/response-cache.js'
import type { FetchResponse } from '../fetch/fetcher.js'
import { judgeUrl } from '../fetch/guard.js'
import { Busy } from '../politeness/busy.js'
import type { Sending } from './layer.js'

/**
 * The development cache, before everything else that a request needs: a kept response waits for no permit, borrows no proxy, resolves no name and logs
 * nobody in. What is not kept is sent like any other request, with all of that.
 */
export async function fromCache(
  sending: Sending,
  cache: ResponseCache,
  sendOut: (sending: Sending) => Promise<FetchResponse | Busy>,
): Promise<FetchResponse | Busy> {
  const { parts, request } = sending
  // A visitor logs in only for a request that is really sent: yesterday's cookies would be of no use to it.
  if (request.visitor !== undefined) return sendOut(sending)
  const asked = cacheable(sending)
  // Before the cache is read: a page of an address that the spider may no longer visit stays where it is.
  const refused = judgeUrl(new URL(request.url), parts.spider.allowPrivate)
  if (refused !== null) throw refused
  const found = await cache.find(asked)
  if (found !== null) {
    countFound(found, sending)
    return found
  }
  const answer = await sendOut(sending)
  if (!(answer instanceof Busy)) await cache.keep(asked, answer)
  return answer
}

function cacheable({ current, parts, request }: Sending): CacheableRequest {
  const { url, method, headers, body, render, isRobots = false } = request
  const { spider } = parts
  // Files of start URLs are fetched by a spider of their own, `<name>/files/…`, which has another name in each run.
  const [name = ''] = spider.name.split('/')
  return {
    url,
    ...(method !== undefined && { method }),
    ...(headers !== undefined && { headers }),
    ...(body !== undefined && { body }),
    ...(render !== undefined && { render }),
    session: spider.session === null || isRobots ? null : name,
    country: (isRobots ? null : spider.routes.get(current.lease.link.route)?.proxy?.country) ?? null,
  }
}

function countFound(found: FetchResponse, { current, parts, request }: Sending): void {
  const { clock, log, meter, slots } = parts
  const { status, url, cached } = found
  slots.answered(current, clock.mono(), 0, found.body.length)
  if (request.isRobots !== true) meter.cached()
  if (log.verbose)
    log.debug('fetch.cached', { fp: current.lease.link.fp, url, status, ageMs: clock.now() - (cached?.at ?? 0) })
}
