import { systemClock, systemRandom } from '../clock.js'
import { warnOf, withClosers } from '../closers.js'
import { specFor } from '../coordinator/crawls.js'
import { asShoalError, type ErrorCode, ShoalError } from '../errors.js'
import { createBrowserFetcher, withBrowser } from '../fetch/browser/browser-fetcher.js'
import { createHttpFetcher } from '../fetch/http/http-fetcher.js'
import type { Release } from '../frontier/frontier.js'
import { silentLog } from '../log.js'
import { createMeter } from '../observe/vitals/meter.js'
import { productToken } from '../politeness/product-token.js'
import { createRobotsCache } from '../politeness/robots-cache.js'
import type { HarvestedRecord, Spider } from '../spider/spider.js'
import { createAdmitter } from '../url/admit.js'
import type { Link } from '../url/link.js'
import { showUrl } from '../url/show-url.js'
import { openBackends } from '../wire/backends.js'
import { fetchWanted } from '../worker/fetch-wanted.js'
import { harvestPage } from '../worker/harvest-page.js'
import { KnownLinks } from '../worker/known-links.js'
import { statusError } from '../worker/outcome.js'
import { robotsWaitMs } from '../worker/retry-waits.js'
import { openSecrets, withoutSecrets } from '../worker/secrets.js'
import { newVisit } from '../worker/visit-parts.js'
import { visitorsOf } from '../worker/visitors.js'

/** The result of one page, with nothing stored and nothing queued. */
export interface TriedPage {
  readonly url: string
  /** After redirects. */
  readonly finalUrl: string
  readonly status: number
  readonly ms: number
  readonly bytes: number
  readonly route: string
  readonly records: readonly HarvestedRecord[]
  readonly rejected: readonly (HarvestedRecord & {
    readonly issues: readonly { readonly field: string; readonly message: string }[]
  })[]
  readonly links: readonly { readonly url: string; readonly route: string; readonly priority: number }[]
  readonly refused: readonly { readonly href: string; readonly code: ErrorCode; readonly message: string }[]
}

/** The longest a timer can be set for. */
const MOST_MS = 2 ** 31 - 1

/** One page, through the same filters, guard and robots.txt as in a crawl. */
export async function tryPage(spider: Spider, url: string, browser: string | null = null): Promise<TriedPage> {
  const clock = systemClock
  const admitter = createAdmitter(spider.admit)
  const admission = admitter.resolve(url, '')
  const link = admission.ok ? admitter.link(admission.target, 0) : admission.refusal
  if ('code' in link) throw new ShoalError(link.code, link.message)
  return withClosers(warnOf(silentLog), async (closers) => {
    const backends = await openBackends({ queue: 'memory:', store: 'memory:' })
    closers.add(() => backends.close())
    const fetcher = withBrowser(
      createHttpFetcher({ clock, userAgent: spider.userAgent }),
      createBrowserFetcher({ clock, executable: browser, maxPages: 1 }),
    )
    closers.add(() => fetcher.close())
    // While a handler waits, nothing else may keep the process alive, and it would end without a message.
    const ended = new AbortController()
    void clock.sleep(MOST_MS, ended.signal)
    closers.add(() => ended.abort())
    await backends.frontier.open(specFor(spider, 'try', 1))
    await backends.frontier.add('try', [link])
    const [lease] = (await backends.frontier.lease({ worker: 'try', seq: 1, want: 1, spiders: [spider.name] })).leases
    if (lease === undefined) throw new ShoalError('internal', 'the page could not be leased')
    const current = newVisit(lease, clock.mono())
    const parts = {
      worker: 'try',
      spider,
      admitter,
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
      pages: null,
      screenshots: null,
      fetcher,
      secrets: openSecrets(spider.name, spider.secrets, process.env),
      proxies: null,
      visitors: visitorsOf(spider, clock, systemRandom),
      robots: createRobotsCache({
        clock,
        productToken: productToken(spider.userAgent),
        notes: null,
        holder: '',
        strict: spider.robots === 'strict',
        retryWait: (failures) => robotsWaitMs(spider.routes.values(), failures),
      }),
      known: new KnownLinks(),
      fields: { note() {} },
      meter: createMeter(1, clock),
      slots: { answered() {} },
      matches: { note() {} },
      clock,
      random: systemRandom,
      log: silentLog,
    }
    const route = spider.routes.get(link.route)
    if (route === undefined) throw new ShoalError('no_route', `the spider has no route ${link.route}`)
    const wanted = await fetchWanted(current, parts, route, null).catch((thrown: unknown) => {
      throw withoutSecrets(asShoalError(thrown), parts.secrets)
    })
    const fetched = wanted.page
    if (fetched.kind === 'moved')
      throw new ShoalError('bad_redirect', `${url} redirects to ${fetched.link.url}, whose host is busy`)
    if (fetched.kind === 'busy')
      throw new ShoalError('throttled', `${url} cannot be fetched for ${fetched.waitMs} ms: the pace of its host`)
    const { response } = fetched
    const failed = statusError(response.status)
    if (failed !== null) throw failed
    const harvest = wanted.harvest ?? (await harvestPage(route, lease, response, clock))
    const links: Link[] = []
    const refused: TriedPage['refused'][number][] = []
    const seen = new Set<string>()
    for (const found of harvest.links) {
      const judged = admitter.resolve(found.href, response.url, found)
      const next = judged.ok ? admitter.link(judged.target, 1, found) : judged.refusal
      if ('code' in next) refused.push({ href: showUrl(String(found.href)), code: next.code, message: next.message })
      else if (!seen.has(next.fp)) {
        seen.add(next.fp)
        links.push(next)
      }
    }
    return {
      url: link.url,
      finalUrl: response.url,
      status: response.status,
      ms: response.ms,
      bytes: response.wireBytes,
      route: route.name,
      records: harvest.records,
      rejected: harvest.rejected,
      links: links.map(({ url, route, priority }) => ({ url, route, priority })),
      refused,
    }
  })
}
