import { type Clock, systemClock } from '../../clock.js'
import { type Closers, warnOf, withClosers } from '../../closers.js'
import { asShoalError, ShoalError } from '../../errors.js'
import type { FetchResponse } from '../../fetch/fetcher.js'
import { mediaTypeOf } from '../../fetch/media-type.js'
import { saveFixture } from '../../fixture/fixture-files.js'
import { type PageResult, resultOf } from '../../fixture/page-result.js'
import { silentLog } from '../../log.js'
import { compilePatterns } from '../../spider/admit-rules.js'
import type { Harvest, Route, Spider } from '../../spider/spider.js'
import { type Admitter, createAdmitter } from '../../url/admit.js'
import type { Json, Link } from '../../url/link.js'
import { matchUrl } from '../../url/patterns.js'
import { examine } from '../../workbench/examine.js'
import { fetchWanted } from '../../worker/fetch-wanted.js'
import { harvestPage, pageOf } from '../../worker/harvest-page.js'
import { pageReporter } from '../../worker/line-limit.js'
import { asksForBrowser } from '../../worker/needs-browser.js'
import { statusError } from '../../worker/outcome.js'
import { redirectTarget } from '../../worker/redirects.js'
import { openSecrets, type Secrets, withoutSecrets } from '../../worker/secrets.js'
import { StrayErrors } from '../../worker/stray-errors.js'
import { unhidden } from '../visits-by-hand.js'
import { openVisit } from './open-visit.js'
import { failureOf, type PageFacts, type PageSource, type TriedPage, type TryOrder, unhandled } from './tried-page.js'
import { TryNotes } from './try-notes.js'
import { valueAt } from './value-at.js'

/** The longest a timer can be set for. */
const MOST_MS = 2 ** 31 - 1
const RENDER_ALWAYS = { wait: null, settleMs: 10_000, images: false }

export interface TryHooks {
  /** Before the spider's code sees the page: it may never end. */
  readonly onFacts?: (facts: PageFacts) => void
  readonly notes?: TryNotes
  /** Finds the page of an error that no catch can reach. */
  readonly strays?: StrayErrors
  readonly clock?: Clock
}

/** One page, through the same filters, guard, robots.txt, proxies and session as in a crawl. Nothing is stored or queued. */
export async function tryPage(defined: Spider, order: TryOrder, hooks: TryHooks = {}): Promise<TriedPage> {
  const { clock = systemClock, notes = new TryNotes(clock), onFacts = () => {} } = hooks
  const spider = order.rendered ? alwaysRendered(defined) : defined
  const admitter = createAdmitter(spider.admit)
  const link = linkTo(admitter, spider, order)
  const route = routeOf(spider, link.route)
  return withClosers(warnOf(silentLog), async (closers) => {
    keepAlive(clock, closers)
    const {
      response,
      source,
      harvest: early,
      secrets,
    } = await pageFor(spider, link, route, order, notes, clock, closers)
    const facts = factsOf({ spider: defined, admitter, link, route, order, notes, response, source })
    onFacts(facts)
    const failed = statusError(response.status)
    if (failed !== null) return unhandled(facts, failureOf(failed), notes.lines)
    const began = clock.mono()
    const strays = hooks.strays ?? new StrayErrors({ clock, log: notes.log })
    const asked = { link, attempt: 1 }
    const reporter = pageReporter(link, { log: notes.log })
    const work = () => harvestPage(route, asked, response, clock, { reporter })
    let harvest: Harvest
    try {
      harvest = early ?? (await strays.run(link, work))
    } catch (thrown) {
      return unhandled(facts, failureOf(withoutSecrets(asShoalError(thrown), secrets)), notes.lines)
    }
    const result = resultOf(spider, admitter, { link, url: response.url }, harvest)
    const saved = await save(order, {
      spider,
      link,
      response,
      result,
      rendered: facts.rendered !== null,
      clock,
      secrets,
    })
    return {
      ...facts,
      timings: { ...facts.timings, handler: clock.mono() - began },
      ...shownResult(result),
      logs: notes.lines,
      counts: harvest.counts ?? [],
      saved,
      failure: null,
    }
  })
}

function linkTo(admitter: Admitter, spider: Spider, { url, route, data }: TryOrder): Link {
  if (route !== null) routeOf(spider, route)
  const admission = admitter.resolve(url, '', route === null ? {} : { route })
  const options = { ...(route !== null && { route }), ...(data !== undefined && { data }) }
  const link = admission.ok ? admitter.link(admission.target, 0, options) : admission.refusal
  if ('code' in link) throw new ShoalError(link.code, link.message)
  return link
}

function routeOf({ routes }: Spider, name: string): Route {
  const route = routes.get(name)
  if (route !== undefined) return route
  throw new ShoalError('usage', `--route: the spider has no route '${name}'; it has ${[...routes.keys()].join(', ')}`, {
    hint: 'Pass one of them with --route, or leave --route out.',
  })
}

function alwaysRendered(spider: Spider): Spider {
  const rendered = ({ render, ...route }: Route): Route => ({
    ...route,
    render: { wish: render?.wish ?? RENDER_ALWAYS, when: 'always', needed: () => true },
  })
  return { ...spider, routes: new Map([...spider.routes].map(([name, route]) => [name, rendered(route)])) }
}

interface ReadPage {
  readonly response: FetchResponse
  readonly source: PageSource
  /** Already handled, to find out whether the page needs a browser. */
  readonly harvest: Harvest | null
  readonly secrets: Secrets | null
}

