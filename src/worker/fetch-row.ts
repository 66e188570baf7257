import type { FetchResponse } from '../fetch/fetcher.js'
import type { FetchRow } from '../store/rows.js'
import type { Visit, VisitParts } from './visit-parts.js'

/** The line of the fetch log for a visit; null: there was no answer. */
export function fetchRow(
  { lease, proxy }: Visit,
  { worker, clock, spider }: VisitParts,
  response: FetchResponse | null,
): FetchRow {
  const { link } = lease
  const { fp, url, host, route, depth } = link
  const redirected = response !== null && response.url !== url
  return {
    spider: spider.name,
    crawl: lease.crawl,
    gen: lease.gen,
    epoch: lease.epoch,
    fp,
    url: redirected ? response.url : url,
    host,
    route,
    depth,
    link: redirected || link.request !== undefined || link.data !== undefined ? link : null,
    status: response === null ? 0 : response.status,
    bytes: response === null ? 0 : response.wireBytes,
    ms: response === null ? 0 : response.ms,
    attempt: lease.attempt,
    worker,
    error: null,
    page: null,
    headers: null,
    pool: proxy,
    at: clock.now(),
  }
}
