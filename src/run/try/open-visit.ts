import { type Clock, systemRandom } from '../../clock.js'
import type { Closers } from '../../closers.js'
import { specFor } from '../../coordinator/crawls.js'
import { ShoalError } from '../../errors.js'
import { createBrowserFetcher, withBrowser } from '../../fetch/browser/browser-fetcher.js'
import { checkBrowser } from '../../fetch/browser/chromium.js'
import { createHttpFetcher } from '../../fetch/http/http-fetcher.js'
import type { Release } from '../../frontier/frontier.js'
import { createMeter } from '../../observe/vitals/meter.js'
import { createProxyAllocator } from '../../proxy/proxy-allocator.js'
import { DIRECT, type Spider } from '../../spider/spider.js'
import type { Link } from '../../url/link.js'
import { openBackends } from '../../wire/backends.js'
import { newVisit, type Visit, type VisitParts } from '../../worker/visit-parts.js'
import { openCache } from '../open-cache.js'
import { countAtHand, poolsAtHand } from '../pools-at-hand.js'
import { partsOfCrawls } from '../workers/crawl-parts.js'
import { spiderProxies } from '../workers/spider-proxies.js'
import type { TryOrder } from './tried-page.js'
import type { TryNotes } from './try-notes.js'

const WORKER = 'try'
const CRAWL = 'try'

/**
 * One visit with everything that a worker gives it: proxies, session, login, secrets, robots.txt and pace, or the error that `run` would end with. Only the
 * queue is in memory, and nothing is written anywhere.
 */
export async function openVisit(
  spider: Spider,
  link: Link,
  { fresh, settings }: Pick<TryOrder, 'fresh' | 'settings'>,
  notes: TryNotes,
  clock: Clock,
  closers: Closers,
): Promise<{ readonly current: Visit; readonly parts: VisitParts }> {
  const pools = poolsAtHand(settings, [spider])
  const route = spider.routes.get(link.route)
  const need = route?.proxy ?? DIRECT
  // In a crawl such a link waits for another worker, which has the pool.
  if (need !== DIRECT && countAtHand(pools, need) === 0)
    throw new ShoalError(
      'proxy_unknown',
      `route '${link.route}' uses the proxy pool '${need.pool}', which --pool or --country leave out`,
    )
  if (route?.render?.when === 'always') await checkBrowser(settings.browser)
  const backends = await openBackends({ queue: 'memory:', store: 'memory:' })
  closers.add(() => backends.close())
  const fetcher = withBrowser(
    createHttpFetcher({ clock }),
    createBrowserFetcher({ clock, executable: settings.browser, maxPages: 1 }),
  )
  closers.add(() => fetcher.close())
  const allocator = createProxyAllocator({ ledger: backends.proxies, clock, random: systemRandom, worker: WORKER })
  closers.add(() => allocator.close())
  await backends.frontier.open(specFor(spider, CRAWL, 1))
  await backends.frontier.add(CRAWL, [link])
  const [lease] = (await backends.frontier.lease({ worker: WORKER, seq: 1, want: 1, spiders: [spider.name] })).leases
  if (lease === undefined) throw new ShoalError('internal', 'the page could not be leased')
  const shared = {
    worker: WORKER,
    frontier: backends.frontier,
    outbox: {
      write: async () => [],
      lastVisit: async () => null,
      settle: async () => true,
      released: async () => {},
      release: (release: Release) => void backends.frontier.release([release]),
      keep: async () => '',
      crowded: false,
    },
    fetcher: notes.watchedFetcher(fetcher),
    cache: notes.watchedCache(settings.cache === null ? null : openCache(settings.cache, clock, notes.log), fresh),
    fields: { note() {} },
    meter: createMeter(1, clock),
    slots: { answered() {} },
    matches: { note() {} },
    clock,
    random: systemRandom,
    log: notes.log,
  }
  const parts = await partsOfCrawls([spider], backends, (one) => spiderProxies(one, allocator, pools), shared)(CRAWL)
  if (parts === null) throw new ShoalError('internal', 'the visit has no parts')
  const current = newVisit(lease, clock.mono())
  current.trace = notes.trace
  // There is no queue to go back to: it waits as long as the pace of its hosts demands.
  current.patient = true
  return { current, parts }
}
