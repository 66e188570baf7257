import { ShoalError } from '../errors.js'
import type { FetchResponse } from '../fetch/fetcher.js'
import type { Log } from '../log.js'
import type { Harvest, Route, RouteRender } from '../spider/spider.js'
import { type Fetched, fetchPage } from './fetch-page.js'
import { harvestPage, pageOf } from './harvest-page.js'
import { pageReporter } from './line-limit.js'
import { asksForBrowser, lacksWanted } from './needs-browser.js'
import { statusError } from './outcome.js'
import type { Known } from './revisit.js'
import { runningPage } from './running-page.js'
import { step } from './trace-visit.js'
import type { Visit, VisitParts } from './visit-parts.js'

export interface Wanted {
  readonly page: Fetched
  /** Set where the page was already handled to find out whether it needs a browser; null: not handled yet. */
  readonly harvest: Harvest | null
}

/** The page as its route wants it: as the server sends it, rendered, or rendered only when the plain page gives too little. */
export async function fetchWanted(
  current: Visit,
  parts: VisitParts,
  route: Route,
  known: Known | null,
): Promise<Wanted> {
  const { render } = route
  if (render === null) return { page: await fetchPage(current, parts, known), harvest: null }
  // What scripts show may change while their page does not: a rendered page is never requested conditionally.
  const rendered = async () => ({ page: await fetchPage(current, parts, null, render.wish), harvest: null })
  if (render.when === 'always') return rendered()
  const page = await fetchPage(current, parts, known)
  if (page.kind !== 'page' || statusError(page.response.status) !== null) return { page, harvest: null }
  const tried = await tryPlain(page.response, current, parts, route, render)
  if (typeof tried !== 'string') return { page, harvest: tried }
  parts.log.debug('fetch.rendered', { fp: current.lease.link.fp, url: page.response.url, why: tried })
  current.patient = true
  return rendered()
}

/** Runs the spider's own code on the page. */
export async function harvestTimed(
  current: Visit,
  parts: VisitParts,
  route: Route,
  response: FetchResponse,
): Promise<Harvest> {
  const { meter, clock, log, strays } = parts
  meter.doing(current, 'handler')
  const began = clock.mono()
  const reporter = pageReporter(current.lease.link, parts)
  const { link } = current.lease
  const work = () => runningPage.run(link, () => harvestPage(route, current.lease, response, clock, { reporter }))
  try {
    const harvest = await step(
      current,
      () => (strays ? strays.run(link, work) : work()),
      () => ({ name: 'handler', about: { 'shoal.route': route.name } }),
    )
    if (log.verbose) logHarvest(harvest, current, log)
    return harvest
  } finally {
    meter.took('handler', clock.mono() - began)
  }
}

function logHarvest({ records, rejected, links }: Harvest, { lease }: Visit, log: Log): void {
  const { fp, route } = lease.link
  const found = { records: records.length, rejected: rejected.length, links: links.length }
  log.debug('handler.done', { fp, route, ...found })
}

/** What the page gives as the server sent it, or why it must be rendered. */
async function tryPlain(
  response: FetchResponse,
  current: Visit,
  parts: VisitParts,
  route: Route,
  render: RouteRender,
): Promise<Harvest | string> {
  const page = pageOf(route, current.lease, response)
  const asked = asksForBrowser(response, () => page.text)
  if (asked !== null) return asked
  if (runningPage.run(current.lease.link, () => render.needed(page))) return 'needed'
  try {
    const harvest = await harvestTimed(current, parts, route, response)
    return lacksWanted(harvest, route) ? 'wanted fields are missing' : harvest
  } catch (error) {
    // The handler expects what scripts add, and failed on the page without it.
    if (error instanceof ShoalError && error.code === 'handler_error') return 'handler failed'
    throw error
  }
}
