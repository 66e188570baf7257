import { type Clock, systemRandom } from '../../clock.js'
import type { Closers } from '../../closers.js'
import type { ProcessSettings } from '../../config.js'
import { specFor } from '../../coordinator/crawls.js'
import { asShoalError, ShoalError } from '../../errors.js'
import { createBrowserFetcher, withBrowser } from '../../fetch/browser/browser-fetcher.js'
import type { Fetcher, FetchResponse } from '../../fetch/fetcher.js'
import { createHttpFetcher } from '../../fetch/http/http-fetcher.js'
import { type GivenPage, type PageResult, resultOf } from '../../fixture/page-result.js'
import type { Lease, Release } from '../../frontier/frontier.js'
import type { Log } from '../../log.js'
import { createMeter } from '../../observe/vitals/meter.js'
import { createProxyAllocator } from '../../proxy/proxy-allocator.js'
import { defineSpider } from '../../spider/definition.js'
import type { Page } from '../../spider/page.js'
import { spiderFromDefinition } from '../../spider/resolve.js'
import type { Route, Spider } from '../../spider/spider.js'
import { type Admitter, createAdmitter } from '../../url/admit.js'
import type { Link } from '../../url/link.js'
import { openBackends } from '../../wire/backends.js'
import { fetchWanted } from '../../worker/fetch-wanted.js'
import { harvestPage, pageOf } from '../../worker/harvest-page.js'
import { withoutSecrets } from '../../worker/secrets.js'
import { newVisit } from '../../worker/visit-parts.js'
import { openCache } from '../open-cache.js'
import { poolsAtHand } from '../pools-at-hand.js'
import { partsOfCrawls } from '../workers/crawl-parts.js'
import { spiderProxies } from '../workers/spider-proxies.js'

/** The pages of a prompt: fetched one after the other by one worker, with its pace, robots.txt, proxies, session and cache. */
export interface ShellPages {
  readonly spider: Spider
  readonly admitter: Admitter
  /** Relative to `base`. Rejects with `aborted` once the signal is. */
  fetch(url: string, base: string, signal: { readonly aborted: boolean }): Promise<ShellPage>
  /** A page that is at hand. */
  given(page: GivenPage): ShellPage
  /** What the spider makes of the page. */
  records(page: ShellPage): Promise<PageResult>
}

export interface ShellPage {
  readonly page: Page
  readonly response: FetchResponse
  readonly link: Link
  readonly route: Route
  readonly proxy: string | null
}

const NAME = 'shell'
/** Nobody reaps here, and somebody may think for a day before the next command. */
const LEASE_MS = 2 ** 31 - 1

/** Any page of any site, by the rules that hold for every spider: robots.txt, the guard, one request at a time. */
export function spiderForAnyPage(allowPrivate: readonly string[]): Spider {
  return spiderFromDefinition(
    defineSpider({
      ...{ name: NAME, start: ['https://shell.invalid/'], scope: { hosts: ['*'] }, allowPrivate },
      routes: { page: { match: '**', handler() {} } },
    }),
  )
}

