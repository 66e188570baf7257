import { ShoalError } from '../errors.js'
import type { FetchResponse, RenderWish } from '../fetch/fetcher.js'
import { Busy } from '../politeness/busy.js'
import type { HostKey, Link, RequestExtras } from '../url/link.js'
import { obeyRobots } from './obey-robots.js'
import { afterRedirect, headersFor, NO_HEADERS, redirectTarget } from './redirects.js'
import { conditional, type Known } from './revisit.js'
import { send } from './send.js'
import { step } from './trace-visit.js'
import type { Visit, VisitParts } from './visit-parts.js'

export type Fetched =
  | { readonly kind: 'page'; readonly response: FetchResponse }
  /** The request was conditional, and the page had not changed. */
  | { readonly kind: 'unchanged'; readonly response: FetchResponse; readonly known: Known }
  /** The redirect leads to a busy host: its target becomes a link of its own. */
  | { readonly kind: 'moved'; readonly link: Link; readonly response: FetchResponse }
  | Busy

/** robots.txt, permit, request; each redirect passes the same filters again. */
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
    // With a cache the whole page is requested: of "not modified" there is nothing to keep.
    const asking = parts.cache ? null : conditional(known, url, request, headers)
    const keys: [HostKey, ...HostKey[]] | Busy = spider.robots
      ? await step(
          current,
          () => obeyRobots(url, host, current, parts),
          () => ({ name: 'robots', about: { 'shoal.host': host } }),
        )
      : [host]
    const sending = { ...request, url, headers: asking ?? headers, ...(render && { render }) }
    const response = keys instanceof Busy ? keys : await send(current, parts, keys, sending)
    if (response instanceof Busy) {
      const moved = redirect && movedLink(link, url, request, admitter)
      return redirect && moved ? { kind: 'moved', link: moved, response: redirect } : response
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
        `${link.url} redirects to a URL that must not be fetched: ${admission.refusal.message}`,
      )
    }
    const next = admission.target
    if (visited.has(next.url)) throw new ShoalError('too_many_redirects', `${link.url}: the redirects form a loop`)
    visited.add(next.url)
    redirect = response
    request = afterRedirect(request, response.status)
    // What was meant for one origin is not sent to another: neither credentials nor the user's own headers. Nor does its pace apply there.
    if (new URL(next.url).origin !== new URL(url).origin) {
      headers = headersFor(spider.userAgent, NO_HEADERS, undefined)
      const { headers: _own, ...rest } = request
      request = rest
      host = next.host
    }
    url = next.url
  }
}

/** The redirect's target as a link of its own, with the request that the redirect would have made: not the one that the page began with. */
function movedLink(from: Link, url: string, asked: RequestExtras, admitter: VisitParts['admitter']): Link | null {
  const { request: _first, ...link } = from
  const request = Object.keys(asked).length > 0 && { request: asked }
  const admission = admitter.resolve(url, url, { route: from.route, ...request })
  const moved = admission.ok ? admitter.link(admission.target, from.depth, { ...link, ...request }) : null
  return moved === null || 'code' in moved ? null : moved
}
