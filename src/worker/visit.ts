import { asShoalError, ShoalError } from '../errors.js'
import { screenshotOf } from '../fetch/failure-screenshot.js'
import type { FetchResponse } from '../fetch/fetcher.js'
import type { Lease, Outcome } from '../frontier/frontier.js'
import type { Harvest } from '../spider/spider.js'
import type { BlobRef } from '../store/blob-store.js'
import { type FetchRow, SCREENSHOT_HEADER, type WriteBatch } from '../store/rows.js'
import type { Link } from '../url/link.js'
import { fetchWanted, harvestTimed } from './fetch-wanted.js'
import { rowsOf } from './harvest-page.js'
import { HrefHasher, type Learnt, type LinkHash } from './known-links.js'
import { aboutVisit, logFound, logSettled } from './log-visit.js'
import { outcomeOf, statusError } from './outcome.js'
import { HostBusy } from './permits.js'
import { bodyHash, type Known, knownPage, unchangedBatch, visitRows } from './revisit.js'
import { step } from './step.js'
import type { Visit, VisitParts } from './visit-parts.js'

/** READ THIS FIRST: the life of one leased URL, from the permit to the acknowledgement. */

/** `onProduced`: the page is read and its handler has ended, only the commit is to come. */
export function visit(current: Visit, parts: VisitParts, onProduced: () => void): Promise<void> {
  if (!parts.tracing) return visitLink(current, parts, onProduced)
  return parts.tracing.visit(aboutVisit(current, parts), (trace) => {
    current.trace = trace
    return visitLink(current, parts, onProduced)
  })
}

async function visitLink(current: Visit, parts: VisitParts, onProduced: () => void): Promise<void> {
  const { lease } = current
  const { outbox, meter, clock, log } = parts
  const result = await produce(current, parts)
  current.produced = true
  // Pages that wait to be kept are bytes in memory: when there are many of them, no other is fetched before this one is.
  if (outbox.crowded) {
    meter.doing(current, 'store')
    await result.kept?.catch(() => {})
  }
  onProduced()
  const { batch, ...rest } = await withKeptPage(result, current, parts)
  if (current.lost) return stale(current, parts)
  if (batch !== null) {
    const statuses = await step(
      current,
      () => outbox.write(batch),
      () => ({ name: 'store', about: { 'shoal.records': batch.records.length } }),
    )
    parts.fields.note(batch)
    // A newer lease wrote the record first: another page that gives the same one, or our own link in other hands. The settle knows which.
    if (statuses.includes('fenced'))
      log.info('record.fenced', { fp: lease.link.fp, url: lease.link.url, epoch: lease.epoch })
    if (log.verbose)
      log.debug('visit.written', { fp: lease.link.fp, records: statuses, rejected: batch.rejected.length })
  }
  if (current.lost) return stale(current, parts)
  if (log.verbose && rest.outcome.kind === 'done') logFound(lease, rest.outcome.links, log)
  current.settling = true
  let { outcome, admitted } = rest
  const settle = () =>
    outbox.settle(lease, () => {
      // A queue that came back older lacks links that it had: what it was not told because it knew it, it is told now.
      if (outcome.kind === 'done' && rest.admitAgain !== null && admitted.doubts !== (parts.frontier.doubts ?? 0)) {
        admitted = rest.admitAgain()
        outcome = { ...outcome, links: admitted.links }
      }
      return outcome
    })
  const accepted = await step(current, settle, () => ({ name: 'settle' }))
  if (!accepted) {
    meter.stale()
    return stale(current, parts)
  }
  meter.settled(outcome, clock.mono() - current.grantedAt)
  // Only now: a link remembered before a refused settle would be lost for ever.
  if (outcome.kind === 'done') parts.known.add(admitted)
  current.trace?.ended({ outcome: outcome.kind, ...('failure' in outcome && { error: outcome.failure }) })
  if (log.verbose) logSettled(lease, outcome, log)
}

function stale({ lease, trace }: Visit, { log }: VisitParts): void {
  trace?.ended({ outcome: 'stale' })
  log.info('visit.stale', { fp: lease.link.fp, url: lease.link.url, epoch: lease.epoch })
}

interface Produced {
  /** The raw page on its way to where it is kept; null when it is not kept. */
  readonly kept: Promise<BlobRef> | null
  /** What to commit before the settle; null when nothing was fetched. */
  readonly batch: WriteBatch | null
  readonly outcome: Outcome
  readonly admitted: Admitted
  readonly admitAgain: (() => Admitted) | null
}

