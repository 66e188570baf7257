import type { Clock } from '../clock.js'
import { isAway, ShoalError } from '../errors.js'
import type { FetchResponse } from '../fetch/fetcher.js'
import { isStaleSocket } from '../fetch/stale-socket.js'
import type { HostReport } from '../frontier/frontier.js'
import { hostIn } from '../url/host.js'
import type { HostKey, Link, RequestExtras } from '../url/link.js'
import { parseUrl } from '../url/parse-url.js'
import { hostReport } from './outcome.js'
import type { Visit, VisitParts } from './visit-parts.js'

/** A visit waits this long for its host's next slot; beyond that the link goes back to the queue, where waiting costs nothing. */
const PATIENCE_MS = 5_000
const ROBOTS_REDIRECTS = 5
const SLICE_MS = 100
/** Permits in a row that were too old when the connection stood: this process is too busy for the pace of this host. */
const MOST_STALE = 5
const STALE_WAIT_MS = 1_000
/** No answer of a queue in use takes this long: the process stood still meanwhile. */
const FROZEN_MS = 2_000
/** A queue that is away is asked again after this long. */
const AWAY_NAP_MS = 500

export type Fetched =
  | { readonly kind: 'page'; readonly response: FetchResponse }
  /** The redirect leads to a host that is busy: it becomes a link of its own. */
  | { readonly kind: 'moved'; readonly link: Link; readonly response: FetchResponse }

/** The host has no slot soon enough. */
export class HostBusy extends Error {
  readonly waitMs: number
  constructor(host: HostKey, waitMs: number) {
    super(`${host} has no slot for ${waitMs} ms`)
    this.waitMs = waitMs
  }
}

/** Robots, permit, request, and each redirect through the same door again. */
export async function fetchPage(current: Visit, parts: VisitParts): Promise<Fetched> {
  const { link } = current.lease
  const { spider, admitter } = parts
  let { url, host } = link
  let request: RequestExtras = link.request ?? {}
  let headers = headersFor(spider.userAgent, spider.headers, request.headers)
  const visited = new Set([url])
  let redirect: FetchResponse | null = null
  for (let hops = 0; ; hops++) {
    const keys = spider.robots ? await obeyRobots(url, host, current, parts) : [host]
    let response: FetchResponse
    try {
      response = await send(current, parts, keys, { ...request, url, headers })
    } catch (error) {
      if (error instanceof HostBusy && redirect !== null) {
        const admission = admitter.resolve(url, url, { route: link.route })
        const moved = admission.ok ? admitter.link(admission.target, link.depth, link) : null
        if (moved !== null && !('code' in moved)) return { kind: 'moved', link: moved, response: redirect }
      }
      throw error
    }
    const target = redirectTarget(response)
    if (target === null) return { kind: 'page', response }
    if (hops >= spider.fetch.maxRedirects)
      throw new ShoalError('too_many_redirects', `${link.url}: more than ${spider.fetch.maxRedirects} redirects`)
    const admission = admitter.resolve(target, url, { route: link.route })
    if (!admission.ok) {
      throw new ShoalError(
        'bad_redirect',
        `${link.url} redirects to a place that must not be fetched: ${admission.refusal.message}`,
      )
    }
    const next = admission.target
    if (visited.has(next.url)) throw new ShoalError('too_many_redirects', `${link.url}: the redirects run in a circle`)
    visited.add(next.url)
    redirect = response
    request = afterRedirect(request, response.status)
    // What was meant for one origin is not told to another: neither credentials nor headers of the user's own. Nor is the pace.
    if (new URL(next.url).origin !== new URL(url).origin) {
      headers = headersFor(spider.userAgent, NO_HEADERS, undefined)
      host = next.host
    }
    url = next.url
  }
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])

function redirectTarget(response: FetchResponse): string | null {
  return REDIRECTS.has(response.status) ? (response.headers.location ?? null) : null
}

