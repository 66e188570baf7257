import { ShoalError } from '../errors.js'
import type { FetchResponse, RenderWish } from '../fetch/fetcher.js'
import { hostIn } from '../url/host.js'
import type { HostKey, Link, RequestExtras } from '../url/link.js'
import { parseUrl } from '../url/parse-url.js'
import { HostBusy, sleepUnlessStopped, untilBack } from './permits.js'
import { conditional, type Known } from './revisit.js'
import { send } from './send.js'
import { sendForRobots } from './send-for-robots.js'
import { step } from './step.js'
import type { Visit, VisitParts } from './visit-parts.js'

const ROBOTS_REDIRECTS = 5

export type Fetched =
  | { readonly kind: 'page'; readonly response: FetchResponse }
  /** It was asked for only if it had changed, and it had not. */
  | { readonly kind: 'unchanged'; readonly response: FetchResponse; readonly known: Known }
  /** The redirect leads to a host that is busy: it becomes a link of its own. */
  | { readonly kind: 'moved'; readonly link: Link; readonly response: FetchResponse }

/** Robots, permit, request, and each redirect through the same door again. */
export async function fetchPage(
  current: Visit,
  parts: VisitParts,
  known: Known | null,
  render: RenderWish | null = null,
): Promise<Fetched> {
  const { link } = current.lease
  const { spider, admitter } = parts
  let { url, host } = link
  let request: RequestExtras = link.request ?? {}
  let headers = headersFor(spider.userAgent, spider.headers, request.headers)
  const visited = new Set([url])
  let redirect: FetchResponse | null = null
  for (let hops = 0; ; hops++) {
    const asking = conditional(known, url, request, headers)
    let response: FetchResponse
    try {
      const keys: [HostKey, ...HostKey[]] = spider.robots
        ? await step(
            current,
            () => obeyRobots(url, host, current, parts),
            () => ({ name: 'robots', about: { 'shoal.host': host } }),
          )
        : [host]
      response = await send(current, parts, keys, {
        ...request,
        url,
        headers: asking ?? headers,
        ...(render && { render }),
      })
    } catch (error) {
      if (error instanceof HostBusy && redirect !== null) {
        const moved = movedLink(link, url, request, admitter)
        if (moved !== null) return { kind: 'moved', link: moved, response: redirect }
      }
      throw error
    }
    if (response.status === 304 && asking !== null && known !== null) return { kind: 'unchanged', response, known }
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
      const { headers: _own, ...rest } = request
      request = rest
      host = next.host
    }
    url = next.url
  }
}

/** The rest of the way as a link of its own, which asks as the redirect would have: not as the page that it began with. */
function movedLink(from: Link, url: string, asked: RequestExtras, admitter: VisitParts['admitter']): Link | null {
  const { request: _first, ...link } = from
  const request = Object.keys(asked).length > 0 && { request: asked }
  const admission = admitter.resolve(url, url, { route: from.route, ...request })
  const moved = admission.ok ? admitter.link(admission.target, from.depth, { ...link, ...request }) : null
  return moved === null || 'code' in moved ? null : moved
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])

function redirectTarget(response: FetchResponse): string | null {
  return REDIRECTS.has(response.status) ? (response.headers.location ?? null) : null
}

/** As browsers do: 303 always, 301 and 302 for a POST, turn the request into a plain GET. */
function afterRedirect(request: RequestExtras, status: number): RequestExtras {
  const keeps = status === 307 || status === 308 || (status !== 303 && request.method !== 'POST')
  if (keeps) return request
  return request.headers === undefined ? {} : { headers: request.headers }
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
async function obeyRobots(
  url: string,
  key: HostKey,
  current: Visit,
  parts: VisitParts,
): Promise<[HostKey, ...HostKey[]]> {
  const host = hostIn(url)
  const checked = parts.robots.check(
    url,
    (robotsUrl) => fetchRobots(robotsUrl, current, parts),
    (ms) => sleepUnlessStopped(ms, current, parts.clock),
  )
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
  const allowed = robots.allows(url.slice(url.indexOf('/', 8)))
  if (parts.log.verbose) parts.log.debug('robots.checked', { fp: current.lease.link.fp, url, allowed })
  if (!allowed) throw new ShoalError('robots_disallowed', `robots.txt forbids ${url}`)
  return robots.crawlDelayMs === null || host === key ? [key] : [key, host]
}

/** robots.txt with permits of its own; redirects are followed wherever they lead, through the guard. */
async function fetchRobots(robotsUrl: string, current: Visit, parts: VisitParts): Promise<FetchResponse> {
  const { spider, log } = parts
  let url = new URL(robotsUrl)
  let headers = headersFor(spider.userAgent, spider.headers, undefined)
  for (let hops = 0; ; hops++) {
    const host = parts.admitter.paceKey(url)
    const request = { url: url.href, headers }
    const response = await sendForRobots(current, parts, host, request).catch((error: unknown) => {
      // A host behind a redirect that is forbidden or does not exist says nothing about the pages of this one.
      if (hops > 0 && error instanceof ShoalError && error.next === 'dead') {
        throw new ShoalError('bad_redirect', `${robotsUrl}: ${error.message}`, { cause: error })
      }
      throw error
    })
    const target = redirectTarget(response)
    const next = target === null ? null : parseUrl(target, url.href)
    if (next === null || hops >= ROBOTS_REDIRECTS) {
      log.debug('robots.read', { fp: current.lease.link.fp, url: url.href, status: response.status })
      return response
    }
    if (next.origin !== url.origin) headers = headersFor(spider.userAgent, NO_HEADERS, undefined)
    url = next
  }
}