async function produce(current: Visit, parts: VisitParts): Promise<Produced> {
  const { lease } = current
  const { link } = lease
  const { spider, clock, outbox, meter } = parts
  let fetched: FetchRow | null = null
  let kept: Promise<BlobRef> | null = null
  let screenshot: Uint8Array | null = null
  const route = spider.routes.get(link.route)
  try {
    if (route === undefined) throw new ShoalError('no_route', `the spider has no route ${link.route} any more`)
    if (spider.recrawl) meter.doing(current, 'store')
    const last = spider.recrawl ? await outbox.lastVisit(spider.name, link.fp) : null
    const known = await withItsPage(knownPage(last, spider, link), parts)
    const wanted = await fetchWanted(current, parts, route, known)
    const { page } = wanted
    screenshot = page.response.rendered?.screenshot ?? null
    fetched = fetchRow(current, parts, page.response)
    if (page.kind === 'moved') {
      return {
        kept,
        batch: { records: [], rejected: [], fetches: [fetched] },
        outcome: { kind: 'done', links: [page.link], bytes: 0 },
        ...NO_LINKS,
      }
    }
    if (page.kind === 'unchanged') return unchanged(page.known, 'notModified', fetched, page.response)
    const failed = statusError(page.response.status)
    if (failed !== null) throw failed
    if (parts.pages !== null) {
      // Before the handler: the page that it cannot read is the one that somebody will want to see.
      const { [SCREENSHOT_HEADER]: _forged, ...headers } = page.response.headers
      kept = outbox.keep(parts.pages, page.response.body, headers['content-type'] ?? '')
      fetched = { ...fetched, headers }
    }
    const body = spider.recrawl ? bodyHash(page.response.body) : ''
    // The same bytes elsewhere are another page: their relative links lead elsewhere.
    if (known?.last.bodyHash === body && known.last.url === page.response.url)
      return unchanged(known, 'sameBody', fetched, page.response)
    const harvest = wanted.harvest ?? (await harvestTimed(current, parts, route, page.response))
    // Fields are missing even so: what the browser showed tells why.
    const picture = harvest.rejected.length > 0 ? await keepPicture(screenshot, parts) : null
    if (picture !== null) fetched = { ...fetched, headers: { ...fetched.headers, [SCREENSHOT_HEADER]: picture } }
    const admitAgain = () => admitLinks(harvest, page.response.url, lease, parts)
    const admitted = admitAgain()
    return {
      kept,
      // The time of the fetch: who reads the kept page again gives the very same rows.
      batch: {
        ...rowsOf(harvest, spider, lease, fetched.at),
        fetches: [fetched],
        ...(spider.recrawl && {
          visits: visitRows(last, body, harvest, page.response, fetched, lease, spider),
        }),
      },
      outcome: { kind: 'done', links: admitted.links, bytes: fetched.bytes },
      admitted,
      admitAgain,
    }
  } catch (thrown) {
    if (thrown instanceof HostBusy) {
      // The queue does not hand out a link whose own host is closed: a wait beside that would outlast the moment it is opened by hand.
      const afterMs = thrown.host === lease.link.host ? 0 : thrown.waitMs
      return { kept, batch: null, outcome: { kind: 'back', afterMs }, ...NO_LINKS }
    }
    const error = asShoalError(thrown)
    const waitMs = waitOf(error)
    const outcome = outcomeOf(
      error,
      lease,
      { retries: route?.retries ?? NO_RETRIES, maxThrottles: spider.maxThrottles },
      parts.random,
      waitMs,
    )
    parts.log[error.code === 'internal' ? 'error' : 'info'](
      error.code.startsWith('handler') ? 'handler.failed' : 'fetch.failed',
      {
        fp: link.fp,
        url: link.url,
        code: error.code,
        message: error.message,
        attempt: lease.attempt,
        outcome: outcome.kind,
      },
    )
    const row = { ...(fetched ?? fetchRow(current, parts, null)), error: error.code }
    const picture = await keepPicture(screenshotOf(thrown) ?? screenshot, parts)
    if (picture !== null) row.headers = { ...row.headers, [SCREENSHOT_HEADER]: picture }
    return {
      kept,
      batch: outcome.kind === 'back' || !current.started ? null : { records: [], rejected: [], fetches: [row] },
      outcome,
      ...NO_LINKS,
    }
  }
  /** Its links are followed all the same: the crawl must reach what lies behind it. */
  function unchanged(
    known: Known,
    result: 'notModified' | 'sameBody',
    row: FetchRow,
    response: FetchResponse,
  ): Produced {
    const admitAgain = () => admitLinks(known.memo, known.last.url, lease, parts)
    const admitted = admitAgain()
    return {
      kept,
      batch: unchangedBatch(known, result, row, lease, response),
      outcome: { kind: 'done', links: admitted.links, bytes: row.bytes },
      admitted,
      admitAgain,
    }
  }

  /** Of robots.txt out of reach, and of proxies that rest. */
  function waitOf({ code, cause }: ShoalError): number {
    if (code !== 'robots_unreachable' && code !== 'proxies_resting') return 0
    const { retryAt, waitMs = 0 } = (cause ?? {}) as { readonly retryAt?: number; readonly waitMs?: number }
    return retryAt === undefined ? waitMs : Math.max(0, retryAt - clock.now())
  }
}

