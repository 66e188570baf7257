import { type Clock, inTime } from '../clock.js'
import { ShoalError } from '../errors.js'
import type { FetchResponse } from '../fetch/fetcher.js'
import type { Lease } from '../frontier/frontier.js'
import { createPage, notesOf, type Page } from '../spider/page.js'
import type { Harvest, Route, Spider } from '../spider/spider.js'
import type { RecordRow, RejectedRow, WriteBatch } from '../store/record-store.js'
import { hostIn, siteOf } from '../url/host.js'
import type { Link } from '../url/link.js'

/** From a page to the rows of the store: the same for a page just fetched and for a stored one. */

/** The link that the page was fetched for, and in which attempt. */
export interface Asked {
  readonly link: Pick<Link, 'url' | 'depth' | 'data'>
  readonly attempt: number
}

export type Answered = Pick<FetchResponse, 'url' | 'status' | 'headers' | 'body'>

/** Receives what the spider's code logs about a page. */
export interface PageReporter {
  line(text: string): void
  /** Lines that were too many for one page. */
  dropped(lines: number): void
}

export function pageOf(
  route: Route,
  { link, attempt }: Asked,
  { url, status, headers, body }: Answered,
  reporter?: PageReporter,
): Page {
  return createPage({
    url,
    requestedUrl: link.url,
    status,
    headers,
    body,
    route: route.name,
    depth: link.depth,
    attempt,
    data: link.data,
    onLine: reporter?.line,
  })
}

/** Runs the route's rules and handler. A handler that never ends fails at its deadline. */
export async function harvestPage(
  route: Route,
  asked: Asked,
  answered: Answered,
  clock: Clock,
  { ruleLinks = true, reporter }: HarvestOptions = {},
): Promise<Harvest> {
  const page = pageOf(route, asked, answered, reporter)
  try {
    const harvest = route.harvest(page, ruleLinks)
    if (!(harvest instanceof Promise)) return harvest
    const { name, handlerTimeoutMs: ms } = route
    const late = () => new ShoalError('handler_timeout', `the handler of route ${name} took longer than ${ms} ms`)
    return await inTime(harvest, clock, { ms, late })
  } finally {
    const dropped = notesOf(page)?.dropped ?? 0
    if (dropped > 0) reporter?.dropped(dropped)
  }
}

interface HarvestOptions {
  /** False: without the links of the rules. */
  readonly ruleLinks?: boolean
  readonly reporter?: PageReporter | undefined
}

/** The lease under which the page was read, and whether rows that are still fresh are written all the same. */
export interface Reading extends Pick<Lease, 'crawl' | 'gen' | 'epoch' | 'bypassFresh'> {
  readonly link: Pick<Link, 'url'>
}

/** Field by field, because spreading the shared ones took 14 µs a page. */
export function rowsOf(
  harvest: Harvest,
  { name, records: kinds }: Pick<Spider, 'name' | 'records'>,
  { crawl, gen, epoch, bypassFresh, link: { url } }: Reading,
  scrapedAt: number,
): Omit<WriteBatch, 'fetches'> {
  const site = siteOf(hostIn(url))
  const records: RecordRow[] = []
  for (const { kind, key, data } of harvest.records) {
    const { freshMs = 0, history = false, merge = null } = kinds.get(kind) ?? {}
    const row = {
      spider: name,
      site,
      kind,
      key,
      url,
      data,
      crawl,
      gen,
      epoch,
      scrapedAt,
      freshMs: bypassFresh ? 0 : freshMs,
      identity: merge === null ? null : merge.identity(data),
      history,
    }
    records.push(row)
  }
  const rejected: RejectedRow[] = []
  for (const { kind, key, data, issues, reason = 'invalid' } of harvest.rejected) {
    rejected.push({ spider: name, crawl, site, kind, key, url, data, issues, scrapedAt, reason })
  }
  return { records, rejected }
}
