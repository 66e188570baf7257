import type { NamedCount } from '../frontier/counts.js'
import type { Lease, Outcome } from '../frontier/frontier.js'
import type { FoundLink } from '../spider/spider.js'
import { FILTER_REASONS, type FilterExample, type FilteredLinks, type FilterReason } from '../url/filter-reasons.js'
import type { Link } from '../url/link.js'
import { parseUrl } from '../url/parse-url.js'
import { showUrl } from '../url/show-url.js'
import { codeOf, HrefHasher, type KnownLinks, type Learnt, type LearntLink, UNKNOWN } from './known-links.js'
import type { VisitParts } from './visit-parts.js'

/** A queue with less room than this often rejects links because it is full, and they must be offered again. */
const ROOMY = 1_000_000

/** Links as they are written on a page, and the URL they are relative to. */
export interface PageLinks {
  readonly links: readonly FoundLink[]
  readonly base: string
}

/** What the queue is to add, and to count. */
export interface AcceptedLinks extends Learnt {
  readonly links: Link[]
  /** The queue's count of doubts when known links were left out: with another one they must be offered after all. */
  readonly doubts: number
}

export const NO_LINKS: AcceptedLinks = { links: [], hashes: [], filtered: [], epoch: -1, doubts: 0 }

/** The links of a page that pass the filters and that the queue is not known to have, each once. */
export function acceptLinks({ links: found, base }: PageLinks, lease: Lease, parts: VisitParts): AcceptedLinks {
  const { admitter, known, spider, log } = parts
  const depth = lease.link.depth + 1
  // Here and not earlier: visits of two crawls take turns at every await.
  const { doubts = 0 } = parts.frontier
  const epoch = known.serve(lease.crawl, lease.gen, doubts)
  const links: Link[] = []
  const hashes: LearntLink[] = []
  const tally = new FilterTally(known)
  const roomy = spider.overflow === 'keep' || spider.maxPending >= ROOMY
  const hasher = new HrefHasher(base)
  let hash: LearntLink = { high: 0, low: 0, filtered: 0 }
  const onPage = new Set<string>()
  const over = found.length - spider.maxLinksPerPage
  if (over > 0) {
    const limit = spider.maxLinksPerPage
    log.warn('link.refused', { code: 'too_many_links', url: base, found: found.length, limit })
    tally.add('too_many_links', over, () => ({ url: showUrl(base), became: null }))
  }
  for (const each of found.slice(0, spider.maxLinksPerPage)) {
    // With each request or key of its own, the same URL is another link.
    const { request, dedupeKey, href } = each
    const plain = request === undefined && dedupeKey === undefined && typeof href === 'string'
    if (plain) {
      const before = known.find(hasher.hash(href, each.route, hash))
      if (before !== UNKNOWN) {
        if (before > 0) tally.again(before)
        continue
      }
    }
    const admission = admitter.resolve(href, base, each)
    const level = each.sameDepth === true ? lease.link.depth : depth
    const link = admission.ok ? admitter.link(admission.target, level, each) : admission.refusal
    const refused = 'code' in link
    if (refused && log.verbose) log.debug('link.refused', { href: showUrl(String(href)), code: link.code })
    const reason = refused ? link.reason : admission.ok ? admission.rule : null
    if (reason !== null) tally.add(reason, 1, () => exampleOf(href, base, refused ? null : link.url))
    // A link that is too deep here may not be on another page.
    if (plain && (refused ? link.code !== 'too_deep' : roomy)) {
      hash.filtered = codeOf(reason)
      hashes.push(hash)
      hash = { high: 0, low: 0, filtered: 0 }
    }
    if (refused || onPage.has(link.fp)) continue
    onPage.add(link.fp)
    links.push(link)
  }
  return { links, hashes, filtered: tally.filtered(), epoch, doubts }
}

export function doneWith(
  { links, filtered }: AcceptedLinks,
  { bytes, counts }: { readonly bytes: number; readonly counts?: readonly NamedCount[] | undefined },
): Extract<Outcome, { kind: 'done' }> {
  const plain = { kind: 'done', links, bytes } as const
  const counted = counts === undefined || counts.length === 0 ? plain : { ...plain, counts }
  return filtered.length === 0 ? counted : { ...counted, filtered }
}

/** Counts what the filter did to the links of a page. An example is created only if the queue has none: forty links of every page are merged or rejected. */
class FilterTally {
  readonly #known: Pick<KnownLinks, 'hasExample'>
  readonly #counts = new Uint32Array(FILTER_REASONS.length + 1)
  #examples: Map<FilterReason, FilterExample> | null = null
  #isEmpty = true

  constructor(known: Pick<KnownLinks, 'hasExample'>) {
    this.#known = known
  }

  add(reason: FilterReason, links: number, example: () => FilterExample): void {
    const code = codeOf(reason)
    this.#isEmpty = false
    this.#counts[code] = (this.#counts[code] ?? 0) + links
    if (this.#known.hasExample(reason)) return
    this.#examples ??= new Map()
    if (!this.#examples.has(reason)) this.#examples.set(reason, example())
  }

  /** A link that this worker has met before. */
  again(code: number): void {
    this.#isEmpty = false
    this.#counts[code] = (this.#counts[code] ?? 0) + 1
  }

  filtered(): FilteredLinks[] {
    const filtered: FilteredLinks[] = []
    if (this.#isEmpty) return filtered
    FILTER_REASONS.forEach((reason, index) => {
      const count = this.#counts[index + 1] ?? 0
      if (count > 0) filtered.push({ reason, count, example: this.#examples?.get(reason) ?? null })
    })
    return filtered
  }
}

/** `accepted`: as which URL; null: not at all. */
function exampleOf(href: string, base: string, accepted: string | null): FilterExample {
  const url = showUrl(parseUrl(String(href).slice(0, EXAMPLE_READ), base)?.href ?? String(href))
  const became = accepted === null ? null : showUrl(accepted)
  return { url, became: became === url ? null : became }
}

/** More than any URL that is accepted. */
const EXAMPLE_READ = 4096