async function pageFor(
  spider: Spider,
  link: Link,
  route: Route,
  order: TryOrder,
  notes: TryNotes,
  clock: Clock,
  closers: Closers,
): Promise<ReadPage> {
  if (order.given !== null) {
    const { file, body, headers, status } = order.given
    const response = { url: link.url, status, headers, body, cookies: [], wireBytes: 0, ms: 0 }
    return { response, source: { kind: 'file', file }, harvest: null, secrets: null }
  }
  const secrets = openSecrets(spider.name, spider.secrets, process.env)
  const { current, parts } = await openVisit(spider, link, order, notes, clock, closers)
  try {
    const { page, harvest } = await fetchWanted(current, parts, route, null)
    if (page.kind === 'busy')
      throw new ShoalError('throttled', `${link.url} cannot be fetched for ${page.waitMs} ms: the pace of its host`)
    if (page.kind !== 'page')
      throw new ShoalError('bad_redirect', `${link.url} redirects to ${page.response.url}, whose host is busy`)
    const { response } = page
    const source: PageSource =
      response.cached === undefined
        ? { kind: 'network', proxy: current.proxy }
        : { kind: 'cache', ageMs: clock.now() - response.cached.at }
    return { response, source, harvest, secrets }
  } catch (thrown) {
    throw withoutSecrets(unhidden(asShoalError(thrown), notes.failure), secrets)
  }
}

interface FactParts {
  readonly spider: Spider
  readonly admitter: Admitter
  readonly link: Link
  readonly route: Route
  readonly order: TryOrder
  readonly notes: TryNotes
  readonly response: FetchResponse
  readonly source: PageSource
}

function factsOf({ spider, admitter, link, route, order, notes, response, source }: FactParts): PageFacts {
  const page = pageOf(route, { link, attempt: 1 }, response)
  const wasRendered = response.rendered !== undefined
  const redirects = redirectsOf(link, admitter, notes.responses)
  const ms = source.kind === 'network' ? responseMs(notes.responses, link, redirects) : 0
  const own = spider.routes.get(route.name)?.render
  return {
    url: link.url,
    finalUrl: response.url,
    redirects,
    status: response.status,
    ms: response.ms,
    bytes: response.wireBytes,
    size: response.body.length,
    contentType: mediaTypeOf(response),
    source,
    route: route.name,
    pattern: order.route === null ? patternOf(route, link.url) : null,
    rendered: !wasRendered
      ? null
      : order.rendered
        ? '--rendered'
        : (notes.renderedBecause ?? `render: ${own?.when ?? ''}`),
    rules: examine(route, page, admitter),
    handler: route.rules.handler,
    needsBrowser: wasRendered ? null : asksForBrowser(response, () => page.text),
    timings: {
      ...notes.timings,
      ...(source.kind === 'network' && (wasRendered ? { render: ms } : { response: ms })),
    },
  }
}

function responseMs(responses: readonly FetchResponse[], { url }: Link, redirects: PageFacts['redirects']): number {
  const asked = new Set([url, ...redirects.map((one) => one.url), responses.at(-1)?.url ?? url])
  return responses.reduce((sum, one) => sum + (asked.has(one.url) ? one.ms : 0), 0)
}

/** From the link, each response that redirects leads to the next. */
function redirectsOf(
  { url: first, route }: Link,
  admitter: Admitter,
  responses: readonly FetchResponse[],
): { readonly url: string; readonly status: number }[] {
  const redirects: { url: string; status: number }[] = []
  let url = first
  for (const response of responses) {
    const target = response.url === url ? redirectTarget(response) : null
    if (target === null) continue
    redirects.push({ url, status: response.status })
    const next = admitter.resolve(target, url, { route })
    if (!next.ok) break
    url = next.target.url
  }
  return redirects
}

function patternOf({ name, match }: Route, url: string): string | null {
  const found = match.find((pattern) => matchUrl(compilePatterns(`routes.${name}.match`, [pattern]), new URL(url)))
  return found === undefined ? null : String(found)
}

function shownResult({ records, rejected, links, refused }: PageResult) {
  return {
    records,
    rejected: rejected.map((record) => ({
      ...record,
      issues: record.issues.map((issue) => ({ ...issue, ...valueIn(record.data, issue.field) })),
    })),
    links: links.map(({ url, route, priority }) => ({ url, route, priority })),
    refused,
  }
}

function valueIn(data: Json, field: string): { readonly value?: Json } {
  const value = valueAt(data, field)
  return value === undefined ? {} : { value }
}

async function save(
  { save: asked, route: given }: TryOrder,
  page: {
    readonly spider: Spider
    readonly link: Link
    readonly response: FetchResponse
    readonly result: PageResult
    readonly rendered: boolean
    readonly clock: Clock
    readonly secrets: Secrets | null
  },
): Promise<readonly string[]> {
  if (asked === null) return []
  const { spider, link, response, result, rendered, clock, secrets } = page
  const { url, status, headers, body } = response
  const { data } = link
  return saveFixture(
    asked.file,
    {
      spider: spider.name,
      ...(spider.args !== null && { args: spider.args.given }),
      page: {
        url,
        requestedUrl: link.url,
        status,
        headers,
        body,
        route: given,
        depth: 0,
        ...(data !== undefined && { data }),
      },
      rendered,
      savedAt: clock.now(),
      result,
    },
    { force: asked.force, masked: secrets === null ? null : (text) => secrets.masked(text) },
  )
}

/** While a handler waits, nothing else may keep the process alive, and it would end without a message. */
function keepAlive(clock: Clock, closers: Closers): void {
  const ended = new AbortController()
  void clock.sleep(MOST_MS, ended.signal)
  closers.add(() => ended.abort())
}