/** As browsers do: 303 always, 301 and 302 for a POST, turn the request into a plain GET. */
function afterRedirect(request: RequestExtras, status: number): RequestExtras {
  const keeps = status === 307 || status === 308 || (status !== 303 && request.method !== 'POST')
  return keeps ? request : {}
}

const NO_HEADERS = {}
let lastHeaders: { agent: string; base: object; headers: Record<string, string> } | null = null

/** The same object for the same spider: the fetcher lays it out once. */
function headersFor(
  userAgent: string,
  base: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  if (own !== undefined) return { 'user-agent': userAgent, ...base, ...own }
  if (lastHeaders?.agent !== userAgent || lastHeaders.base !== base) {
    lastHeaders = { agent: userAgent, base, headers: { 'user-agent': userAgent, ...base } }
  }
  return lastHeaders.headers
}

/** Answers the paces that hold: beside `key`, where that stands for many hosts, the one host for which robots.txt asks for a Crawl-delay. */
async function obeyRobots(url: string, key: HostKey, current: Visit, parts: VisitParts): Promise<HostKey[]> {
  const host = hostIn(url)
  const checked = parts.robots.check(url, (robotsUrl) => fetchRobots(robotsUrl, current, parts))
  const robots = checked instanceof Promise ? await checked : checked
  // Freshly read: the queue is told how slow the site wants everybody to be, or no longer wants.
  if (checked instanceof Promise && robots.retryAt === null) {
    await untilBack(() => parts.frontier.setHost(host, { floorMs: robots.crawlDelayMs }), current, parts.clock)
  }
  if (robots.retryAt !== null) {
    throw new ShoalError('robots_unreachable', `robots.txt of ${new URL(url).host} could not be read`, {
      cause: { retryAt: robots.retryAt },
    })
  }
  if (!robots.allows(url.slice(url.indexOf('/', 8))))
    throw new ShoalError('robots_disallowed', `robots.txt forbids ${url}`)
  return robots.crawlDelayMs === null || host === key ? [key] : [key, host]
}

/** robots.txt with permits of its own; redirects are followed wherever they lead, through the guard. */
async function fetchRobots(robotsUrl: string, current: Visit, parts: VisitParts): Promise<FetchResponse> {
  const { spider, log } = parts
  let url = new URL(robotsUrl)
  let headers = headersFor(spider.userAgent, spider.headers, undefined)
  for (let hops = 0; ; hops++) {
    const response = await send(current, parts, [parts.admitter.paceKey(url)], { url: url.href, headers }).catch(
      (error: unknown) => {
        // A host behind a redirect that is forbidden or does not exist says nothing about the pages of this one.
        if (hops > 0 && error instanceof ShoalError && error.next === 'dead') {
          throw new ShoalError('bad_redirect', `${robotsUrl}: ${error.message}`, { cause: error })
        }
        throw error
      },
    )
    const target = redirectTarget(response)
    const next = target === null ? null : parseUrl(target, url.href)
    if (next === null || hops >= ROBOTS_REDIRECTS) {
      log.debug('robots.read', { url: url.href, status: response.status })
      return response
    }
    if (next.origin !== url.origin) headers = headersFor(spider.userAgent, NO_HEADERS, undefined)
    url = next
  }
}

/** The permit grew old while the connection was made: nothing was sent. */
class PermitStale extends Error {}

/** A permit with the monotonic time from which it counts. */
interface Granted {
  readonly at: number
  readonly forMs: number
}

