import type { FetchResponse } from '../fetch/fetcher.js'
import type { LastVisit } from '../store/visits.js'
import { acceptLinks, doneWith } from './found-links.js'
import type { Fetching, Produced } from './produced.js'
import { type Known, knownPage, unchangedBatch } from './revisit.js'
import type { Visit, VisitParts } from './visit-parts.js'

/** What the last visit says about the page, if this one may rely on it. */
export async function knownBy(last: LastVisit, { lease }: Visit, parts: VisitParts): Promise<Known | null> {
  const known = knownPage(last, parts.spider, lease.link)
  if (known === null || parts.pages === null) return known
  // A 304 relies on the raw page of the last visit: where that was deleted or lost, the page is requested in full.
  const { page } = known.last
  const isKept = page !== null && (await parts.pages.has(page))
  return isKept ? known : { ...known, last: { ...known.last, etag: null, lastModified: null } }
}

/** The same bytes at another URL are another page: their relative links lead elsewhere. */
export function isSameBody({ last }: Known, bodyHash: string, { url }: FetchResponse): boolean {
  return last.bodyHash === bodyHash && last.url === url
}

/** Its links are followed all the same: the crawl must reach the pages behind it. */
export function unchangedPage(
  known: Known,
  result: 'notModified' | 'sameBody',
  response: FetchResponse,
  { row, kept }: Fetching,
  { lease }: Visit,
  parts: VisitParts,
): Produced {
  const found = { links: known.memo.links, base: known.last.url }
  const accepted = acceptLinks(found, lease, parts)
  return {
    kept,
    batch: unchangedBatch(known, result, row, lease, response),
    outcome: doneWith(accepted, row),
    found,
    accepted,
  }
}