/** Where raw pages are kept, a 304 stands for one: it is asked for in full when that was deleted or lost. */
async function withItsPage(known: Known | null, { pages }: VisitParts): Promise<Known | null> {
  if (known === null || pages === null) return known
  const { page } = known.last
  const there = page !== null && (await pages.has(page))
  return there ? known : { ...known, last: { ...known.last, etag: null, lastModified: null } }
}

/**
 * The fetch row with its raw page. When that cannot be kept the worker ends, and this link goes back as it was: not even one more page may be
 * done without its raw page.
 */
async function withKeptPage(produced: Produced, { lease }: Visit, { spider, random }: VisitParts): Promise<Produced> {
  const { kept, batch } = produced
  if (kept === null || batch === null) return produced
  try {
    const page = await kept
    const fetches = batch.fetches.map((row) => ({ ...row, page }))
    const { visits } = batch
    return {
      ...produced,
      batch: { ...batch, fetches, ...(visits && { visits: visits.map((row) => ({ ...row, page })) }) },
    }
  } catch (error) {
    const rules = { retries: NO_RETRIES, maxThrottles: spider.maxThrottles }
    return { kept, batch: null, outcome: outcomeOf(asShoalError(error), lease, rules, random), ...NO_LINKS }
  }
}

/** A picture is worth waiting for, but not for long. */
const PICTURE_MS = 5_000

/** What the page of a failed visit looked like, kept where raw pages are. */
async function keepPicture(screenshot: Uint8Array | null, { outbox, screenshots, clock }: VisitParts) {
  if (screenshot === null || screenshots === null) return null
  const kept = outbox.keep(screenshots, screenshot, 'image/jpeg').catch(() => null)
  return Promise.race([kept, clock.sleep(PICTURE_MS).then(() => null)])
}

const NO_RETRIES = { max: 0, backoff: { kind: 'fixed', ms: 0 } } as const

interface Admitted extends Learnt {
  readonly links: Link[]
  /** Of the queue, when known links were left out. */
  readonly doubts: number
}

const NO_LINKS = { admitted: { links: [], hashes: [], epoch: -1, doubts: 0 }, admitAgain: null }
/** Below this, links that the queue refuses for want of room are a matter of course, and must be offered again. */
const ROOMY = 1_000_000

/** Found links that pass the door and are not known to be in the queue already, each once. */
function admitLinks(harvest: Pick<Harvest, 'links'>, base: string, lease: Lease, parts: VisitParts): Admitted {
  const { admitter, known, spider, log } = parts
  const depth = lease.link.depth + 1
  // Here and not before: visits of two crawls take turns at every await.
  const { doubts = 0 } = parts.frontier
  const admitted: Admitted = { links: [], hashes: [], epoch: known.serve(lease.crawl, lease.gen, doubts), doubts }
  const roomy = spider.overflow === 'keep' || spider.maxPending >= ROOMY
  const hasher = new HrefHasher(base)
  let hash: LinkHash = { high: 0, low: 0 }
  const onPage = new Set<string>()
  const { length } = harvest.links
  if (length > spider.maxLinksPerPage) {
    log.warn('link.refused', { code: 'too_many_links', url: base, found: length, limit: spider.maxLinksPerPage })
  }
  for (const found of harvest.links.slice(0, spider.maxLinksPerPage)) {
    // A link with a request or a key of its own is another link for each of them.
    const { request, dedupeKey, href } = found
    const plain = request === undefined && dedupeKey === undefined && typeof href === 'string'
    if (plain && known.has(hasher.hash(found.href, found.route, hash))) continue
    const admission = admitter.resolve(found.href, base, found)
    const level = found.beside === true ? lease.link.depth : depth
    const link = admission.ok ? admitter.link(admission.target, level, found) : admission.refusal
    const refused = 'code' in link
    if (refused && log.verbose) log.debug('link.refused', { href: String(found.href).slice(0, 200), code: link.code })
    // What is too deep here may be near enough on another page.
    if (plain && (refused ? link.code !== 'too_deep' : roomy)) {
      admitted.hashes.push(hash)
      hash = { high: 0, low: 0 }
    }
    if (refused || onPage.has(link.fp)) continue
    onPage.add(link.fp)
    admitted.links.push(link)
  }
  return admitted
}

function fetchRow(
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
