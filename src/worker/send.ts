import { asShoalError, type ErrorCode, ShoalError } from '../errors.js'
import type { FetchRequest, FetchResponse, RenderWish } from '../fetch/fetcher.js'
import { isStaleSocket } from '../fetch/stale-socket.js'
import type { HostReport } from '../frontier/frontier.js'
import type { ExitVerdict } from '../proxy/exit-ledger.js'
import type { HostKey, RequestExtras } from '../url/link.js'
import { borrowExit, type Lent } from './borrow-exit.js'
import { hostReport } from './outcome.js'
import { type Granted, HostBusy, isFresh, permitFor } from './permits.js'
import type { Visit, VisitParts } from './visit-parts.js'

/** Permits in a row that were too old when the connection stood: this process is too busy for the pace of this host. */
const MOST_STALE = 5
const STALE_WAIT_MS = 1_000
/** Broken exits that one request is tried through; beyond that the link goes back, at no cost. */
const MOST_BROKEN = 3
/** Failures on our side of the wire. */
const OURS: ReadonlySet<ErrorCode> = new Set(['proxy_error', 'browser_missing', 'browser_busy', 'browser_crashed'])
/** Says nothing about the host. */
const NO_NEWS: HostReport = { kind: 'wait', ms: 0 }

/** The permit grew old while the connection was made: nothing was sent. */
class PermitStale extends Error {}

export interface Sending extends RequestExtras {
  readonly url: string
  /** 403 for robots.txt says that there is none, not that the exit is refused. */
  readonly isRobots?: true
  readonly render?: RenderWish
}

/**
 * One request: an exit where the spider takes proxies, a permit of each pace it falls under, dispatch, and the slots free again as soon as the body is
 * read.
 */
export async function send(
  current: Visit,
  parts: VisitParts,
  keys: readonly [HostKey, ...HostKey[]],
  request: Sending,
): Promise<FetchResponse> {
  const { clock, ways, spider } = parts
  const need = spider.routes.get(current.lease.link.route)?.proxy ?? null
  let repeated = false
  let stale = 0
  let broken = 0
  const permits = new Map<HostKey, Granted>()
  let lent: Lent | null = null
  for (;;) {
    try {
      for (const key of keys)
        if (!isFresh(permits.get(key), clock)) permits.set(key, await permitFor(current, key, parts))
      // Last, because it is good for a shorter time.
      if (ways !== null && need !== null && !isFresh(lent?.granted, clock)) {
        lent?.end(null)
        lent = await borrowExit(current, parts, ways, need, keys[0])
      }
      return await dispatch(current, parts, permits, lent, request)
    } catch (error) {
      // The slot is still held and the connection stands: only the permit is asked for again, but not for ever.
      if (error instanceof PermitStale && ++stale < MOST_STALE) continue
      lent?.end(null)
      lent = null
      permits.clear()
      if (error instanceof PermitStale) throw new HostBusy(keys.join(' and '), STALE_WAIT_MS)
      if (error instanceof ShoalError && error.code === 'proxy_error' && ++broken < MOST_BROKEN) continue
      // The server closed a kept connection under our feet: once more, with a permit of its own.
      if (!isStaleSocket(error) || repeated) throw error
      repeated = true
    }
  }
}

async function dispatch(
  current: Visit,
  parts: VisitParts,
  permits: ReadonlyMap<HostKey, Granted>,
  lent: Lent | null,
  request: Sending,
): Promise<FetchResponse> {
  const { clock, fetcher, outbox, spider, ways } = parts
  const { crawl, token } = current.lease
  let dispatchedAt = Math.min(...[...permits.values()].map(({ at }) => at))
  const release = (report: HostReport) => {
    const elapsedMs = clock.mono() - dispatchedAt
    for (const host of permits.keys()) outbox.release({ lease: { crawl, token }, host, elapsedMs, report })
  }
  try {
    const response = await fetcher.fetch(
      {
        ...outgoing(request, lent),
        limits: spider.fetch,
        allowPrivate: spider.allowPrivate,
        onDispatch: () => {
          dispatchedAt = clock.mono()
          for (const permit of permits.values()) if (!isFresh(permit, clock)) throw new PermitStale()
          if (lent !== null && !isFresh(lent.granted, clock)) throw new PermitStale()
          current.started = true
          if (lent !== null) current.exit = `${lent.grant.need.pool.name}/${lent.grant.exit.id}`
          // The request is written before this runs. On a busy machine the process may have stood still in between, by 50 ms and more:
          // the delay counts from the write.
          queueMicrotask(() => {
            dispatchedAt = clock.mono()
          })
        },
      },
      current.stop,
    )
    const direct = lent === null || lent.grant.exit.way.by === 'direct'
    const open = direct || (request.isRobots === true && response.status === 403)
    const verdict: ExitVerdict = open || ways === null ? { kind: 'neutral' } : ways.verdictOf(response)
    lent?.end({ verdict, elapsedMs: clock.mono() - dispatchedAt, bytes: response.wireBytes })
    // A site that refuses one exit has nothing against the others: only the exit rests.
    release(verdict.kind === 'banned' ? NO_NEWS : hostReport(response, clock))
    if (verdict.kind === 'banned')
      throw new ShoalError('exit_banned', `the site refuses ${current.exit} (${response.status})`)
    return lent === null ? response : { ...response, url: request.url }
  } catch (error) {
    if (error instanceof PermitStale) throw error
    const failure = asShoalError(error)
    if (failure.code === 'exit_banned') throw error
    if (ways !== null)
      lent?.end({ verdict: ways.verdictOfError(failure), elapsedMs: clock.mono() - dispatchedAt, bytes: 0 })
    release(OURS.has(failure.code) ? NO_NEWS : { kind: 'failed' })
    throw error
  }
}

/** The request as it leaves: through the proxy, or to the service that is given its URL. */
function outgoing({ isRobots: _, ...request }: Sending, lent: Lent | null): Pick<FetchRequest, 'proxy'> & Sending {
  if (lent === null) return request
  const { way } = lent.grant.exit
  if (way.by === 'wrap') {
    // Its pages come from another address than their own: whether they are rendered is the service's business.
    const { render: _wish, ...plain } = request
    return { ...plain, url: way.wrap(request.url) }
  }
  return way.by === 'proxy' ? { ...request, proxy: way.proxy } : request
}