/** One request: a permit of each pace it falls under, dispatch, and the slots free again as soon as the body is read. */
async function send(
  current: Visit,
  parts: VisitParts,
  keys: readonly HostKey[],
  request: RequestExtras & { url: string },
): Promise<FetchResponse> {
  const { clock, fetcher, outbox, spider } = parts
  const { crawl, token } = current.lease
  let repeated = false
  let stale = 0
  const permits = new Map<HostKey, Granted>()
  const isFresh = (permit: Granted | undefined) => permit !== undefined && clock.mono() - permit.at <= permit.forMs
  for (;;) {
    for (const key of keys) if (!isFresh(permits.get(key))) permits.set(key, await permitFor(current, key, parts))
    let dispatchedAt = Math.min(...[...permits.values()].map(({ at }) => at))
    const end = (report: HostReport) => {
      const elapsedMs = clock.mono() - dispatchedAt
      for (const host of keys) outbox.release({ lease: { crawl, token }, host, elapsedMs, report })
    }
    try {
      const response = await fetcher.fetch(
        {
          ...request,
          limits: spider.fetch,
          allowPrivate: spider.allowPrivate,
          onDispatch: () => {
            dispatchedAt = clock.mono()
            if (![...permits.values()].every(isFresh)) throw new PermitStale()
            current.started = true
            // The request is written before this runs. On a busy machine the process may have stood still in between, by 50 ms and more:
            // the delay counts from the write.
            queueMicrotask(() => {
              dispatchedAt = clock.mono()
            })
          },
        },
        current.stop,
      )
      end(hostReport(response, clock))
      return response
    } catch (error) {
      // The slot is still held and the connection stands: only the permit is asked for again, but not for ever.
      if (error instanceof PermitStale) {
        if (++stale < MOST_STALE) continue
        throw new HostBusy(keys.join(' and '), STALE_WAIT_MS)
      }
      end({ kind: 'failed' })
      // The server closed a kept connection under our feet: once more, with a permit of its own.
      if (!isStaleSocket(error) || repeated) throw error
      repeated = true
      permits.clear()
    }
  }
}

/**
 * A permit that holds now. The lease brings the first one; it goes stale quickly, because a worker that was frozen must not burst on
 * waking.
 */
async function permitFor(current: Visit, host: HostKey, { clock, frontier, outbox }: VisitParts): Promise<Granted> {
  const { lease } = current
  if (host === lease.link.host && !current.permitUsed) {
    current.permitUsed = true
    if (clock.mono() - current.grantedAt <= lease.permitMs) return { at: current.grantedAt, forMs: lease.permitMs }
  }
  await outbox.released()
  let giveUpAt: number | null = null
  for (;;) {
    let askedAt = clock.mono()
    const permit = await untilBack(
      () => {
        askedAt = clock.mono()
        return frontier.permit(lease, host)
      },
      current,
      clock,
    )
    if (permit.ok) return { at: grantTime(askedAt, clock.mono()), forMs: permit.permitMs }
    if (permit.lost) {
      current.lost = true
      throw new ShoalError('aborted', 'the lease was lost')
    }
    // Counted from the first answer: waiting for our own queue is no reason to give up a host.
    giveUpAt ??= clock.mono() + PATIENCE_MS
    if (clock.mono() + permit.waitMs > giveUpAt) throw new HostBusy(host, permit.waitMs)
    await sleepUnlessStopped(permit.waitMs, current, clock)
  }
}

/**
 * From when a grant counts. An answer that took too long lay about while the process was frozen, and counts from the question; a slow queue is no reason to ask again and again.
 */
export function grantTime(askedAt: number, answeredAt: number): number {
  return answeredAt - askedAt > FROZEN_MS ? askedAt : answeredAt
}

/** In slices, because a visit that is given up must not be waited for. */
async function sleepUnlessStopped(ms: number, { stop }: Visit, clock: Clock): Promise<void> {
  for (let left = ms; left > 0; left -= SLICE_MS) {
    if (stop.aborted) throw new ShoalError('aborted', 'the visit was given up')
    await clock.sleep(Math.min(left, SLICE_MS))
  }
}

/** The queue may be away for a while: the same call again, as long as the visit is wanted. Whether its lease still holds, the answer tells. */
async function untilBack<Answer>(call: () => Promise<Answer>, current: Visit, clock: Clock): Promise<Answer> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!isAway(error)) throw error
      await sleepUnlessStopped(AWAY_NAP_MS, current, clock)
    }
  }
}