export async function openShellPages(
  spider: Spider,
  settings: ProcessSettings,
  { clock, log, closers }: { readonly clock: Clock; readonly log: Log; readonly closers: Closers },
): Promise<ShellPages> {
  const admitter = createAdmitter(spider.admit)
  const pools = poolsAtHand(settings, [spider])
  const backends = await openBackends({ queue: 'memory:', store: 'memory:' })
  closers.add(() => backends.close())
  const { frontier } = backends
  const network = watchedForFailures(
    withBrowser(
      createHttpFetcher({ clock }),
      createBrowserFetcher({ clock, executable: settings.browser, maxPages: 1 }),
    ),
  )
  closers.add(() => network.fetcher.close())
  const allocator = createProxyAllocator({ ledger: backends.proxies, clock, random: systemRandom, worker: NAME })
  closers.add(() => allocator.close())
  await frontier.open({ ...specFor(spider, NAME, 1), visibilityMs: LEASE_MS })
  const cache = settings.cache === null ? null : openCache(settings.cache, clock, log)
  const shared = {
    ...{ worker: NAME, frontier, fetcher: network.fetcher, cache, meter: createMeter(1, clock) },
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
  if (parts === null) throw new ShoalError('internal', 'the prompt has no spider')
  let seq = 0

  const lease = async (link: Link, signal: { readonly aborted: boolean }): Promise<Lease> => {
    await frontier.add(NAME, [{ ...link, again: true }])
    while (!signal.aborted) {
      const request = { worker: NAME, seq: ++seq, want: 1, spiders: [spider.name] }
      const { leases, idleMs } = await frontier.lease(cache === null ? request : { ...request, withoutPermit: true })
      if (leases[0] !== undefined) return leases[0]
      await clock.sleep(Math.min(idleMs, 100))
    }
    await frontier.steer(NAME, link.fp, link.host, 'remove')
    throw stopped(link.url)
  }

  return {
    spider,
    admitter,
    async fetch(url, base, signal) {
      const link = linkTo(admitter, url, base)
      const route = routeOf(spider, link)
      const held = await lease(link, signal)
      // There is no queue to go back to: it waits as long as the pace of its host demands.
      const current = { ...newVisit(held, clock.mono()), patient: true as const, stop: signal }
      network.failure = null
      try {
        const { page } = await fetchWanted(current, parts, route, null)
        if (page.kind === 'busy')
          throw new ShoalError('throttled', `${link.url} cannot be fetched for ${page.waitMs} ms: the pace of its host`)
        if (page.kind !== 'page')
          throw new ShoalError('bad_redirect', `${link.url} redirects to ${page.response.url}, whose host is busy`)
        const { response } = page
        const asked = { link, attempt: 1 }
        return { page: pageOf(route, asked, response), response, link, route, proxy: current.proxy }
      } catch (thrown) {
        if (signal.aborted) throw stopped(link.url)
        throw withoutSecrets(unhidden(asShoalError(thrown), network.failure), parts.secrets)
      } finally {
        await frontier.settle([{ lease: held, outcome: { kind: 'done', links: [], bytes: 0 } }])
      }
    },
    given({ requestedUrl, data, ...rest }) {
      const link = { ...linkTo(admitter, requestedUrl, ''), ...(data !== undefined && { data }) }
      const route = routeOf(spider, link)
      const response = { ...rest, cookies: [], wireBytes: 0, ms: 0 }
      return { page: pageOf(route, { link, attempt: 1 }, response), response, link, route, proxy: null }
    },
    async records({ response, link, route }) {
      const harvest = await harvestPage(route, { link, attempt: 1 }, response, clock)
      return resultOf(spider, admitter, { link, url: response.url }, harvest)
    },
  }
}

function linkTo(admitter: Admitter, url: string, base: string): Link {
  const admission = admitter.resolve(url, base)
  const link = admission.ok ? admitter.link(admission.target, 0) : admission.refusal
  if ('code' in link) throw new ShoalError(link.code, link.message)
  return link
}

function routeOf({ routes }: Spider, { route }: Link): Route {
  const found = routes.get(route)
  if (found === undefined) throw new ShoalError('no_route', `the spider has no route ${route}`)
  return found
}

function stopped(url: string): ShoalError {
  return new ShoalError('aborted', `stopped before ${url} was there`, { hint: 'The page is still the one before.' })
}

/** A site that cannot be reached fails at its robots.txt first, which is not what the user asked for. */
function unhidden(error: ShoalError, failure: ShoalError | null): ShoalError {
  return error.code === 'robots_unreachable' && failure !== null ? failure : error
}

function watchedForFailures(fetcher: Fetcher): { readonly fetcher: Fetcher; failure: ShoalError | null } {
  const watched = {
    failure: null as ShoalError | null,
    fetcher: {
      fetch: (...[request, signal]: Parameters<Fetcher['fetch']>) =>
        fetcher.fetch(request, signal).catch((thrown: unknown) => {
          watched.failure = asShoalError(thrown)
          throw thrown
        }),
      close: () => fetcher.close(),
    },
  }
  return watched
}
