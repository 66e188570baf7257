import type { FetchLimits, FetchRequest, FetchResponse } from '../fetch/fetcher.js'
import { judgeUrl } from '../fetch/guard.js'
import { traceUrl } from '../observe/tracing/trace-url.js'
import type { Attributes, TracedStep } from '../observe/tracing/tracing.js'
import type { ProxyVerdict } from '../proxy/proxy-ledger.js'
import { answered, failed, verdictOn } from './judge-answer.js'
import { Again, type Answer, type Held, type Sending, type SiteRequest } from './layer.js'
import { step } from './trace-visit.js'
import { asVisitor } from './visitors.js'
import { isFresh } from './waits.js'

/** Only the first 500 KiB of a robots.txt are read, but it may be longer. */
const ROBOTS_BODY_BYTES = 10 * 1024 * 1024
/** Thrown through the fetcher, which sends nothing then and keeps the connection. */
const TOO_OLD = new Error('the permit expired while the connection was opened')

/** The innermost layer: the request goes out, if its permits and its proxy's grant are still fresh when the connection is open. */
export function dispatch(sending: Sending, held: Held): Promise<Answer> {
  const { current, parts } = sending
  parts.meter.doing(current, 'fetch')
  return step(
    current,
    () => exchange(sending, held),
    () => fetchStep(sending, held),
  )
}

async function exchange(sending: Sending, held: Held): Promise<Answer> {
  const { current, parts, request } = sending
  const { clock, fetcher, spider, secrets } = parts
  const { lent, visitor } = held
  const began = clock.mono()
  let dispatchedAt = Math.min(...held.permits.map(({ at }) => at))
  let response: FetchResponse | null = null
  let verdict: ProxyVerdict
  try {
    const leaving = outgoing(visitor === null ? request : asVisitor(request, visitor), held, spider.allowPrivate)
    response = await fetcher.fetch(
      {
        // Here and not earlier: nothing but this request ever has the values.
        ...(secrets ? secrets.fill(leaving, spider.headers) : leaving),
        limits: request.isRobots === true ? forRobots(spider.fetch) : spider.fetch,
        allowPrivate: spider.allowPrivate,
        onDispatch() {
          dispatchedAt = clock.mono()
          for (const permit of held.permits) if (!isFresh(permit, clock)) throw TOO_OLD
          if (lent !== null && !isFresh(lent.granted, clock)) throw TOO_OLD
          current.started = true
          if (lent !== null) current.proxy = `${lent.grant.need.pool.name}/${lent.grant.proxy.id}`
          // The request is written before this runs. On a busy machine the process may be suspended in between, for 50 ms and more: the
          // delay counts from the write.
          queueMicrotask(() => {
            dispatchedAt = clock.mono()
          })
        },
      },
      current.stop,
    )
    count(response, sending, dispatchedAt - began + response.ms)
    verdict = verdictOn(response, sending, lent)
  } catch (thrown) {
    if (thrown !== TOO_OLD) return failed(thrown, response, sending, held, { began, dispatchedAt })
    // The connection goes through this proxy: through another it would have to be opened again, and the next permit would expire too.
    return new Again('stale', { ...held, stay: lent?.grant.proxy.id ?? held.stay })
  }
  return answered(response, verdict, sending, held, dispatchedAt)
}

/** The request as it leaves: through the proxy, or to the scraping service that is given its URL. */
function outgoing(
  { isRobots: _, keepsSlot: _slot, visitor: _visitor, ...request }: SiteRequest,
  { lent }: Held,
  allowPrivate: readonly string[],
): Pick<FetchRequest, 'proxy'> & SiteRequest {
  if (lent === null) return request
  const { via } = lent.grant.proxy
  if (via.by === 'wrap') {
    const refused = judgeUrl(new URL(request.url), allowPrivate)
    if (refused !== null) throw refused
    // Its pages come from another address than their own: rendering them is up to the service.
    const { render: _wish, ...plain } = request
    return { ...plain, url: via.wrap(request.url) }
  }
  return via.by === 'proxy' ? { ...request, proxy: via.proxy } : request
}

/** A spider of small pages must not lose a site to its long robots.txt. */
function forRobots(limits: FetchLimits): FetchLimits {
  return { ...limits, maxBodyBytes: Math.max(limits.maxBodyBytes, ROBOTS_BODY_BYTES) }
}

function count({ status, wireBytes: bytes }: FetchResponse, { current, parts, request }: Sending, ms: number): void {
  const { log, meter } = parts
  const { lease, proxy } = current
  if (log.verbose)
    log.debug('fetch.done', { fp: lease.link.fp, url: request.url, status, bytes, ms: Math.round(ms), proxy })
  if (request.isRobots === true) meter.receivedAside(bytes)
  else meter.received(status, bytes, ms)
}

/** By OpenTelemetry's conventions for an HTTP client. */
function fetchStep({ current, request }: Sending, { lent }: Held): TracedStep<Answer> {
  const { url, method = 'GET' } = request
  const { attempt } = current.lease
  const { hostname, port, protocol } = new URL(url)
  return {
    name: method,
    client: true,
    about: {
      ...{ 'http.request.method': method, 'url.full': traceUrl(url), 'server.address': hostname },
      'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
      ...(attempt > 1 && { 'http.request.resend_count': attempt - 1 }),
      ...(lent !== null && { 'shoal.proxy': `${lent.grant.need.pool.name}/${lent.grant.proxy.id}` }),
    },
    learnt(answer): Attributes {
      if (answer instanceof Again) return { 'error.type': answer.why }
      if (!('status' in answer)) return {}
      const { status, wireBytes } = answer
      return {
        ...{ 'http.response.status_code': status, 'http.response.body.size': wireBytes },
        ...(status >= 400 && { 'error.type': String(status) }),
      }
    },
  }
}
