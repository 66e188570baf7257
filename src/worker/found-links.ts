import type { Lease } from '../frontier/frontier.js'
import type { FoundLink } from '../spider/spider.js'
import type { Link } from '../url/link.js'
import { HrefHasher, type Learnt, type LinkHash } from './known-links.js'
import type { VisitParts } from './visit-parts.js'

/** A queue with less room than this often rejects links because it is full, and they must be offered again. */
const ROOMY = 1_000_000

/** Links as they are written on a page, and the URL they are relative to. */
export interface PageLinks {
  readonly links: readonly FoundLink[]
  readonly base: string
}

/** What the queue is to add. */
export interface AcceptedLinks extends Learnt {
  readonly links: Link[]
  /** The queue's count of doubts when known links were left out: with another one they must be offered after all. */
  readonly doubts: number
}

export const NO_LINKS: AcceptedLinks = { links: [], hashes: [], epoch: -1, doubts: 0 }

/** The links of a page that pass the filters and that the queue is not known to have, each once. */
export function acceptLinks({ links: found, base }: PageLinks, lease: Lease, parts: VisitParts): AcceptedLinks {
  const { admitter, known, spider, log } = parts
  const depth = lease.link.depth + 1
  // Here and not earlier: visits of two crawls take turns at every await.
  const { doubts = 0 } = parts.frontier
  const accepted: AcceptedLinks = { links: [], hashes: [], epoch: known.serve(lease.crawl, lease.gen, doubts), doubts }
  const roomy = spider.overflow === 'keep' || spider.maxPending >= ROOMY
  const hasher = new HrefHasher(base)
  let hash: LinkHash = { high: 0, low: 0 }
  const onPage = new Set<string>()
  if (found.length > spider.maxLinksPerPage) {
    const limit = spider.maxLinksPerPage
    log.warn('link.refused', { code: 'too_many_links', url: base, found: found.length, limit })
  }
  for (const each of found.slice(0, spider.maxLinksPerPage)) {
    // With each request or key of its own, the same URL is another link.
    const { request, dedupeKey, href } = each
    const plain = request === undefined && dedupeKey === undefined && typeof href === 'string'
    if (plain && known.has(hasher.hash(href, each.route, hash))) continue
    const admission = admitter.resolve(href, base, each)
    const level = each.sameDepth === true ? lease.link.depth : depth
    const link = admission.ok ? admitter.link(admission.target, level, each) : admission.refusal
    const refused = 'code' in link
    if (refused && log.verbose) log.debug('link.refused', { href: String(href).slice(0, 200), code: link.code })
    // A link that is too deep here may not be on another page.
    if (plain && (refused ? link.code !== 'too_deep' : roomy)) {
      accepted.hashes.push(hash)
      hash = { high: 0, low: 0 }
    }
    if (refused || onPage.has(link.fp)) continue
    onPage.add(link.fp)
    accepted.links.push(link)
  }
  return accepted
}
