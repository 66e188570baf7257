import type { Clock } from '../../clock.js'
import type { Closers } from '../../closers.js'
import type { ProcessSettings } from '../../config.js'
import { asShoalError, ShoalError } from '../../errors.js'
import type { FetchResponse } from '../../fetch/fetcher.js'
import { type GivenPage, type PageResult, resultOf } from '../../fixture/page-result.js'
import type { Log } from '../../log.js'
import { defineSpider } from '../../spider/definition.js'
import type { Page } from '../../spider/page.js'
import { spiderFromDefinition } from '../../spider/resolve.js'
import type { Route, Spider } from '../../spider/spider.js'
import { type Admitter, createAdmitter } from '../../url/admit.js'
import type { Link } from '../../url/link.js'
import { fetchWanted } from '../../worker/fetch-wanted.js'
import { harvestPage, pageOf } from '../../worker/harvest-page.js'
import { withoutSecrets } from '../../worker/secrets.js'
import type { Visit } from '../../worker/visit-parts.js'
import { openCache } from '../open-cache.js'
import { openVisitsByHand, unhidden } from '../visits-by-hand.js'

/** The pages of a prompt: fetched one after the other by one worker, with its pace, robots.txt, proxies, session and cache. */
export interface ShellPages {
  readonly spider: Spider
  readonly admitter: Admitter
  /** Relative to `base`. Rejects with `aborted` once `stop` is. */
  fetch(url: string, base: string, stop: Stop): Promise<ShellPage>
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

type Stop = Visit['stop']

/** Any page of any site, by the rules that hold for every spider: robots.txt, the guard, one request at a time. */
export function spiderForAnyPage(allowPrivate: readonly string[]): Spider {
  return spiderFromDefinition(
    defineSpider({
      ...{ name: 'shell', start: ['https://shell.invalid/'], scope: { hosts: ['*'] }, allowPrivate },
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
  let failure: ShoalError | null = null
  const visits = await openVisitsByHand(spider, {
    ...{ settings, clock, log, closers },
    cache: settings.cache === null ? null : openCache(settings.cache, clock, log),
    watched: (fetcher) => ({
      close: () => fetcher.close(),
      fetch: (request, signal) =>
        fetcher.fetch(request, signal).catch((thrown: unknown) => {
          failure = asShoalError(thrown)
          throw thrown
        }),
    }),
  })
  const { parts } = visits

  const fetchLink = async (link: Link, stop: Stop): Promise<ShellPage> => {
    const route = routeOf(spider, link)
    const current = await visits.begin(link, stop)
    try {
      const { page } = await fetchWanted(current, parts, route, null)
      if (page.kind === 'busy')
        throw new ShoalError('throttled', `${link.url} cannot be fetched for ${page.waitMs} ms: the pace of its host`)
      if (page.kind !== 'page')
        throw new ShoalError('bad_redirect', `${link.url} redirects to ${page.response.url}, whose host is busy`)
      const { response } = page
      return { page: pageOf(route, { link, attempt: 1 }, response), response, link, route, proxy: current.proxy }
    } finally {
      await visits.end(current)
    }
  }

  return {
    spider,
    admitter,
    async fetch(url, base, stop) {
      const link = linkTo(admitter, url, base)
      failure = null
      try {
        return await fetchLink(link, stop)
      } catch (thrown) {
        if (stop.aborted) throw stopped(link.url)
        throw withoutSecrets(unhidden(asShoalError(thrown), failure), parts.secrets)
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
