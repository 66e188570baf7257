import { ShoalError } from '../../errors.js'
import type { CrawlInfo, Frontier, Whereabouts } from '../../frontier/frontier.js'
import type { Spider } from '../../spider/spider.js'
import { createAdmitter, DEFAULT_CANONICAL, type Refusal, type Target } from '../../url/admit.js'
import { type CanonicalRule, compileCanonical } from '../../url/canonicalise.js'
import { fingerprint } from '../../url/fingerprint.js'
import { hostKey } from '../../url/host.js'
import type { Fingerprint, HostKey } from '../../url/link.js'
import { parseUrl } from '../../url/parse-url.js'
import { showUrl } from '../../url/show-url.js'

export type Known = Exclude<Whereabouts, { readonly state: 'unknown' }>

/** What was searched for: all that is known of a link that the queue only counts. */
interface Sought {
  readonly url: string
  readonly fp: Fingerprint
}

export type Found =
  | {
      readonly kind: 'known'
      readonly crawl: CrawlInfo
      readonly where: Known
      readonly target: Sought
      readonly rule: CanonicalRule | null
    }
  /** The spider's filters reject it: it never becomes a link. */
  | { readonly kind: 'refused'; readonly crawl: CrawlInfo; readonly refusal: Refusal; readonly target: Sought }
  /** `judged`: the link it would be for the spider that is known here and accepts it. */
  | {
      readonly kind: 'never'
      readonly target: Sought
      readonly judged: Judged | null
      /** What made the URL that was asked for the one that was searched for. */
      readonly rule: CanonicalRule | null
    }

interface Judged {
  readonly crawl: CrawlInfo
  readonly spider: Spider
  readonly target: Target
  readonly rule: CanonicalRule | null
}

/** Searches crawls for a URL, newest first, with the filters of each one's spider where that is known. */
export async function findLink(
  frontier: Frontier,
  newestFirst: readonly CrawlInfo[],
  url: string,
  spiderOf: (crawl: CrawlInfo) => Promise<Spider | null>,
): Promise<Found> {
  const plain = plainTarget(url)
  let refused: Found | null = null
  let judged: Judged | null = null
  for (const crawl of newestFirst) {
    const spider = await spiderOf(crawl)
    const admission = spider === null ? null : createAdmitter(spider.admit).resolve(url, url)
    if (spider !== null && admission?.ok === true) {
      judged ??= { crawl, spider, target: admission.target, rule: admission.rule }
    }
    // A link may be older than the rule that rejects it now, so the queue is asked in any case.
    const target = admission?.ok === true ? admission.target : plain
    // A page may put a link into a group by its name.
    const sure = admission?.ok === true && spider?.admit.pace.groups.length === 0
    const where = await explainAt(frontier, crawl, target, sure)
    const { rule } = admission?.ok === true ? admission : plain
    if (where.state !== 'unknown') return { kind: 'known', crawl, where, target: where.link ?? target, rule }
    if (admission?.ok === false) refused ??= { kind: 'refused', crawl, refusal: admission.refusal, target }
  }
  return judged !== null || refused === null
    ? { kind: 'never', target: plain, judged, rule: (judged ?? plain).rule }
    : refused
}

/** Checks its host first: in a queue of millions, a search through all hosts takes long. `sure`: it cannot be anywhere else. */
async function explainAt(
  frontier: Frontier,
  { id }: CrawlInfo,
  { fp, host }: { readonly fp: Fingerprint; readonly host: HostKey },
  sure: boolean,
): Promise<Whereabouts> {
  const where = await frontier.explain(id, fp, host)
  const elsewhere = where.state === 'unknown' || (!sure && where.link === null)
  return elsewhere ? frontier.explain(id, fp) : where
}

/** By the default canonical rules, for when the spider is not known. */
function plainTarget(url: string): Sought & { readonly host: HostKey; readonly rule: CanonicalRule | null } {
  if (parseUrl(url) === null) throw new ShoalError('bad_url', `${showUrl(url)} is not a URL`)
  const parsed = new URL(url)
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:')
    throw new ShoalError('bad_scheme', `${showUrl(url)} is not http or https`)
  const { text, rule } = compileCanonical(DEFAULT_CANONICAL, true)(parsed)
  return { url: text, fp: fingerprint(text), host: hostKey(new URL(text)), rule }
}
