import { type Clock, systemRandom } from '../clock.js'
import type { Closers } from '../closers.js'
import type { ProcessSettings } from '../config.js'
import { specFor } from '../coordinator/crawls.js'
import { describeError, ShoalError } from '../errors.js'
import { createBrowserFetcher, withBrowser } from '../fetch/browser/browser-fetcher.js'
import { checkBrowser } from '../fetch/browser/chromium.js'
import type { ResponseCache } from '../fetch/cache/response-cache.js'
import type { Fetcher } from '../fetch/fetcher.js'
import { createHttpFetcher } from '../fetch/http/http-fetcher.js'
import type { Lease, Release } from '../frontier/frontier.js'
import type { Log } from '../log.js'
import { createMeter } from '../observe/vitals/meter.js'
import { createProxyAllocator } from '../proxy/proxy-allocator.js'
import { DIRECT, type Spider } from '../spider/spider.js'
import type { Link } from '../url/link.js'
import { openBackends } from '../wire/backends.js'
import { newVisit, type Visit, type VisitParts } from '../worker/visit-parts.js'
import { countAtHand, poolsAtHand } from './pools-at-hand.js'
import { partsOfCrawls } from './workers/crawl-parts.js'
import { spiderProxies } from './workers/spider-proxies.js'

/** Visits that somebody makes one by one, with `try` or at a prompt. */
export interface VisitsByHand {
  readonly parts: VisitParts
  /** Waits for the pace of its host. Rejects with `aborted` once `stop` is. */
  begin(link: Link, stop?: Stop): Promise<Visit>
  /** The next one may begin. */
  end(visit: Visit): Promise<void>
}

type Stop = Visit['stop']

interface VisitOptions {
  readonly settings: Pick<ProcessSettings, 'proxies' | 'pool' | 'country' | 'browser'>
  readonly cache: ResponseCache | null
  /** Around the fetcher, to see what happens on the way. */
  readonly watched: (fetcher: Fetcher) => Fetcher
  readonly clock: Clock
  readonly log: Log
  readonly closers: Closers
}

/** Of the worker and its crawl. */
const NAME = 'by-hand'
/** Nobody reaps here, and somebody may think for a day before the next page. */
const LEASE_MS = 2 ** 31 - 1
/** How soon Ctrl-C is noticed by a visit that has not begun. */
const LOOK_MS = 100

/**
 * With everything that a worker gives a visit: proxies, session, login, secrets, robots.txt and pace, or the error that `run` would end with. Only the
 * queue is in memory, and nothing is written anywhere.
 */
export async function openVisitsByHand(spider: Spider, options: VisitOptions): Promise<VisitsByHand> {
  const { settings, cache, watched, clock, log, closers } = options
  const pools = poolsAtHand(settings, [spider])
  const backends = await openBackends({ queue: 'memory:', store: 'memory:' })
  closers.add(() => backends.close())
  const { frontier } = backends
  const fetcher = withBrowser(
    createHttpFetcher({ clock }),
    createBrowserFetcher({ clock, executable: settings.browser, maxPages: 1 }),
  )
  closers.add(() => fetcher.close())
  const allocator = createProxyAllocator({ ledger: backends.proxies, clock, random: systemRandom, worker: NAME })
  closers.add(() => allocator.close())
  await frontier.open({ ...specFor(spider, NAME, 1), visibilityMs: LEASE_MS })
  const shared = {
    ...{ worker: NAME, frontier, fetcher: watched(fetcher), cache, meter: createMeter(1, clock) },
    ...{ clock, random: systemRandom, log },
    outbox: {
      write: async () => [],
      lastVisit: async () => null,
      settle: async () => true,
      released: async () => {},
      release: (release: Release) => void frontier.release([release]),
      keep: async () => '',
      crowded: false,
    },
    fields: { note() {} },
    slots: { answered() {} },
    matches: { note() {} },
  }
  const parts = await partsOfCrawls([spider], backends, (one) => spiderProxies(one, allocator, pools), shared)(NAME)
  if (parts === null) throw new ShoalError('internal', 'the visits have no parts')
  let seq = 0

  const lease = async (link: Link, stop: Stop): Promise<Lease> => {
    await frontier.add(NAME, [{ ...link, again: true }])
    while (!stop.aborted) {
      const request = { worker: NAME, seq: ++seq, want: 1, spiders: [spider.name] }
      const { leases, idleMs } = await frontier.lease(cache === null ? request : { ...request, withoutPermit: true })
      if (leases[0] !== undefined) return leases[0]
      await clock.sleep(Math.min(idleMs, LOOK_MS))
    }
    await frontier.steer(NAME, link.fp, link.host, 'remove')
    throw new ShoalError('aborted', 'stopped')
  }

  return {
    parts,
    async begin(link, stop = { aborted: false }) {
      const route = spider.routes.get(link.route)
      const need = route?.proxy ?? DIRECT
      // In a crawl such a link waits for another worker, which has the pool.
      if (need !== DIRECT && countAtHand(pools, need) === 0)
        throw new ShoalError(
          'proxy_unknown',
          `route '${link.route}' uses the proxy pool '${need.pool}', which --pool or --country leave out`,
        )
      if (route?.render?.when === 'always') await checkBrowser(settings.browser)
      // There is no queue to go back to: it waits as long as the pace of its hosts demands.
      return { ...newVisit(await lease(link, stop), clock.mono()), stop, patient: true }
    },
    async end({ lease: held }) {
      await frontier.settle([{ lease: held, outcome: { kind: 'done', links: [], bytes: 0 } }])
    },
  }
}

/** A site that cannot be reached fails at its robots.txt first, which is not what the user asked for. `failure`: of the last request that got no response. */
export function unhidden(error: ShoalError, failure: ShoalError | null): ShoalError {
  return error.code === 'robots_unreachable' && failure !== null && isUnreachable(failure) ? failure : error
}

function isUnreachable({ code }: ShoalError): boolean {
  return describeError(code).failedAt === 'connection' || code === 'dns_not_found' || code === 'dns_error'
}
