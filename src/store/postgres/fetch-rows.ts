import type { Fingerprint, Link } from '../../url/link.js'
import type { FetchRow } from '../record-store.js'

/** A row of FETCH_VALUES. */
export type FetchColumns = [
  ...[
    spider: string,
    crawl: string,
    gen: number,
    epoch: string,
    url: string,
    host: string,
    route: string,
    depth: number,
  ],
  ...[link: Link | null, status: number, bytes: number, ms: number, attempt: number, worker: string],
  ...[error: string | null, page: string | null, headers: FetchRow['headers'], pool: string | null, at: number],
]

export function toFetch(row: FetchColumns, fp: Fingerprint): FetchRow {
  const [spider, crawl, gen, epoch, url, host, route, depth, ...answer] = row
  const [link, status, bytes, ms, attempt, worker, error, page, headers, pool, at] = answer
  const asked = { spider, crawl, gen, epoch, fp, url, host, route, depth, link }
  return { ...asked, status, bytes, ms, attempt, worker, error, page, headers, pool, at }
}
